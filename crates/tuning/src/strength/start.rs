//! Where the choice of weights begins for scores that are not linear: around the prior their losses are not those of
//! a quadratic model.

use std::sync::atomic::AtomicBool;

use crate::{Limits, ModelSize, OptimizerConfig, RunConfig, StopReason, Tuning};
use gputexel_dataset::{Dataset, Layout, Split};
use gputexel_evaluator::Backend;
use gputexel_files::{Error, Result};
use gputexel_model::Penalty;

/// Steps of the fit, which need not end at the optimum.
const EPOCHS: u64 = 20;

/// z near the optimum of a run with some penalties.
///
/// # Errors
/// [`Error::Interrupted`] when `stop` is set; those of the evaluator and the optimizer.
pub(super) fn near_optimum(
    config: &RunConfig,
    penalties: Vec<Penalty>,
    data: &Dataset,
    split: &Split,
    backend: &Backend,
    stop: &AtomicBool,
) -> Result<Vec<f64>> {
    let model = ModelSize { parameters: config.prior_theta.len(), linear: false };
    let optimizer = OptimizerConfig::default_for(config.loss, model);
    let limits = Limits { epochs: Some(EPOCHS), improvement: Some(1e-4), ..Limits::default() };
    let fit = RunConfig {
        penalties,
        begin: None,
        stopping: limits.for_method(&optimizer),
        optimizer,
        ..config.clone()
    };
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n))?;
    let (mut evaluator, _) = backend.evaluator(&layout)?;
    let outcome = Tuning::try_new(&fit, split)?.run(&mut *evaluator, stop, &mut |_| Ok(()))?;
    match outcome.reason {
        StopReason::Interrupted => {
            Err(Error::Interrupted("while choosing the strength of the prior".to_string()))
        }
        _ => Ok(outcome.z),
    }
}
