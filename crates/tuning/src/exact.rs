//! Scores and losses in f64 on all threads: the reference of [`gputexel_dataset::objective`], computed by
//! chunks that are added in a fixed order. All reported losses are computed here.

use rayon::prelude::*;

use gputexel_dataset::Dataset;
use gputexel_dataset::objective::{self, Objective, x_per_cp};

/// Positions per chunk; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 1 << 14;

/// Scores of the positions `which`, centipawns, White's view.
pub fn exact_scores(dataset: &Dataset, theta: &[f64], which: &[u32]) -> Vec<f64> {
    which.par_iter().with_min_len(CHUNK).map(|&n| objective::score(dataset, theta, n as usize)).collect()
}

/// Mean loss over the positions `which`; NaN if there are none.
pub fn exact_loss(dataset: &Dataset, objective: Objective, theta: &[f64], which: &[u32]) -> f64 {
    loss_of_scores(dataset, objective, &exact_scores(dataset, theta, which), which)
}

/// Mean loss over the positions `which` against the results of the games, where targets may be
/// [blended](Dataset::blend); NaN if there are none.
pub fn loss_against_results(dataset: &Dataset, objective: Objective, theta: &[f64], which: &[u32]) -> f64 {
    let results = dataset.game_results();
    let target = |n: usize| f64::from(results[n]);
    mean_loss(dataset, objective, &exact_scores(dataset, theta, which), which, target)
}

/// Mean loss over the positions `which` with known scores.
pub(super) fn loss_of_scores(dataset: &Dataset, objective: Objective, scores: &[f64], which: &[u32]) -> f64 {
    let results = dataset.results();
    mean_loss(dataset, objective, scores, which, |n| f64::from(results[n]))
}

fn mean_loss(
    dataset: &Dataset,
    objective: Objective,
    scores: &[f64],
    which: &[u32],
    target: impl Fn(usize) -> f64 + Sync,
) -> f64 {
    let x_per_cp = x_per_cp(objective.k);
    let chunks: Vec<(f64, f64)> = scores
        .par_chunks(CHUNK)
        .zip(which.par_chunks(CHUNK))
        .map(|(scores, which)| {
            scores.iter().zip(which).fold((0.0, 0.0), |(sum, weights), (&score, &n)| {
                let row = dataset.row(n as usize);
                let weight = f64::from(row.weight);
                let value = objective.loss.value(x_per_cp * score, target(n as usize));
                (sum + weight * value, weights + weight)
            })
        })
        .collect();
    let (sum, weights) = chunks.iter().fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    sum / weights
}
