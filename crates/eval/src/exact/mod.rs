//! Scores and losses in f64 on all threads: the reference of [`gputexel_dataset::objective`], vectorized, in chunks
//! that are added in a fixed order.

pub(crate) mod lanes;

use lanes::{BLOCK, Block, LossSum};
use rayon::prelude::*;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{self, Objective, x_per_cp};

/// Positions per chunk; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// Computes scores of the positions `which`, centipawns, White's view.
pub fn exact_scores(dataset: &Dataset, theta: &[f64], which: &[u32]) -> Vec<f64> {
    exact_scores_of(dataset, &[theta], |_| 0, which)
}

/// Computes scores of the positions `which`, each under the one of `thetas` that `theta_of` names by its index.
pub fn exact_scores_of(
    dataset: &Dataset,
    thetas: &[&[f64]],
    theta_of: impl Fn(usize) -> usize + Sync + Send,
    which: &[u32],
) -> Vec<f64> {
    scores(dataset, thetas, theta_of, which.par_iter().map(|&n| n as usize))
}

pub fn all_scores(dataset: &Dataset, theta: &[f64]) -> Vec<f64> {
    scores(dataset, &[theta], |_| 0, (0..dataset.len()).into_par_iter())
}

fn scores(
    dataset: &Dataset,
    thetas: &[&[f64]],
    theta_of: impl Fn(usize) -> usize + Sync + Send,
    which: impl IndexedParallelIterator<Item = usize>,
) -> Vec<f64> {
    let chunks = which.with_min_len(CHUNK);
    if dataset.program().is_some() || !dataset.unit_rows() {
        return chunks.map(|n| objective::score(dataset, thetas[theta_of(n)], n)).collect();
    }
    // Both values of a feature are stored together, and the taper is applied to their sums: one load for each entry.
    let together = |theta: &&[f64]| -> Vec<[f64; 2]> {
        let (mg, eg) = theta.split_at(dataset.feature_count());
        mg.iter().zip(eg).map(|(&mg, &eg)| [mg, eg]).collect()
    };
    let values: Vec<Vec<[f64; 2]>> = thetas.iter().map(together).collect();
    let sum = |values: &[[f64; 2]], ids: &[u16]| {
        ids.iter().fold([0.0; 2], |[mg, eg], &id| {
            let value = values[usize::from(id)];
            [mg + value[0], eg + value[1]]
        })
    };
    let score = |n: usize| {
        let row = dataset.row(n);
        let (plus, minus) = row.ids_by_sign();
        let values = &values[theta_of(n)];
        let ([mg, eg], [minus_mg, minus_eg]) = (sum(values, plus), sum(values, minus));
        let (mg_share, eg_share) = dataset.shares(n);
        f64::from(row.offset) + mg_share * (mg - minus_mg) + eg_share * (eg - minus_eg)
    };
    chunks.map(score).collect()
}

/// Computes the mean loss over the positions `which`; NaN if there are none.
pub fn exact_loss(dataset: &Dataset, objective: Objective, theta: &[f64], which: &[u32]) -> f64 {
    loss_of_scores(dataset, objective, &exact_scores(dataset, theta, which), which)
}

/// Computes the mean loss over the positions `which` against the results of the games, where targets may be
/// [blended](Dataset::blend); NaN if there are none.
pub fn loss_against_results(dataset: &Dataset, objective: Objective, theta: &[f64], which: &[u32]) -> f64 {
    let scores = exact_scores(dataset, theta, which);
    mean_loss(dataset, objective, |place, _| scores[place], which, dataset.game_results())
}

/// Computes the mean loss over the positions `which` with known scores; NaN if there are none.
pub fn loss_of_scores(dataset: &Dataset, objective: Objective, scores: &[f64], which: &[u32]) -> f64 {
    mean_loss(dataset, objective, |place, _| scores[place], which, dataset.results())
}

/// Computes the mean loss over the positions `which` with the known scores of all positions; NaN if there are none.
pub fn loss_at(dataset: &Dataset, objective: Objective, scores: &[f64], which: &[u32]) -> f64 {
    mean_loss(dataset, objective, |_, n| scores[n as usize], which, dataset.results())
}

fn mean_loss(
    dataset: &Dataset,
    objective: Objective,
    score: impl Fn(usize, u32) -> f64 + Sync,
    which: &[u32],
    targets: &[f32],
) -> f64 {
    let x_per_cp = x_per_cp(objective.k);
    let weights = dataset.weights();
    let sum_up = |(chunk, which): (usize, &[u32])| {
        let (mut losses, mut sum_of_weights) = (LossSum::new(objective.loss, x_per_cp), 0.0);
        for (start, which) in (chunk * CHUNK..).step_by(BLOCK).zip(which.chunks(BLOCK)) {
            let mut block = Block::EMPTY;
            for (i, &n) in which.iter().enumerate() {
                block.scores[i] = score(start + i, n);
                block.targets[i] = f64::from(targets[n as usize]);
                block.weights[i] = weights.get(n as usize).map_or(1.0, |&weight| f64::from(weight));
                sum_of_weights += block.weights[i];
            }
            losses.add(&block);
        }
        (losses.total(), sum_of_weights)
    };
    let arch = pulp::Arch::new();
    let chunks = which.par_chunks(CHUNK).enumerate();
    let chunks: Vec<(f64, f64)> = chunks.map(|chunk| arch.dispatch(|| sum_up(chunk))).collect();
    let (sum, weights) = chunks.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    sum / weights
}
