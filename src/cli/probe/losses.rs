//! Losses of an engine's own evaluations.

use gputexel::Dataset;
use gputexel::objective::x_per_cp;
use gputexel::tuning::RunConfig;

/// Returns the mean loss of evaluations against the targets of a dataset, as a run has it without its penalties.
/// `score` returns the evaluation of a position, centipawns, White's view.
pub fn mean_loss(
    data: &Dataset,
    config: &RunConfig,
    which: impl Iterator<Item = usize>,
    score: impl Fn(usize) -> f64,
) -> f64 {
    let scale = x_per_cp(config.k);
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = data.row(n);
        let weight = f64::from(row.weight);
        sum += weight * config.loss.value(scale * score(n), f64::from(row.result));
        weights += weight;
    }
    sum / weights
}
