//! The order of work in a sweep.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::StopReason;
use super::config::SweepConfig;
use super::plan::Plan;
use super::train::{Member, Portion, RunResult, members_per_portion};
use gputexel_dataset::{Dataset, Folds, Layout};
use gputexel_eval::{Evaluator, Fallback};
use gputexel_io::{Error, Result};

/// Creates an evaluator for a layout; the caller chooses the backend.
///
/// # Errors
/// If the requested backend is not available.
pub type MakeEvaluator<'a> = dyn for<'l> Fn(&'l Layout) -> Result<Box<dyn Evaluator + 'l>> + 'a;

/// Progress reported by a sweep.
pub enum SweepEvent {
    Step { done: u64, planned: u64, seconds: f64 },
    Replaced(Fallback),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepRun {
    /// Index of its seed in [`SweepConfig::seeds`].
    pub seed: usize,
    pub combination: usize,
    pub fold: usize,
    pub result: RunResult,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SweepOutcome {
    pub reason: StopReason,
    /// Every run; for an interrupted sweep, the runs that had started, with their results so far.
    pub runs: Vec<SweepRun>,
    pub epochs: u64,
    /// Epochs planned, over all runs.
    pub planned: u64,
    pub seconds: f64,
    /// Largest number of runs trained as one population.
    pub together: usize,
}

/// Runs a sweep to its end, or until `cancel` is set; then judges the results so far.
pub fn run_sweep(
    config: &SweepConfig,
    data: &Dataset,
    make_evaluator: &MakeEvaluator<'_>,
    cancel: &AtomicBool,
    observe: &mut dyn FnMut(SweepEvent) -> Result<()>,
) -> Result<SweepOutcome> {
    config.validate()?;
    if config.start.len() != 2 * data.feature_count() {
        return Err(Error::Usage("the prior does not match the dataset".to_string()));
    }
    let started = Instant::now();
    let planned = config.runs() as u64 * config.epochs;
    let portion = config.portion.unwrap_or_else(|| members_per_portion(config.method, config.start.len()));
    let order = order(config);
    let goes_on = || !cancel.load(Ordering::Relaxed);
    let (mut results, mut finished, mut together) = (Vec::new(), 0, 0);
    for &seed in config.seeds.iter().take_while(|_| goes_on()) {
        let (plan, layout) = plan(config, data, seed)?;
        let mut evaluator = make_evaluator(&layout)?;
        for runs in order.chunks(portion.max(1)).take_while(|_| goes_on()) {
            let member = |&(combination, fold): &(usize, usize)| Member {
                setting: config.setting(combination),
                fold: Some(fold),
            };
            let mut portion = Portion::try_new(config, &plan, runs.iter().map(member).collect())?;
            together = together.max(portion.len());
            let before = results.len() as u64 * config.epochs;
            portion.train(&mut *evaluator, cancel, &mut |portion, evaluator| {
                evaluator.take_fallback().map_or(Ok(()), |it| observe(SweepEvent::Replaced(it)))?;
                let (done, seconds) = (before + portion.epochs_done(), started.elapsed().as_secs_f64());
                observe(SweepEvent::Step { done, planned, seconds })
            })?;
            results.extend(portion.judge(&mut *evaluator, config.judge)?);
            evaluator.take_fallback().map_or(Ok(()), |it| observe(SweepEvent::Replaced(it)))?;
            if portion.finished() {
                finished = results.len();
            }
        }
    }
    let reason = if finished == config.runs() { StopReason::Epochs } else { StopReason::Interrupted };
    let seconds = started.elapsed().as_secs_f64();
    let epochs = results.iter().map(|result| result.epochs).sum();
    let run = |(i, result): (usize, RunResult)| {
        let (combination, fold) = order[i % order.len()];
        SweepRun { seed: i / order.len(), combination, fold, result }
    };
    let runs = results.into_iter().enumerate().map(run).collect();
    Ok(SweepOutcome { reason, runs, epochs, planned, seconds, together })
}

/// Returns combinations and folds sorted by loss function, so that one call evaluates many, then by fold, so that
/// neighbors leave out the same positions.
fn order(config: &SweepConfig) -> Vec<(usize, usize)> {
    let combinations: Vec<_> = (0..config.grid.len()).map(|c| config.setting(c).loss).collect();
    let mut order = Vec::with_capacity(combinations.len() * config.folds);
    for loss in config.grid.losses(config.loss) {
        for fold in 0..config.folds {
            let alike = (0..combinations.len()).filter(|&c| combinations[c] == loss);
            order.extend(alike.map(|c| (c, fold)));
        }
    }
    order
}

fn plan(config: &SweepConfig, data: &Dataset, seed: u64) -> Result<(Plan, Layout)> {
    let folds = Folds::try_new(data, config.folds, seed)?;
    let (plan, layout) = Plan::try_new(data, &folds, &config.grid.sources())?;
    let layout = match config.blend_k {
        Some(k) => layout.with_search_scores(data, k)?,
        None => layout,
    };
    Ok((plan, layout))
}

/// Parameters trained on all positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Retrained {
    pub theta: Vec<f64>,
    /// Method and settings, on one line.
    pub optimizer: String,
}

pub fn retrain(
    config: &SweepConfig,
    data: &Dataset,
    combination: usize,
    make_evaluator: &MakeEvaluator<'_>,
    cancel: &AtomicBool,
) -> Result<Retrained> {
    let (plan, layout) = plan(config, data, config.seeds[0])?;
    let mut evaluator = make_evaluator(&layout)?;
    let member = Member { setting: config.setting(combination), fold: None };
    let mut portion = Portion::try_new(config, &plan, vec![member])?;
    if portion.train(&mut *evaluator, cancel, &mut |_, _| Ok(()))? == StopReason::Interrupted {
        return Err(Error::Interrupted("while training the best settings on all positions".to_string()));
    }
    let theta = config.parameterization().theta(&portion.coordinates());
    Ok(Retrained { theta, optimizer: portion.describe(0) })
}
