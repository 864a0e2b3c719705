use rayon::prelude::*;

use super::single::{self, MemberParameters};
use super::{CpuEvaluator, Work};
use crate::Population;
use crate::exact::lanes::openness;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};
use gputexel_optim::linalg::zeros;

/// Maximum number of stripes, each of which has its own matrix while it runs, and minimum number of positions in one:
/// with fewer, its memory costs more than the positions.
const STRIPES: usize = 8;
const MIN_STRIPE: usize = 4096;
/// Maximum number of positions that are added together: their rows stay in the L1 cache.
const BLOCK: usize = 1 << 9;

impl CpuEvaluator<'_> {
    /// Computes Σ v w r h c_i c_j φ_i φ_j of a member over some positions, with part weights v and resampling counts r,
    /// per unit of the sigmoid's argument: three values for each pair of features, see
    /// [`TRIANGLE`](crate::sums::TRIANGLE).
    pub(super) fn sum_curvature(&self, work: &Work<'_>, member: usize, out: &mut [f64]) {
        let Work { population, request, ranges, .. } = work;
        let features = self.layout.features();
        let parameters = MemberParameters::new(population.member(member), population.k[member]);
        let targets = Targets::new(self.layout, population, member, request.loss);
        let arch = pulp::Arch::new();
        let stripes: Vec<Triangle> = super::stripes_of_at_least(MIN_STRIPE, ranges, STRIPES)
            .into_par_iter()
            .map(|positions| {
                let mut sum = Triangle::new(features);
                let mut of_bucket = BucketMatrix::new(self.layout);
                let mut table = vec![0.0f32; features];
                let mut curvatures: Vec<f32> = Vec::new();
                for (bucket, positions) in self.layout.buckets_in(positions) {
                    let weight = population.part_weight(member, bucket.part, self.layout.parts().len());
                    parameters.blend(bucket, &mut table);
                    for start in positions.clone().step_by(BLOCK) {
                        let block = start..(start + BLOCK).min(positions.end);
                        for shape in self.layout.shapes_in(block) {
                            curvatures.resize(shape.positions.len(), 0.0);
                            single::scores(self.layout, &shape, &table, &mut curvatures);
                            arch.dispatch(|| targets.replace_scores(shape.positions.start, &mut curvatures));
                            of_bucket.add(&shape, &curvatures);
                        }
                    }
                    arch.dispatch(|| of_bucket.flush(bucket, weight, &mut sum));
                }
                sum
            })
            .collect();
        let mut stripes = stripes.into_iter();
        out.copy_from_slice(stripes.next().expect("there is at least one stripe").values.as_flattened());
        for stripe in stripes {
            super::add(out, stripe.values.as_flattened());
        }
    }
}

/// The lower triangle of an F × F matrix, each value of which stands for three of the 2F × 2F matrix: those of
/// middlegame values, of both, and of endgame values.
struct Triangle {
    values: Vec<[f64; 3]>,
}

impl Triangle {
    fn new(features: usize) -> Self {
        Self { values: zeros(features * (features + 1) / 2) }
    }
}

pub(super) struct Targets<'a> {
    layout: &'a Layout,
    k: f64,
    loss: LossKind,
    blend: f32,
    seed: Option<u32>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(layout: &'a Layout, population: &Population, member: usize, loss: LossKind) -> Self {
        Self {
            layout,
            k: population.k[member],
            loss,
            blend: population.blends.get(member).copied().unwrap_or(0.0),
            seed: population.resamples.get(member).copied(),
        }
    }

    #[inline(always)]
    pub(super) fn replace_scores(&self, first: usize, values: &mut [f32]) {
        let x_per_cp = x_per_cp(self.k);
        let x = |score: f32| x_per_cp * f64::from(score);
        match self.loss {
            LossKind::Squared => values.iter_mut().for_each(|value| {
                let openness = openness(x(*value));
                *value = (2.0 * openness * openness) as f32;
            }),
            LossKind::CrossEntropy => values.iter_mut().for_each(|value| *value = openness(x(*value)) as f32),
            LossKind::Power(_) => {
                for (position, value) in (first..).zip(values.iter_mut()) {
                    let mut target = self.layout.targets()[position];
                    if let Some(search) = self.layout.search().get(position) {
                        target += self.blend * (search - target);
                    }
                    *value = self.loss.curvature(x(*value), f64::from(target)) as f32;
                }
            }
        }
        if let Some(weights) = self.layout.weights().get(first..first + values.len()) {
            values.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        }
        if let Some(seed) = self.seed {
            let games = (first..).map(|position| self.layout.game(position));
            let counts = games.map(|game| poisson_weight(game, seed) as f32);
            values.iter_mut().zip(counts).for_each(|(value, count)| *value *= count);
        }
    }
}

/// Σ h x xᵀ of the positions of a bucket.
struct BucketMatrix<'a> {
    layout: &'a Layout,
    /// F × F, row-major.
    pairs: Vec<f32>,
    /// Σ h c² of each feature's entries with themselves.
    squares: Vec<f32>,
}

impl<'a> BucketMatrix<'a> {
    fn new(layout: &'a Layout) -> Self {
        let features = layout.features();
        Self { layout, pairs: zeros(features * features), squares: vec![0.0; features] }
    }

    fn add(&mut self, shape: &Shape, curvatures: &[f32]) {
        let (features, length) = (self.layout.features(), shape.row_length());
        let entries = shape.first_entry..shape.first_entry + shape.positions.len() * length;
        let ids = &self.layout.ids()[entries.clone()];
        let coefficients = if self.layout.unit_rows() { &[] } else { &self.layout.coefficients()[entries] };
        for own in 0..length {
            // Entries before this one with the same coefficient, and with the opposite one.
            let (alike, other) =
                if own < shape.plus { (0..own, 0..0) } else { (shape.plus..own, 0..shape.plus) };
            for (n, &h) in curvatures.iter().enumerate() {
                let ids = &ids[n * length..][..=own];
                let feature = usize::from(ids[own]);
                let row = &mut self.pairs[feature * features..][..features];
                if coefficients.is_empty() {
                    self.squares[feature] += h;
                    ids[alike.clone()].iter().for_each(|&id| row[usize::from(id)] += h);
                    ids[other.clone()].iter().for_each(|&id| row[usize::from(id)] -= h);
                } else {
                    let coefficients = &coefficients[n * length..][..=own];
                    let scaled = h * coefficients[own];
                    self.squares[feature] += scaled * coefficients[own];
                    let before = ids[..own].iter().zip(coefficients);
                    before.for_each(|(&id, c)| row[usize::from(id)] += scaled * c);
                }
            }
        }
    }

    #[inline(always)]
    fn flush(&mut self, bucket: &Bucket, part_weight: f32, sum: &mut Triangle) {
        let features = self.layout.features();
        let scale = 1.0 / f64::from(self.layout.phase_max());
        let (mg, eg) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
        let factors = [mg * mg, mg * eg, eg * eg].map(|share| f64::from(part_weight) * share);
        let add = |sums: &mut [[f64; 3]], values: &[f64]| {
            for (sum, value) in sums.iter_mut().zip(values) {
                (0..3).for_each(|at| sum[at] += value * factors[at]);
            }
        };
        // Few columns at a time, so that the cache lines of their rows are read once.
        const COLUMNS: usize = 16;
        for columns in (0..features).step_by(COLUMNS) {
            for i in columns + 1..features {
                let own = &self.pairs[i * features..][columns..i.min(columns + COLUMNS)];
                let mut values = [0.0; COLUMNS];
                for (at, (value, own)) in values.iter_mut().zip(own).enumerate() {
                    *value = f64::from(*own) + f64::from(self.pairs[(columns + at) * features + i]);
                }
                // Few pairs of features occur in a bucket.
                if values != [0.0; COLUMNS] {
                    add(&mut sum.values[i * (i + 1) / 2 + columns..][..own.len()], &values);
                }
            }
        }
        for i in 0..features {
            // Consecutive entries of one feature occur once as a pair, but count twice in the square of their sum.
            let twice = 2.0 * f64::from(self.pairs[i * (features + 1)]);
            add(&mut sum.values[i * (i + 3) / 2..][..1], &[f64::from(self.squares[i]) + twice]);
        }
        self.pairs.fill(0.0);
        self.squares.fill(0.0);
    }
}
