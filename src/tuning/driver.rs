//! The loop: ask, evaluate, regularise, tell, judge.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Checkpoint, Progress, RunConfig, StopReason, regularize};
use crate::dataset::Split;
use crate::error::{Error, Result};
use crate::evaluator::{Evaluations, Evaluator, Population, Request};
use crate::optimizer::{Optimizer, Proposal};

/// A run under way.
pub struct Tuning<'a> {
    config: &'a RunConfig,
    split: &'a Split,
    optimizer: Box<dyn Optimizer>,
    progress: Progress,
    /// Seconds of earlier sessions.
    seconds_before: f64,
    started: Instant,
}

/// What the loop tells about itself.
pub enum Event<'a> {
    /// An epoch is done.
    Epoch {
        /// Whole epochs so far.
        epoch: u64,
        /// Training loss, regularisation included.
        loss: f64,
        /// Held-out loss, where positions are held out.
        held_out: Option<f64>,
        /// Largest component of the gradient.
        gradient_norm: Option<f64>,
        /// Seconds of work so far.
        seconds: f64,
        /// (Position, member) pairs evaluated by this epoch.
        pairs: u64,
    },
    /// The state may be stored now.
    State {
        /// Where the loop stands.
        progress: &'a Progress,
        /// Where the optimizer stands.
        optimizer: &'a dyn Optimizer,
        /// Whether no further step follows.
        last: bool,
    },
    /// The evaluator failed and the run goes on with another.
    Replaced {
        /// Why.
        error: &'a Error,
        /// What computes from now on.
        evaluator: String,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why.
    pub reason: StopReason,
    /// The parameters to use: those of the best held-out loss where positions are held out, else
    /// the optimizer's best.
    pub parameters: Vec<f64>,
    /// Whole epochs.
    pub epochs: u64,
    /// Seconds of work, over all resumptions.
    pub seconds: f64,
    /// Method and settings.
    pub optimizer: String,
}

impl<'a> Tuning<'a> {
    /// A run at its start.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of their range.
    pub fn try_new(config: &'a RunConfig, split: &'a Split) -> Result<Self> {
        config.validate()?;
        let optimizer = config.optimizer.build(&config.start, config.stopping.epochs)?;
        let progress = Progress::default();
        Ok(Self { config, split, optimizer, progress, seconds_before: 0.0, started: Instant::now() })
    }

    /// A run as a checkpoint left it.
    ///
    /// # Errors
    /// [`Error::Input`] when the checkpoint does not belong to the configuration.
    pub fn resume(
        config: &'a RunConfig,
        split: &'a Split,
        checkpoint: Checkpoint,
        path: &Path,
    ) -> Result<Self> {
        let mut run = Self::try_new(config, split)?;
        let held_out = checkpoint.progress.best_held_out_parameters.len();
        if held_out != 0 && held_out != config.start.len() {
            return Err(Error::input(path, "the checkpoint belongs to another model"));
        }
        run.optimizer.restore(checkpoint.optimizer).map_err(|e| Error::input(path, e.to_string()))?;
        run.seconds_before = checkpoint.progress.seconds;
        run.progress = checkpoint.progress;
        Ok(run)
    }

    /// Runs to the end, or until `cancel` is set.
    ///
    /// When the evaluator fails for reasons of its device, `replacement` is asked for another one
    /// and the step is repeated; nothing is lost.
    ///
    /// # Errors
    /// Those of evaluator, optimizer and observer.
    pub fn run<'e>(
        &mut self,
        mut evaluator: Box<dyn Evaluator + 'e>,
        mut replacement: impl FnMut(&Error) -> Option<Box<dyn Evaluator + 'e>>,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        self.started = Instant::now();
        let batches = self.split.batches();
        let mut pairs = 0;
        let reason = loop {
            // Of a run that ended before its result was stored.
            if let Some(reason) = self.progress.finished {
                break reason;
            }
            if cancel.load(Ordering::Relaxed) {
                break StopReason::Interrupted;
            }
            let proposal = self.optimizer.ask();
            let batch = self.batch(self.progress.steps, batches);
            let answer = persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| {
                self.evaluate(evaluator, &proposal, batch.clone())
            })?;
            pairs += (answer.positions * proposal.l2.len()) as u64;
            self.optimizer.tell(&answer)?;
            self.progress.steps += 1;
            self.progress.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
            if self.optimizer.at_rest() {
                self.progress.epochs += 1;
                let best = self.optimizer.best();
                let held_out = persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| {
                    self.judge_held_out(evaluator, &best.parameters)
                })?;
                self.progress.recent_losses.push(best.loss);
                let keep = self.config.stopping.window as usize + 1;
                let excess = self.progress.recent_losses.len().saturating_sub(keep);
                self.progress.recent_losses.drain(..excess);
                self.progress.metrics += 1;
                observe(Event::Epoch {
                    epoch: self.progress.epochs,
                    loss: best.loss,
                    held_out,
                    gradient_norm: self.optimizer.gradient_norm(),
                    seconds: self.progress.seconds,
                    pairs: std::mem::take(&mut pairs),
                })?;
                if let Some(reason) = self.stop_reason() {
                    break reason;
                }
            }
            if self.optimizer.converged() {
                break StopReason::Converged;
            }
            let limit = self.config.stopping.seconds;
            if limit.is_some_and(|limit| self.progress.seconds >= limit) {
                break StopReason::Time;
            }
            observe(Event::State { progress: &self.progress, optimizer: &*self.optimizer, last: false })?;
        };
        if reason != StopReason::Interrupted {
            self.progress.finished = Some(reason);
        }
        observe(Event::State { progress: &self.progress, optimizer: &*self.optimizer, last: true })?;
        let parameters = match self.progress.best_held_out_parameters.is_empty() {
            true => self.optimizer.best().parameters,
            false => self.progress.best_held_out_parameters.clone(),
        };
        Ok(Outcome {
            reason,
            parameters,
            epochs: self.progress.epochs,
            seconds: self.progress.seconds,
            optimizer: self.optimizer.describe(),
        })
    }

    /// The batch of a step: every epoch goes through all batches in an order of its own, which
    /// depends on the seed and the epoch alone.
    fn batch(&self, step: u64, batches: usize) -> std::ops::Range<usize> {
        if batches == 1 {
            return 0..1;
        }
        let epoch = step / batches as u64;
        let mut order: Vec<usize> = (0..batches).collect();
        let mut rng =
            Xoshiro256PlusPlus::seed_from_u64(self.config.seed ^ epoch.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        order.shuffle(&mut rng);
        let batch = order[(step % batches as u64) as usize];
        batch..batch + 1
    }

    fn evaluate(
        &self,
        evaluator: &mut dyn Evaluator,
        proposal: &Proposal,
        parts: std::ops::Range<usize>,
    ) -> Result<Evaluations> {
        let population = Population {
            features: self.config.start.len() / 2,
            parameters: proposal.parameters.clone(),
            k: vec![self.config.k; proposal.l2.len()],
        };
        let request = Request {
            parts,
            loss: self.config.loss,
            gradients: proposal.gradients,
            curvature: proposal.curvature,
        };
        let mut evaluations = evaluator.evaluate(&population, &request)?;
        regularize(&mut evaluations, &proposal.parameters, &self.config.start, &proposal.l2);
        Ok(evaluations)
    }

    /// Held-out loss of θ; remembers the best.
    fn judge_held_out(&mut self, evaluator: &mut dyn Evaluator, theta: &[f64]) -> Result<Option<f64>> {
        let Some(part) = self.split.held_out_part() else { return Ok(None) };
        let request =
            Request { parts: part..part + 1, loss: self.config.loss, gradients: false, curvature: false };
        let loss = evaluator.evaluate(&Population::single(theta, self.config.k), &request)?.losses[0];
        if self.progress.best_held_out.is_none_or(|best| loss < best) {
            self.progress.best_held_out = Some(loss);
            self.progress.best_held_out_epoch = self.progress.epochs;
            self.progress.best_held_out_parameters = theta.to_vec();
        }
        Ok(Some(loss))
    }

    fn stop_reason(&self) -> Option<StopReason> {
        let stopping = &self.config.stopping;
        let progress = &self.progress;
        if progress.epochs >= stopping.epochs {
            return Some(StopReason::Epochs);
        }
        if self.optimizer.gradient_norm().is_some_and(|norm| norm <= stopping.gradient_norm) {
            return Some(StopReason::Gradient);
        }
        let losses = &progress.recent_losses;
        if losses.len() > stopping.window as usize {
            let (before, now) =
                (losses[losses.len() - 1 - stopping.window as usize], losses[losses.len() - 1]);
            if before.is_finite() && before - now < stopping.improvement * before.abs() {
                return Some(StopReason::Improvement);
            }
        }
        let since_best = progress.epochs - progress.best_held_out_epoch;
        (progress.best_held_out.is_some() && since_best >= stopping.patience).then_some(StopReason::HeldOut)
    }
}

/// Calls until the evaluator does not fail for reasons of its device, or there is no other one.
fn persist<'e, T>(
    evaluator: &mut Box<dyn Evaluator + 'e>,
    replacement: &mut impl FnMut(&Error) -> Option<Box<dyn Evaluator + 'e>>,
    observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    call: &mut dyn FnMut(&mut dyn Evaluator) -> Result<T>,
) -> Result<T> {
    loop {
        match call(&mut **evaluator) {
            Err(error @ Error::Gpu(_)) => {
                let Some(other) = replacement(&error) else { return Err(error) };
                *evaluator = other;
                observe(Event::Replaced { error: &error, evaluator: evaluator.describe() })?;
            }
            answer => return answer,
        }
    }
}
