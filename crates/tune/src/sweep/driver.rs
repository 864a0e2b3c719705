//! The order of work in a sweep.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::super::{Checkpoint, Progress, StopReason};
use super::config::SweepConfig;

use super::plan::Plan;
use super::train::{Member, Portion, RunResult, members_per_portion};
use gputexel_dataset::{Dataset, Folds, Layout};
use gputexel_eval::{Evaluator, Fallback};
use gputexel_io::{Error, Result};
use gputexel_optim::OptimizerState;

/// Creates an evaluator for a layout; the caller chooses the backend.
///
/// # Errors
/// If the requested backend is not available.
pub type MakeEvaluator<'a> = dyn for<'l> Fn(&'l Layout) -> Result<Box<dyn Evaluator + 'l>> + 'a;

/// Progress reported by a sweep.
pub enum SweepEvent<'a> {
    Step {
        done: u64,
        planned: u64,
        seconds: f64,
    },
    /// The state may be stored now.
    State {
        checkpoint: &'a dyn Fn() -> Checkpoint,
        last: bool,
    },
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
    /// Reason for the end:
    pub reason: StopReason,
    /// Every run; for an interrupted sweep, the runs that had started, with their results so far.
    pub runs: Vec<SweepRun>,
    pub epochs: u64,
    /// Epochs planned, over all runs.
    pub planned: u64,
    /// Seconds of work, including earlier sessions.
    pub seconds: f64,
    /// Largest number of runs trained as one population.
    pub together: usize,
}

/// Name of the results of the runs in a checkpoint.
const RESULTS: &str = "sweep-results";
const NUMBERS: usize = 4;

pub struct SweepDriver<'a> {
    config: &'a SweepConfig,
    data: &'a Dataset,
    /// Combination and fold of every run of one seed, sorted by loss function, so that one call evaluates many, then by
    /// fold, so that neighbors leave out the same positions.
    order: Vec<(usize, usize)>,
    /// By seed, in that order.
    results: Vec<RunResult>,
    portion: usize,
    /// The state of the current portion, as stored in a checkpoint.
    resumed: Option<OptimizerState>,
    seconds_before: f64,
    started: Instant,
    /// Seconds of work when the last state was offered, so that the reported time equals the stored one.
    ended: Option<f64>,
}

impl<'a> SweepDriver<'a> {
    pub fn try_new(config: &'a SweepConfig, data: &'a Dataset) -> Result<Self> {
        config.validate()?;
        if config.start.len() != 2 * data.feature_count() {
            return Err(Error::Usage("the prior does not match the dataset".to_string()));
        }
        Ok(Self {
            config,
            data,
            order: order(config),
            results: Vec::new(),
            portion: members_per_portion(config.method, config.start.len()),
            resumed: None,
            seconds_before: 0.0,
            started: Instant::now(),
            ended: None,
        })
    }

    pub fn resume(
        config: &'a SweepConfig,
        data: &'a Dataset,
        checkpoint: Checkpoint,
        path: &Path,
    ) -> Result<Self> {
        let mut sweep = Self::try_new(config, data)?;
        let mut state = checkpoint.optimizer;
        sweep.results = recorded_results(&state, config.runs(), path)?;
        state.vectors.remove(RESULTS);
        sweep.seconds_before = checkpoint.progress.seconds;
        state.scalars = state.scalars["portion"].take();
        if !state.scalars.is_null() {
            sweep.resumed = Some(state);
        }
        // Restored here already, so that a broken state is reported before any work.
        if let (Some(state), Some(members)) = (sweep.resumed.clone(), sweep.next_members()) {
            let (plan, _) = sweep.plan(sweep.next() / sweep.order.len())?;
            Portion::try_new(config, &plan, members)?
                .restore(state)
                .map_err(|e| Error::input(path, e.to_string()))?;
        }
        Ok(sweep)
    }

    /// Trains at most `runs` runs at a time, to use less memory than by default. A sweep must be resumed with the same
    /// portion.
    #[must_use]
    pub fn with_portion(mut self, runs: usize) -> Self {
        self.portion = runs.max(1);
        self
    }

    fn epochs_of_ended(&self) -> u64 {
        self.results.len() as u64 * self.config.epochs
    }

    fn planned(&self) -> u64 {
        self.config.runs() as u64 * self.config.epochs
    }

    fn next(&self) -> usize {
        self.results.len()
    }

    fn seconds(&self) -> f64 {
        self.ended.unwrap_or_else(|| self.seconds_before + self.started.elapsed().as_secs_f64())
    }

    fn next_members(&self) -> Option<Vec<Member>> {
        if self.next() >= self.config.runs() {
            return None;
        }
        let within = self.next() % self.order.len();
        let left = self.config.runs() - self.next();
        let end = (within + self.portion.min(left)).min(self.order.len());
        let member = |&(combination, fold): &(usize, usize)| Member {
            setting: self.config.setting(combination),
            fold: Some(fold),
        };
        Some(self.order[within..end].iter().map(member).collect())
    }

    fn plan(&self, seed: usize) -> Result<(Plan, Layout)> {
        plan(self.config, self.data, self.config.seeds[seed])
    }

    fn checkpoint(
        &self,
        portion: Option<&Portion<'_>>,
        epochs: u64,
        reason: Option<StopReason>,
    ) -> Checkpoint {
        let OptimizerState { scalars, mut vectors } = portion.map(Portion::save).unwrap_or_default();
        let finite = |value: f64| if value.is_finite() { value } else { f64::MAX };
        let numbers = |r: &RunResult| [r.held_out, r.own_held_out, r.training, r.epochs as f64].map(finite);
        vectors.insert(RESULTS.to_string(), self.results.iter().flat_map(numbers).collect());
        Checkpoint {
            progress: Progress { epochs, seconds: self.seconds(), finished: reason, ..Progress::default() },
            optimizer: OptimizerState {
                scalars: serde_json::json!({ "method": "sweep", "portion": scalars }),
                vectors,
            },
        }
    }

    /// Runs to the end, or until `cancel` is set; then judges the results so far.
    pub fn run(
        &mut self,
        make_evaluator: &MakeEvaluator<'_>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(SweepEvent<'_>) -> Result<()>,
    ) -> Result<SweepOutcome> {
        (self.started, self.ended) = (Instant::now(), None);
        let mut together = 0;
        let mut unfinished = Vec::new();
        let mut epochs = self.epochs_of_ended();
        let all = self.config.runs();
        let goes_on = || !cancel.load(Ordering::Relaxed);
        while self.results.len() < all && goes_on() {
            let seed = self.next() / self.order.len();
            let (plan, layout) = self.plan(seed)?;
            let mut evaluator = make_evaluator(&layout)?;
            while self.next() / self.order.len() == seed
                && goes_on()
                && let Some(members) = self.next_members()
            {
                let mut portion = Portion::try_new(self.config, &plan, members)?;
                together = together.max(portion.len());
                if let Some(state) = self.resumed.take() {
                    portion.restore(state)?;
                    // It may have been stopped after its last step.
                    epochs = self.epochs_of_ended() + portion.epochs_done();
                }
                portion.train(&mut *evaluator, cancel, &mut |portion, evaluator| {
                    evaluator.take_fallback().map_or(Ok(()), |it| observe(SweepEvent::Replaced(it)))?;
                    epochs = self.epochs_of_ended() + portion.epochs_done();
                    observe(SweepEvent::Step {
                        done: epochs,
                        planned: self.planned(),
                        seconds: self.seconds(),
                    })?;
                    let checkpoint = || self.checkpoint(Some(portion), epochs, None);
                    observe(SweepEvent::State { checkpoint: &checkpoint, last: false })
                })?;
                let results = portion.judge(&mut *evaluator, self.config.judge)?;
                evaluator.take_fallback().map_or(Ok(()), |it| observe(SweepEvent::Replaced(it)))?;
                if portion.finished() {
                    self.results.extend(results);
                } else {
                    self.ended = Some(self.seconds());
                    let checkpoint = || self.checkpoint(Some(&portion), epochs, None);
                    observe(SweepEvent::State { checkpoint: &checkpoint, last: true })?;
                    unfinished = results;
                }
            }
        }
        let whole = self.results.len() == all;
        let reason = if whole { StopReason::Epochs } else { StopReason::Interrupted };
        // A resumed portion that made no step keeps its stored state.
        if unfinished.is_empty() && self.resumed.is_none() {
            self.ended = Some(self.seconds());
            let checkpoint = || self.checkpoint(None, epochs, whole.then_some(reason));
            observe(SweepEvent::State { checkpoint: &checkpoint, last: true })?;
        }
        // Unlike progress, in which converged runs count in full.
        epochs = self.results.iter().chain(&unfinished).map(|result| result.epochs).sum();
        let runs = numbered(&self.order, self.results.iter().chain(&unfinished).copied());
        Ok(SweepOutcome { reason, runs, epochs, planned: self.planned(), seconds: self.seconds(), together })
    }
}

/// Returns combinations and folds in the order in which their results are stored, the same for every seed.
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

fn recorded_results(state: &OptimizerState, runs: usize, path: &Path) -> Result<Vec<RunResult>> {
    let results = state.vectors.get(RESULTS).map_or(&[][..], Vec::as_slice);
    if state.scalars["method"] != "sweep"
        || !results.len().is_multiple_of(NUMBERS)
        || results.len() / NUMBERS > runs
    {
        return Err(Error::input(path, "the checkpoint belongs to another sweep, or is damaged"));
    }
    let number = |value: f64| if value == f64::MAX { f64::NAN } else { value };
    let result = |&[held_out, own_held_out, training, epochs]: &[f64; NUMBERS]| RunResult {
        held_out: number(held_out),
        own_held_out: number(own_held_out),
        training: number(training),
        epochs: epochs as u64,
    };
    Ok(results.as_chunks().0.iter().map(result).collect())
}

/// Returns the runs of a sweep that had finished when the checkpoint at `path` was written.
///
/// # Errors
/// [`Error::Input`] when the checkpoint does not belong to the configuration.
pub fn recorded_runs(config: &SweepConfig, checkpoint: &Checkpoint, path: &Path) -> Result<Vec<SweepRun>> {
    config.validate()?;
    let results = recorded_results(&checkpoint.optimizer, config.runs(), path)?;
    Ok(numbered(&order(config), results.into_iter()))
}

/// Combines results, in their order, with the runs they belong to.
fn numbered(order: &[(usize, usize)], results: impl Iterator<Item = RunResult>) -> Vec<SweepRun> {
    let run = |(i, result): (usize, RunResult)| {
        let (combination, fold) = order[i % order.len()];
        SweepRun { seed: i / order.len(), combination, fold, result }
    };
    results.enumerate().map(run).collect()
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
    /// θ.
    pub theta: Vec<f64>,
    pub z: Vec<f64>,
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
    let z = portion.coordinates();
    Ok(Retrained { theta: config.parameterization().theta(&z), z, optimizer: portion.describe(0) })
}
