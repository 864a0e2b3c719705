//! The mathematics of the tuning problem in f64, without threads or tricks: the reference that every
//! evaluator is tested against, and the source of reported losses.
//!
//! Score of position n (White's view, centipawns): s = b + Σ c_f · (φ · mg_f + (1 − φ) · ρ · eg_f), where the
//! endgame scale factor ρ is 1 unless the dataset has such factors; expected score p = 1 / (1 + 10^(−K · s /
//! 400)); loss L = Σ w · ℓ(p, y) / Σ w. See Österlund, "Texel's tuning method" (2014).

pub use crate::loss::*;

use serde::{Deserialize, Serialize};

use crate::Dataset;

/// The function to minimize, apart from the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Scale constant, base-10 form.
    pub k: f64,
    /// Loss function.
    pub loss: LossKind,
}

/// Score of position `n` under θ (mg of every feature, then eg), centipawns, White's view.
pub fn score(dataset: &Dataset, theta: &[f64], n: usize) -> f64 {
    let (mg, eg) = theta.split_at(dataset.feature_count());
    let row = dataset.row(n);
    let (mg_share, eg_share) = dataset.shares(n);
    let mut sum = f64::from(row.offset);
    for (id, coefficient) in row.entries() {
        let id = usize::from(id);
        sum += f64::from(coefficient) * (mg_share * mg[id] + eg_share * eg[id]);
    }
    sum
}

/// Mean loss and gradient over a set of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Mean loss.
    pub loss: f64,
    /// dL/dθ, per centipawn; length twice the number of features.
    pub gradient: Vec<f64>,
}

/// Mean loss over the positions `which`, NaN if their weights sum to 0.
pub fn loss(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = dataset.row(n);
        let x = x_per_cp(objective.k) * score(dataset, theta, n);
        sum += f64::from(row.weight) * objective.loss.value(x, f64::from(row.result));
        weights += f64::from(row.weight);
    }
    sum / weights
}

/// Mean loss and gradient over the positions `which`.
pub fn loss_and_gradient(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> Reference {
    let features = dataset.feature_count();
    let mut gradient = vec![0.0; 2 * features];
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = dataset.row(n);
        let (weight, y) = (f64::from(row.weight), f64::from(row.result));
        let x = x_per_cp(objective.k) * score(dataset, theta, n);
        sum += weight * objective.loss.value(x, y);
        weights += weight;
        let slope = weight * objective.loss.slope(x, y);
        let (mg_share, eg_share) = dataset.shares(n);
        for (id, coefficient) in row.entries() {
            gradient[usize::from(id)] += slope * f64::from(coefficient) * mg_share;
            gradient[features + usize::from(id)] += slope * f64::from(coefficient) * eg_share;
        }
    }
    let per_cp = x_per_cp(objective.k);
    gradient.iter_mut().for_each(|g| *g *= per_cp / weights);
    Reference { loss: sum / weights, gradient }
}

/// The Gauss–Newton matrix Σ w h x xᵀ / Σ w of the positions `which`, per centipawn squared:
/// symmetric, row-major, 2F × 2F.
pub fn gauss_newton_matrix(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> Vec<f64> {
    let features = dataset.feature_count();
    let size = 2 * features;
    let mut matrix = vec![0.0; size * size];
    let mut weights = 0.0;
    let mut entries: Vec<(usize, f64)> = Vec::new();
    for n in which {
        let row = dataset.row(n);
        let x = x_per_cp(objective.k) * score(dataset, theta, n);
        let h = f64::from(row.weight) * objective.loss.curvature(x, f64::from(row.result));
        weights += f64::from(row.weight);
        let (mg_share, eg_share) = dataset.shares(n);
        entries.clear();
        for (id, coefficient) in row.entries() {
            entries.push((usize::from(id), f64::from(coefficient) * mg_share));
            entries.push((features + usize::from(id), f64::from(coefficient) * eg_share));
        }
        for &(i, xi) in &entries {
            for &(j, xj) in &entries {
                matrix[i * size + j] += h * xi * xj;
            }
        }
    }
    let per_cp = x_per_cp(objective.k);
    matrix.iter_mut().for_each(|value| *value *= per_cp * per_cp / weights);
    matrix
}
