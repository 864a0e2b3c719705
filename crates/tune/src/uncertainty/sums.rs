//! The sums over positions that standard errors are computed from, in f64: Gauss–Newton matrix, second derivatives,
//! outer products of the clusters' gradients.

use std::ops::Range;

use rayon::prelude::*;

use super::Fit;
use gputexel_dataset::objective::x_per_cp;
use gputexel_dataset::{Bucket, Layout};
use gputexel_optim::linalg::{View, add_square, mirror, zeros};

const STRIPE_BYTES: usize = 1 << 28;
/// Maximum number of stripes, and minimum number of positions in one unless there is only one.
const STRIPES: usize = 8;
const MIN_STRIPE: usize = 4096;
/// A cluster's outer product is added entry by entry if its number of entries squared, times this, is below the number
/// of entries of the whole matrix; otherwise as a row of a dense block.
const DENSE_GAIN: usize = 10;
/// Rows per dense block.
const BLOCK: usize = 256;

/// Sums over the positions of a fit, in the space of θ (2 F values; matrices symmetric, row-major).
pub(super) struct Sums {
    /// Σ w.
    pub weight: f64,
    /// Σ w h x xᵀ with the Gauss–Newton curvature h.
    pub gauss_newton: Vec<f64>,
    /// Σ w ℓ'' x xᵀ with the second derivative of the loss.
    pub hessian: Vec<f64>,
    pub clusters: Clusters,
}

/// Sums over clusters g with gradients u_g = Σ w ℓ' x and weights W_g = Σ w of their positions.
#[derive(Default)]
pub(super) struct Clusters {
    pub count: usize,
    /// Σ u_g.
    pub gradient: Vec<f64>,
    /// Σ u_g u_gᵀ.
    pub products: Vec<f64>,
    /// Σ W_g u_g.
    pub weighted: Vec<f64>,
    /// Σ W_g².
    pub squares: f64,
    /// Number of clusters that affect each θ.
    pub support: Vec<u64>,
}

impl Clusters {
    pub(super) fn new(size: usize) -> Self {
        Self {
            gradient: vec![0.0; size],
            products: zeros(size * size),
            weighted: vec![0.0; size],
            support: vec![0; size],
            ..Self::default()
        }
    }

    pub(super) fn add(mut self, other: &Self) -> Self {
        self.count += other.count;
        add(&mut self.gradient, &other.gradient);
        add(&mut self.products, &other.products);
        add(&mut self.weighted, &other.weighted);
        self.squares += other.squares;
        self.support.iter_mut().zip(&other.support).for_each(|(sum, next)| *sum += next);
        self
    }
}

#[derive(Clone, Copy, Default)]
struct Position {
    start: u32,
    length: u16,
    plus: u16,
    mg_units: u16,
    eg_units: u16,
    weight: f32,
    slope: f64,
}

struct Stripe {
    positions: Vec<Position>,
    weight: f64,
    /// For each pair of features i ≥ j, of the Gauss–Newton matrix and of second derivatives: mg mg, mg eg, eg
    /// eg.
    pairs: Vec<[[f64; 3]; 2]>,
}

pub(super) fn sums(fit: &Fit<'_>) -> Sums {
    let size = 2 * fit.layout.features();
    let parts = &fit.layout.parts()[fit.parts.clone()];
    let all = parts[0].positions.start..parts[parts.len() - 1].positions.end;
    let theta = fit.parameterization.theta(fit.z);
    let stripes: Vec<Stripe> = cut(all.len(), stripe_count(size, 2, all.len()))
        .into_par_iter()
        .map(|range| stripe(fit, &theta, all.start + range.start..all.start + range.end))
        .collect();
    let mut positions = Vec::with_capacity(all.len());
    let mut weight = 0.0;
    let mut pairs = Vec::new();
    for stripe in stripes {
        positions.extend(stripe.positions);
        weight += stripe.weight;
        if pairs.is_empty() {
            pairs = stripe.pairs
        } else {
            add(pairs.as_flattened_mut().as_flattened_mut(), stripe.pairs.as_flattened().as_flattened())
        }
    }
    let clusters = cluster_sums(fit.layout, all.start, &positions);
    let matrices = [0, 1].map(|matrix| lower(&pairs, fit.layout.features(), matrix));
    drop(pairs);
    Sums::new(weight, matrices, clusters, x_per_cp(fit.objective.k))
}

impl Sums {
    /// Completes matrices whose lower triangles are known, and scales everything but weights to centipawns.
    pub fn new(weight: f64, matrices: [Vec<f64>; 2], mut clusters: Clusters, per_cp: f64) -> Self {
        let [mut gauss_newton, mut hessian] = matrices;
        for matrix in [&mut gauss_newton, &mut hessian, &mut clusters.products] {
            mirror(matrix, clusters.gradient.len());
            matrix.iter_mut().for_each(|value| *value *= per_cp * per_cp);
        }
        for vector in [&mut clusters.gradient, &mut clusters.weighted] {
            vector.iter_mut().for_each(|value| *value *= per_cp);
        }
        Self { weight, gauss_newton, hessian, clusters }
    }
}

fn lower(pairs: &[[[f64; 3]; 2]], features: usize, matrix: usize) -> Vec<f64> {
    let size = 2 * features;
    let mut lower = vec![0.0; size * size];
    let mut pairs = pairs.iter();
    for i in 0..features {
        for (j, pair) in pairs.by_ref().take(i + 1).enumerate() {
            let (i_eg, j_eg, [mg, mixed, eg]) = (features + i, features + j, pair[matrix]);
            for (row, column, value) in [(i, j, mg), (i_eg, j, mixed), (j_eg, i, mixed), (i_eg, j_eg, eg)] {
                lower[row * size + column] = value;
            }
        }
    }
    lower
}

pub(super) fn stripe_count(size: usize, matrices: usize, positions: usize) -> usize {
    let most = STRIPE_BYTES / (8 * matrices * size * size).max(1);
    most.min(positions / MIN_STRIPE).clamp(1, STRIPES)
}

pub(super) fn cut(length: usize, count: usize) -> Vec<Range<usize>> {
    let count = count.min(length).max(1);
    (0..count).map(|i| length * i / count..length * (i + 1) / count).collect()
}

pub(super) fn add(sum: &mut [f64], next: &[f64]) {
    sum.iter_mut().zip(next).for_each(|(sum, next)| *sum += next);
}

fn stripe(fit: &Fit<'_>, theta: &[f64], range: Range<usize>) -> Stripe {
    let layout = fit.layout;
    let features = layout.features();
    let x_per_cp = x_per_cp(fit.objective.k);
    let loss = fit.objective.loss;
    let mut out = Stripe {
        positions: Vec::with_capacity(range.len()),
        weight: 0.0,
        pairs: zeros(features * (features + 1) / 2),
    };
    let mut table = vec![0.0; features];
    let mut cells: Vec<[f64; 2]> = zeros(out.pairs.len());
    let mut row = Vec::new();
    for (bucket, positions) in layout.buckets_in(range) {
        let units = f64::from(layout.phase_max());
        let (mg_share, eg_share) = (f64::from(bucket.mg_units) / units, f64::from(bucket.eg_units) / units);
        let (mg, eg) = theta.split_at(features);
        table.iter_mut().enumerate().for_each(|(i, cell)| *cell = mg_share * mg[i] + eg_share * eg[i]);
        for shape in layout.shapes_in(positions) {
            for (i, n) in shape.positions.clone().enumerate() {
                let weight = layout.weights().get(n).copied().unwrap_or(1.0);
                let mut position = Position {
                    start: (shape.first_entry + i * shape.row_length()) as u32,
                    length: shape.row_length() as u16,
                    plus: shape.plus as u16,
                    mg_units: bucket.mg_units,
                    eg_units: bucket.eg_units,
                    weight,
                    slope: 0.0,
                };
                entries(layout, &position, &mut row);
                let offset = f64::from(layout.offsets().get(n).copied().unwrap_or(0.0));
                let score = offset + row.iter().map(|&(id, c)| c * table[id as usize]).sum::<f64>();
                let (x, y, weight) = (x_per_cp * score, f64::from(layout.targets()[n]), f64::from(weight));
                position.slope = weight * loss.slope(x, y);
                let second = loss.second_derivative(x, y);
                let second = if second.is_finite() { second } else { 0.0 };
                let values = [weight * loss.curvature(x, y), weight * second];
                for (i, &(id, a)) in row.iter().enumerate() {
                    let cells = &mut cells[id as usize * (id as usize + 1) / 2..];
                    for &(other, b) in &row[..=i] {
                        let cell = &mut cells[other as usize];
                        cell[0] += values[0] * a * b;
                        cell[1] += values[1] * a * b;
                    }
                }
                out.weight += weight;
                out.positions.push(position);
            }
        }
        flush(layout, bucket, &mut cells, &mut out.pairs);
    }
    out
}

fn entries(layout: &Layout, position: &Position, out: &mut Vec<(u32, f64)>) {
    let start = position.start as usize;
    layout.merge_row(start..start + usize::from(position.length), usize::from(position.plus), out);
}

fn flush(layout: &Layout, bucket: &Bucket, cells: &mut [[f64; 2]], pairs: &mut [[[f64; 3]; 2]]) {
    let scale = 1.0 / f64::from(layout.phase_max());
    let (mg, eg) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
    for (pair, cell) in pairs.iter_mut().zip(cells) {
        for (sums, value) in pair.iter_mut().zip(std::mem::take(cell)) {
            sums[0] += value * mg * mg;
            sums[1] += value * mg * eg;
            sums[2] += value * eg * eg;
        }
    }
}

fn cluster_sums(layout: &Layout, first: usize, positions: &[Position]) -> Clusters {
    let size = 2 * layout.features();
    // Positions grouped by game, in layout order within a game.
    let mut order: Vec<(u32, u32)> =
        (0..positions.len()).map(|i| (layout.game(first + i), i as u32)).collect();
    order.par_sort_unstable();
    let games: Vec<&[(u32, u32)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
    let stripes: Vec<Clusters> = cut(games.len(), stripe_count(size, 1, positions.len()))
        .into_par_iter()
        .map(|range| clusters_of(layout, positions, &games[range]))
        .collect();
    let mut stripes = stripes.into_iter();
    let sum = stripes.next().unwrap_or_else(|| Clusters::new(size));
    stripes.fold(sum, |sum, next| sum.add(&next))
}

fn clusters_of(layout: &Layout, positions: &[Position], games: &[&[(u32, u32)]]) -> Clusters {
    let features = layout.features();
    let size = 2 * features;
    let mut out = Clusters::new(size);
    out.count = games.len();
    let mut row = Vec::new();
    let mut sum = vec![0.0; size];
    let mut seen = vec![false; size];
    let mut touched: Vec<u32> = Vec::new();
    let mut block = RowBlock::new(size);
    for game in games {
        let mut weight = 0.0;
        for &(_, i) in *game {
            let position = &positions[i as usize];
            weight += f64::from(position.weight);
            entries(layout, position, &mut row);
            let share = |units: u16| f64::from(units) / f64::from(layout.phase_max());
            let (mg_share, eg_share) = (share(position.mg_units), share(position.eg_units));
            for &(id, coefficient) in &row {
                for (at, share) in [(id, mg_share), (id + features as u32, eg_share)] {
                    if share != 0.0 {
                        let at_index = at as usize;
                        sum[at_index] += position.slope * coefficient * share;
                        if !std::mem::replace(&mut seen[at_index], true) {
                            touched.push(at);
                        }
                    }
                }
            }
        }
        touched.sort_unstable();
        out.squares += weight * weight;
        for &at in &touched {
            let at = at as usize;
            out.gradient[at] += sum[at];
            out.weighted[at] += weight * sum[at];
            out.support[at] += 1;
        }
        if DENSE_GAIN * touched.len() * touched.len() < size * size {
            for (i, &row) in touched.iter().enumerate() {
                let value = sum[row as usize];
                let cells = &mut out.products[row as usize * size..][..size];
                for &column in &touched[..=i] {
                    cells[column as usize] += value * sum[column as usize];
                }
            }
        } else {
            block.push(&sum, &mut out.products);
        }
        for at in touched.drain(..) {
            (sum[at as usize], seen[at as usize]) = (0.0, false);
        }
    }
    block.flush(&mut out.products);
    out
}

pub(super) struct RowBlock {
    rows: Vec<f64>,
    size: usize,
}

impl RowBlock {
    pub(super) fn new(size: usize) -> Self {
        Self { rows: Vec::new(), size }
    }

    pub(super) fn push(&mut self, row: &[f64], products: &mut [f64]) {
        self.rows.extend_from_slice(row);
        if self.rows.len() == BLOCK * self.size {
            self.flush(products);
        }
    }

    pub(super) fn flush(&mut self, products: &mut [f64]) {
        if self.rows.is_empty() {
            return;
        }
        let rows = View::new(&self.rows, self.rows.len() / self.size, self.size);
        add_square(1.0, rows.transpose(), products, self.size);
        self.rows.clear();
    }
}
