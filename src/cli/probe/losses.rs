//! Losses of an engine's own evaluations.

use std::borrow::Cow;

use gputexel::objective::x_per_cp;
use gputexel::tuning::RunConfig;
use gputexel::{Dataset, Result};

/// With the targets of a run in place of the results.
pub fn with_targets<'d>(data: &'d Dataset, config: &RunConfig) -> Result<Cow<'d, Dataset>> {
    let mut data = Cow::Borrowed(data);
    if config.blend.is_some() {
        config.set_targets(data.to_mut())?;
    }
    Ok(data)
}

/// Without penalties; `data` has the [targets](with_targets) of the run. `score` is in centipawns, White's view.
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
