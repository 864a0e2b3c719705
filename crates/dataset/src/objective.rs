//! The mathematics of the tuning problem in f64, without threads or tricks: the reference that every
//! evaluator is tested against, and the source of reported losses.

pub use crate::loss::*;

use serde::{Deserialize, Serialize};

use crate::Dataset;
use gputexel_model::program::{CompiledProgram, Taper};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Scale constant, base-10 form.
    pub k: f64,
    pub loss: LossKind,
}

/// Returns the score of position `n` under θ (mg of every feature, then eg), centipawns, White's view.
pub fn score(dataset: &Dataset, theta: &[f64], n: usize) -> f64 {
    let (mg, eg) = theta.split_at(dataset.feature_count());
    let row = dataset.row(n);
    let offset = f64::from(row.offset);
    if let Some(program) = dataset.program() {
        let (sums, present) = sums(dataset, program, theta, n);
        return offset + program.score(&sums, present, taper(dataset, n));
    }
    let (mg_share, eg_share) = dataset.shares(n);
    let mut sum = offset;
    for (id, coefficient) in row.entries() {
        let id = usize::from(id);
        sum += f64::from(coefficient) * (mg_share * mg[id] + eg_share * eg[id]);
    }
    sum
}

/// Returns the sums of position `n` that are the input of the program of its evaluation: the middlegame and
/// the endgame value of each slot, and a bit for each slot of which the position has entries.
pub fn sums(dataset: &Dataset, program: &CompiledProgram, theta: &[f64], n: usize) -> (Vec<[f64; 2]>, u32) {
    let (mg, eg) = theta.split_at(dataset.feature_count());
    let mut sums = vec![[0.0; 2]; program.slots()];
    let row = dataset.row(n);
    let entries = row.entries().map(|(column, coefficient)| (column, f64::from(coefficient)));
    let value_of = |column: usize| {
        let feature = usize::from(program.features_of_columns()[column]);
        [mg[feature], eg[feature]]
    };
    let present = program.sum_up(entries, value_of, &mut sums);
    (sums, present)
}

/// Returns the shares of the values of position `n`.
pub fn taper(dataset: &Dataset, n: usize) -> Taper {
    let (mg, eg) = dataset.shares(n);
    Taper { mg, eg }
}

/// Returns the score of position `n`, with its nonzero derivatives as (index in θ, derivative) in no
/// particular order; an index may occur several times.
pub fn score_and_slopes(dataset: &Dataset, theta: &[f64], n: usize, slopes: &mut Vec<(usize, f64)>) -> f64 {
    let features = dataset.feature_count();
    slopes.clear();
    let row = dataset.row(n);
    let mut push = |column: u16, coefficient: f32, [mg, eg]: [f64; 2]| {
        let (feature, c) = (usize::from(dataset.feature_of(column)), f64::from(coefficient));
        slopes.extend([(feature, c * mg), (features + feature, c * eg)]);
    };
    let Some(program) = dataset.program() else {
        let (mg_share, eg_share) = dataset.shares(n);
        row.entries().for_each(|(id, coefficient)| push(id, coefficient, [mg_share, eg_share]));
        return score(dataset, theta, n);
    };
    let (sums, present) = sums(dataset, program, theta, n);
    let mut by_sum = vec![[0.0; 2]; program.slots()];
    let value = program.score_and_slopes(&sums, present, taper(dataset, n), &mut by_sum);
    for (column, coefficient) in row.entries() {
        push(column, coefficient, by_sum[program.slot_of_column(usize::from(column))]);
    }
    f64::from(row.offset) + value
}

#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub loss: f64,
    /// dL/dθ, per centipawn; length twice the number of features.
    pub gradient: Vec<f64>,
}

/// Returns the mean loss over the positions `which`, NaN if their weights sum to 0.
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

/// Returns the mean loss and gradient over the positions `which`.
pub fn loss_and_gradient(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> Reference {
    let features = dataset.feature_count();
    let mut gradient = vec![0.0; 2 * features];
    let mut slopes = Vec::new();
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = dataset.row(n);
        let (weight, y) = (f64::from(row.weight), f64::from(row.result));
        let x = x_per_cp(objective.k) * score_and_slopes(dataset, theta, n, &mut slopes);
        sum += weight * objective.loss.value(x, y);
        weights += weight;
        let outer = weight * objective.loss.slope(x, y);
        slopes.iter().for_each(|&(parameter, slope)| gradient[parameter] += outer * slope);
    }
    let per_cp = x_per_cp(objective.k);
    gradient.iter_mut().for_each(|g| *g *= per_cp / weights);
    Reference { loss: sum / weights, gradient }
}

/// Returns the Gauss–Newton matrix Σ w h ∇s ∇sᵀ / Σ w of the positions `which`, per centipawn squared:
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
        let x = x_per_cp(objective.k) * score_and_slopes(dataset, theta, n, &mut entries);
        let h = f64::from(row.weight) * objective.loss.curvature(x, f64::from(row.result));
        weights += f64::from(row.weight);
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
