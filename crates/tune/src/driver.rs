//! The tuning loop: ask, evaluate, regularize, tell, judge.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::training::{Problem, train};
use super::{Checkpoint, Progress, RunConfig, StopReason, space_of};
use gputexel_dataset::Split;
use gputexel_eval::{Evaluations, Evaluator, Fallback, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{Optimizer, Proposal, SwarmDetails, has_stalled};

/// A run in progress.
pub struct Tuning<'a> {
    run: Run<'a>,
    optimizer: Box<dyn Optimizer>,
    progress: Progress,
    seconds_before: f64,
    started: Instant,
}

struct Run<'a> {
    config: &'a RunConfig,
    split: &'a Split,
    problem: Problem,
}

/// Progress reported by the loop.
pub enum Event<'a> {
    Epoch {
        epoch: u64,
        loss: f64,
        held_out: Option<f64>,
        gradient_norm: Option<f64>,
        seconds: f64,
        pairs: u64,
        details: Option<SwarmDetails>,
    },
    /// The state may be stored now.
    State {
        checkpoint: &'a dyn Fn() -> Checkpoint,
        last: bool,
    },
    Replaced(Fallback),
}

/// Number of θ values computed at a time: 256 MiB, 43,690 members of a piece-square model.
const PORTION_NUMBERS: usize = 1 << 25;

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub reason: StopReason,
    pub parameters: Vec<f64>,
    /// The best z, from which θ was computed.
    pub z: Vec<f64>,
    pub best_member: usize,
    pub best_epoch: u64,
    /// Method and settings of each member, and the best value of its criterion.
    pub members: Vec<(String, f64)>,
    pub epochs: u64,
    /// Seconds of work, including earlier sessions.
    pub seconds: f64,
    /// Method and settings of the member the parameters belong to.
    pub optimizer: String,
}

impl<'a> Tuning<'a> {
    pub fn try_new(config: &'a RunConfig, split: &'a Split) -> Result<Self> {
        let mut space = space_of(&config.parameterization());
        if let Some(z) = config.begin.as_ref().filter(|z| z.len() == space.dimension()) {
            space.start.clone_from(z);
        }
        let optimizer = config.optimizer.build(&space, config.stopping.epochs)?;
        config.validate()?;
        let problem = Problem {
            parameterization: config.parameterization(),
            regularization: config.regularization(0),
            weights: (0..config.l2.len().max(1)).map(|m| config.regularization(m).weights()).collect(),
        };
        Ok(Self {
            run: Run { config, split, problem },
            optimizer,
            progress: Progress::default(),
            seconds_before: 0.0,
            started: Instant::now(),
        })
    }

    pub fn resume(
        config: &'a RunConfig,
        split: &'a Split,
        checkpoint: Checkpoint,
        path: &Path,
    ) -> Result<Self> {
        let mut run = Self::try_new(config, split)?;
        let best = checkpoint.progress.best_parameters.len();
        if best != 0 && best != run.run.problem.parameterization.dimension() {
            return Err(Error::input(path, "the checkpoint belongs to another model"));
        }
        run.optimizer.restore(checkpoint.optimizer).map_err(|e| Error::input(path, e.to_string()))?;
        run.seconds_before = checkpoint.progress.seconds;
        run.progress = checkpoint.progress;
        Ok(run)
    }

    pub fn run(
        &mut self,
        evaluator: &mut dyn Evaluator,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        self.started = Instant::now();
        let config = self.run.config;
        let mut pairs = 0;
        // A run that had ended may not have stored its result.
        let reason = train(self.progress.finished, cancel, || {
            let ended = self.step(evaluator, &mut pairs, observe)?;
            let late = config.stopping.seconds.is_some_and(|limit| self.progress.seconds >= limit);
            let ended = ended
                .or_else(|| self.optimizer.converged().then_some(StopReason::Converged))
                .or_else(|| late.then_some(StopReason::Time));
            if ended.is_none() {
                observe(Event::State { checkpoint: &|| self.checkpoint(), last: false })?;
            }
            Ok(ended)
        })?;
        if reason != StopReason::Interrupted {
            self.progress.finished = Some(reason);
        }
        observe(Event::State { checkpoint: &|| self.checkpoint(), last: true })?;
        // The point reached by the last step has not been judged yet, unless the members are trials of one
        // run, which ends at a judged point.
        let optimizer = &mut self.optimizer;
        if reason != StopReason::Interrupted && !optimizer.members_are_trials() {
            let Proposal { parameters, members, .. } = optimizer.ask();
            self.evaluate_and_judge(evaluator, &parameters, members.len(), observe)?;
        }
        let (progress, optimizer) = (&self.progress, &self.optimizer);
        let describe = |member: usize| optimizer.describe(member, config.l2(member));
        let z = match progress.best_parameters.is_empty() {
            true => optimizer.best().parameters,
            false => progress.best_parameters.clone(),
        };
        let members = progress.member_best.iter().enumerate();
        Ok(Outcome {
            reason,
            parameters: self.run.problem.parameterization.theta(&z),
            z,
            best_member: progress.best_member,
            best_epoch: progress.best_epoch,
            members: members.map(|(member, &value)| (describe(member), value)).collect(),
            epochs: progress.epochs,
            seconds: progress.seconds,
            optimizer: describe(progress.best_member),
        })
    }

    /// Evaluates once for the optimizer and, if this completes an epoch, judges it, which may end the run.
    fn step(
        &mut self,
        evaluator: &mut dyn Evaluator,
        pairs: &mut u64,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Option<StopReason>> {
        let Run { config, split, .. } = self.run;
        let batches = split.batches();
        // With a full batch, the first epoch evaluates the start itself.
        if self.progress.steps == 0 && batches > 1 {
            let members = self.optimizer.ask().members.len();
            let start = self.run.problem.parameterization.start().repeat(members);
            self.evaluate_and_judge(evaluator, &start, members, observe)?;
        }
        let proposal = self.optimizer.ask();
        let answer = self.run.evaluate(evaluator, &proposal, self.progress.steps)?;
        evaluator.take_fallback().map_or(Ok(()), |it| observe(Event::Replaced(it)))?;
        *pairs += (answer.positions * answer.losses.len()) as u64;
        self.optimizer.tell(&answer)?;
        self.progress.steps += 1;
        self.progress.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
        let optimizer = &self.optimizer;
        if optimizer.epoch_done() {
            self.progress.epochs += 1;
            let best = optimizer.best();
            let mut held_out = None;
            let (z, losses) = match optimizer.members_are_trials() {
                true => (best.parameters, vec![best.loss]),
                false => (proposal.parameters, answer.losses),
            };
            if split.held_out_part().is_some() {
                let values = self.evaluate_and_judge(evaluator, &z, losses.len(), observe)?;
                held_out = values.into_iter().filter(|value| !value.is_nan()).min_by(f64::total_cmp);
            } else if batches == 1 {
                self.judge(&z, &losses);
            }
            // The lowest so far: large first steps may lead uphill for longer than the window.
            let lowest = self.progress.recent_losses.last().map_or(best.loss, |&loss| loss.min(best.loss));
            self.progress.recent_losses.push(lowest);
            let keep = config.stopping.window as usize + 1;
            let excess = self.progress.recent_losses.len().saturating_sub(keep);
            self.progress.recent_losses.drain(..excess);
            self.progress.metrics += 1;
            observe(Event::Epoch {
                epoch: self.progress.epochs,
                loss: best.loss,
                held_out,
                gradient_norm: self.optimizer.gradient_norm(),
                seconds: self.progress.seconds,
                pairs: std::mem::take(pairs),
                details: self.optimizer.details(),
            })?;
            return Ok(self.stop_reason());
        }
        Ok(None)
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint { progress: self.progress.clone(), optimizer: self.optimizer.save() }
    }

    /// Evaluates candidates by their criterion, held-out loss or regularized training loss, and keeps the best.
    fn evaluate_and_judge(
        &mut self,
        evaluator: &mut dyn Evaluator,
        z: &[f64],
        members: usize,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Vec<f64>> {
        let Run { config, split, .. } = self.run;
        let held_out = split.held_out_part();
        let parts = held_out.map_or(0..split.batches(), |part| part..part + 1);
        let request = Request { parts, loss: config.loss, gradients: false, curvature: false };
        let values = self.run.at(evaluator, z, members, held_out.is_none(), &request)?.losses;
        evaluator.take_fallback().map_or(Ok(()), |it| observe(Event::Replaced(it)))?;
        self.judge(z, &values);
        Ok(values)
    }

    fn judge(&mut self, z: &[f64], values: &[f64]) {
        let size = self.run.problem.parameterization.dimension();
        let progress = &mut self.progress;
        progress.member_best.resize(values.len(), f64::MAX);
        for (member, &value) in values.iter().enumerate() {
            // Comparisons with NaN are false: a member with NaN is never the best.
            if value < progress.member_best[member] {
                progress.member_best[member] = value;
            }
            if value.is_finite() && progress.best.is_none_or(|best| value < best) {
                progress.best = Some(value);
                progress.best_epoch = progress.epochs;
                progress.best_member = member;
                progress.best_parameters = z[member * size..(member + 1) * size].to_vec();
            }
        }
    }

    fn stop_reason(&self) -> Option<StopReason> {
        let stopping = &self.run.config.stopping;
        let progress = &self.progress;
        if progress.epochs >= stopping.epochs {
            return Some(StopReason::Epochs);
        }
        if self.optimizer.gradient_norm().is_some_and(|norm| norm <= 0.0) {
            return Some(StopReason::Gradient);
        }
        let losses = &progress.recent_losses;
        if losses.len() > stopping.window as usize {
            let (before, now) =
                (losses[losses.len() - 1 - stopping.window as usize], losses[losses.len() - 1]);
            if has_stalled(before, now, stopping.improvement) {
                return Some(StopReason::Improvement);
            }
        }
        let judged = self.run.split.held_out_part().is_some();
        let since_best = progress.epochs - progress.best_epoch;
        (judged && since_best >= stopping.patience).then_some(StopReason::HeldOut)
    }
}

impl Run<'_> {
    /// Returns the batch of a step: every epoch visits all batches in a random order that depends only on the seed and
    /// the epoch.
    fn batch(&self, step: u64, batches: usize) -> Range<usize> {
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

    /// Evaluates vectors z (concatenated) in portions, because θ of many members takes far more memory than z.
    fn at(
        &self,
        evaluator: &mut dyn Evaluator,
        z: &[f64],
        members: usize,
        regularized: bool,
        request: &Request,
    ) -> Result<Evaluations> {
        let size = self.config.prior_theta.len();
        let portion = (PORTION_NUMBERS / size).max(1);
        let portions = (0..members).step_by(portion).map(|first| first..members.min(first + portion));
        let population = |theta: Vec<f64>, members: Range<usize>| {
            Population::new(size / 2, theta, vec![self.config.k; members.len()])
        };
        let weights = if regularized { self.problem.weights(members) } else { Vec::new() };
        let groups = portions.map(|members| (members, request.clone()));
        self.problem.evaluate(evaluator, z.into(), groups, population, &weights)
    }

    fn evaluate(&self, evaluator: &mut dyn Evaluator, proposal: &Proposal, step: u64) -> Result<Evaluations> {
        let Proposal { parameters, members, gradients, curvature } = proposal;
        let parts = self.batch(step, self.split.batches());
        let loss = self.config.loss;
        let request = Request { parts, loss, gradients: *gradients, curvature: *curvature };
        self.at(evaluator, parameters, members.len(), true, &request)
    }
}
