//! The sums of [`Sums`] for evaluations with a program, whose scores are not linear.

use std::ops::Range;

use rayon::prelude::*;

use super::Fit;
use super::sums::{Clusters, RowBlock, Sums, add, cut, stripe_count};
use gputexel_dataset::objective::x_per_cp;
use gputexel_dataset::{Bucket, Layout, Shape};
use gputexel_model::program::{CompiledProgram, Dual, MAX_SLOTS, Taper};

const VALUES: usize = 2 * MAX_SLOTS;

/// A derivative of a sum's value: its index, that of the parameter, and the coefficient.
type Entry = (usize, usize, f64);

struct Row<'a> {
    program: &'a CompiledProgram,
    layout: &'a Layout,
    theta: &'a [f64],
    entries: Vec<Entry>,
    sums: [[f64; 2]; MAX_SLOTS],
    present: u32,
    slopes: [[f64; 2]; MAX_SLOTS],
}

impl<'a> Row<'a> {
    fn new(layout: &'a Layout, program: &'a CompiledProgram, theta: &'a [f64]) -> Self {
        let zero = [[0.0; 2]; MAX_SLOTS];
        Self { program, layout, theta, entries: Vec::new(), sums: zero, present: 0, slopes: zero }
    }

    fn read(&mut self, bucket: &Bucket, shape: &Shape, i: usize) -> (f64, Taper) {
        let features = self.program.features();
        let first = shape.first_entry + i * shape.row_length();
        let ids = &self.layout.ids()[first..first + shape.row_length()];
        self.entries.clear();
        self.sums = [[0.0; 2]; MAX_SLOTS];
        self.present = 0;
        for (at, &column) in ids.iter().enumerate() {
            let column = usize::from(column);
            let slot = self.program.slot_of_column(column);
            let feature = usize::from(self.program.features_of_columns()[column]);
            let sign = if at < shape.plus { 1.0 } else { -1.0 };
            let c = self.layout.coefficients().get(first + at).map_or(sign, |&c| f64::from(c));
            self.present |= 1 << slot;
            for (phase, parameter) in [feature, features + feature].into_iter().enumerate() {
                self.sums[slot][phase] += c * self.theta[parameter];
                self.entries.push((2 * slot + phase, parameter, c));
            }
        }
        let max = f64::from(self.layout.phase_max());
        let taper = Taper { mg: f64::from(bucket.mg_units) / max, eg: f64::from(bucket.eg_units) / max };
        let score = self.program.score_and_slopes(&self.sums, self.present, taper, &mut self.slopes);
        let offset = self.layout.offsets().get(shape.positions.start + i).copied().unwrap_or(0.0);
        (score + f64::from(offset), taper)
    }

    fn slope(&self, entry: &Entry) -> f64 {
        entry.2 * self.slopes[entry.0 / 2][entry.0 % 2]
    }

    fn curvature(&self, taper: Taper, out: &mut [[f64; VALUES]; VALUES]) {
        let slots = self.program.slots();
        let mut slopes = [[Dual::default(); 2]; MAX_SLOTS];
        for (value, row) in out[..2 * slots].iter_mut().enumerate() {
            if self.present >> (value / 2) & 1 == 0 {
                continue;
            }
            let lifted: [[Dual; 2]; MAX_SLOTS] = std::array::from_fn(|slot| {
                [0, 1].map(|phase| Dual {
                    value: self.sums[slot][phase],
                    slope: f64::from(u8::from(2 * slot + phase == value)),
                })
            });
            self.program.score_and_slopes(&lifted, self.present, taper, &mut slopes);
            for (other, slope) in slopes[..slots].as_flattened().iter().enumerate() {
                row[other] = slope.slope;
            }
        }
    }
}

pub(super) fn program_sums(fit: &Fit<'_>, program: &CompiledProgram) -> Sums {
    let size = 2 * program.features();
    let parts = &fit.layout.parts()[fit.parts.clone()];
    let all = parts[0].positions.start..parts[parts.len() - 1].positions.end;
    let theta = fit.parameterization.theta(fit.z);
    let stripes: Vec<(f64, [Vec<f64>; 2])> = cut(all.len(), stripe_count(size, 2, all.len()))
        .into_par_iter()
        .map(|range| matrices(fit, program, &theta, all.start + range.start..all.start + range.end))
        .collect();
    let (weight, matrices) = stripes
        .into_iter()
        .reduce(|(weight, mut sums), (more, next)| {
            sums.iter_mut().zip(&next).for_each(|(sum, next)| add(sum, next));
            (weight + more, sums)
        })
        .expect("there is at least one stripe");
    let clusters = clusters(fit, program, &theta, all);
    // The parts of the second derivatives have been scaled separately.
    Sums::new(weight, matrices, clusters, x_per_cp(fit.objective.k))
}

/// Computes Σ w and the lower triangles of Σ w h ∇s ∇sᵀ and Σ w (ℓ'' ∇s ∇sᵀ + ℓ' ∇²s / x per centipawn).
fn matrices(
    fit: &Fit<'_>,
    program: &CompiledProgram,
    theta: &[f64],
    range: Range<usize>,
) -> (f64, [Vec<f64>; 2]) {
    let (layout, loss) = (fit.layout, fit.objective.loss);
    let size = 2 * program.features();
    let per_cp = x_per_cp(fit.objective.k);
    let mut out = [vec![0.0; size * size], vec![0.0; size * size]];
    let mut total = 0.0;
    let mut row = Row::new(layout, program, theta);
    let mut curved = [[0.0; VALUES]; VALUES];
    for (bucket, positions) in layout.buckets_in(range) {
        for shape in layout.shapes_in(positions) {
            for (i, n) in shape.positions.clone().enumerate() {
                let (score, taper) = row.read(bucket, &shape, i);
                row.curvature(taper, &mut curved);
                let weight = f64::from(layout.weights().get(n).copied().unwrap_or(1.0));
                let (x, y) = (per_cp * score, f64::from(layout.targets()[n]));
                let second = loss.second_derivative(x, y);
                let second = if second.is_finite() { weight * second } else { 0.0 };
                let first = weight * loss.slope(x, y) / per_cp;
                let h = weight * loss.curvature(x, y);
                for a in &row.entries {
                    let slope = row.slope(a);
                    for b in &row.entries {
                        if b.1 > a.1 {
                            continue;
                        }
                        let product = slope * row.slope(b);
                        let bent = first * curved[a.0][b.0] * a.2 * b.2;
                        let at = a.1 * size + b.1;
                        out[0][at] += h * product;
                        out[1][at] += second * product + bent;
                    }
                }
                total += weight;
            }
        }
    }
    (total, out)
}

fn clusters(fit: &Fit<'_>, program: &CompiledProgram, theta: &[f64], all: Range<usize>) -> Clusters {
    let layout = fit.layout;
    let size = 2 * program.features();
    // Bucket and shape of each position; parts consist of whole ones.
    let mut places: Vec<[u32; 2]> = Vec::with_capacity(all.len());
    for (index, bucket) in layout.buckets().iter().enumerate() {
        if all.contains(&bucket.positions.start) {
            for shape in bucket.shapes.clone() {
                let length = layout.shapes()[shape].positions.len();
                places.extend(std::iter::repeat_n([index as u32, shape as u32], length));
            }
        }
    }
    // Positions grouped by game, in layout order within a game.
    let mut order: Vec<(u32, u32)> =
        (0..places.len()).map(|i| (layout.game(all.start + i), i as u32)).collect();
    order.par_sort_unstable();
    let games: Vec<&[(u32, u32)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
    let per_cp = x_per_cp(fit.objective.k);
    let of_games = |range: Range<usize>| {
        let mut out = Clusters::new(size);
        let mut row = Row::new(layout, program, theta);
        let mut block = RowBlock::new(size);
        let mut sum = vec![0.0; size];
        out.count = range.len();
        for game in &games[range] {
            let mut cluster_weight = 0.0;
            sum.fill(0.0);
            for &(_, place) in *game {
                let [bucket, shape] = places[place as usize].map(|index| index as usize);
                let (bucket, shape) = (&layout.buckets()[bucket], &layout.shapes()[shape]);
                let n = all.start + place as usize;
                let (score, _) = row.read(bucket, shape, n - shape.positions.start);
                let weight = f64::from(layout.weights().get(n).copied().unwrap_or(1.0));
                cluster_weight += weight;
                let slope = fit.objective.loss.slope(per_cp * score, f64::from(layout.targets()[n]));
                for entry in &row.entries {
                    sum[entry.1] += weight * slope * row.slope(entry);
                }
            }
            out.squares += cluster_weight * cluster_weight;
            for (at, &value) in sum.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                out.gradient[at] += value;
                out.weighted[at] += cluster_weight * value;
                out.support[at] += 1;
            }
            block.push(&sum, &mut out.products);
        }
        block.flush(&mut out.products);
        out
    };
    let stripes: Vec<Clusters> =
        cut(games.len(), stripe_count(size, 1, all.len())).into_par_iter().map(of_games).collect();
    let sum = stripes.into_iter().reduce(|sum, next| sum.add(&next));
    sum.unwrap_or_else(|| Clusters::new(size))
}
