//! The tuning loop: ask, evaluate, regularize, tell, judge.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ahead::{Ahead, Next, Settled};
use super::training::{Problem, has_stalled, train};
use super::{Checkpoint, Progress, RunConfig, StopReason, space_of};
use gputexel_dataset::Split;
use gputexel_dataset::objective::Objective;
use gputexel_eval::{AdamStep, Evaluations, Evaluator, Fallback, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{Optimizer, Proposal, StepDetails};

/// A run in progress.
///
/// Runs with mini-batches and no held-out positions are judged by training loss only at the start and at the end,
/// because the batch losses of an epoch belong to many different points.
pub struct Tuning<'a> {
    config: &'a RunConfig,
    split: &'a Split,
    problem: Problem,
    optimizer: Box<dyn Optimizer>,
    progress: Progress,
    /// The member whose best parameters are to become those of the progress, if a device has them.
    best_ahead: Option<usize>,
    /// Seconds of work in earlier sessions.
    seconds_before: f64,
    started: Instant,
}

/// Progress reported by the loop.
pub enum Event<'a> {
    Epoch {
        epoch: u64,
        /// Training loss, including regularization.
        loss: f64,
        held_out: Option<f64>,
        gradient_norm: Option<f64>,
        /// Seconds of work so far.
        seconds: f64,
        /// Number of (position, member) pairs evaluated in this epoch.
        pairs: u64,
        /// Further details of the method, see [`Optimizer::details`].
        details: Option<StepDetails>,
    },
    /// The state may be stored now.
    State {
        /// Creates the checkpoint to store; may have to fetch parameters from a device.
        checkpoint: &'a mut dyn FnMut() -> Result<Checkpoint>,
        last: bool,
    },
    /// The evaluator failed and the run continues with another.
    Replaced(Fallback),
}

/// Number of θ values computed at a time: 256 MiB, 43,690 members of a piece-square model.
const PORTION_NUMBERS: usize = 1 << 25;

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub reason: StopReason,
    /// The best θ.
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
    /// Creates a run in its initial state.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of range.
    pub fn try_new(config: &'a RunConfig, split: &'a Split) -> Result<Self> {
        let mut space = space_of(&config.parameterization());
        if let Some(z) = config.begin.as_ref().filter(|z| z.len() == space.dimension()) {
            space.start.clone_from(z);
        }
        Self::with_optimizer(config, split, config.optimizer.build(&space, config.stopping.epochs)?)
    }

    /// Creates a run in its initial state, with an optimizer supplied by the caller.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of range.
    pub fn with_optimizer(
        config: &'a RunConfig,
        split: &'a Split,
        optimizer: Box<dyn Optimizer>,
    ) -> Result<Self> {
        config.validate()?;
        Ok(Self {
            config,
            split,
            problem: Problem {
                parameterization: config.parameterization(),
                regularization: config.regularization(0),
                weights: (0..config.l2.len().max(1)).map(|m| config.regularization(m).weights()).collect(),
            },
            optimizer,
            progress: Progress::default(),
            best_ahead: None,
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
        if best != 0 && best != run.problem.parameterization.dimension() {
            return Err(Error::input(path, "the checkpoint belongs to another model"));
        }
        run.optimizer.restore(checkpoint.optimizer).map_err(|e| Error::input(path, e.to_string()))?;
        run.seconds_before = checkpoint.progress.seconds;
        run.progress = checkpoint.progress;
        Ok(run)
    }

    /// Runs to the end, or until `cancel` is set.
    pub fn run(
        &mut self,
        evaluator: &mut dyn Evaluator,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Outcome> {
        self.started = Instant::now();
        let batches = self.split.batches();
        let mut pairs = 0;
        // Batches, held-out losses, penalties and other parameterizations need the host after every step.
        let plain = batches == 1
            && self.split.held_out_part().is_none()
            && self.problem.parameterization.is_identity()
            && !self.problem.regularization.has_penalties();
        let mut ahead = if plain { Ahead::default() } else { Ahead::none() };
        // A run that had ended may not have stored its result.
        let reason = train(self.progress.finished, cancel, || {
            let ended = match self.optimizer.ask_products() {
                Some(question) => {
                    let objective = Objective { k: self.config.k, loss: self.config.loss };
                    let answer = self.problem.products(evaluator, &question, objective, 0..batches)?;
                    evaluator.take_fallback().map_or(Ok(()), |it| observe(Event::Replaced(it)))?;
                    self.optimizer.tell_products(&answer)?;
                    self.progress.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
                    None
                }
                None => self.step(evaluator, &mut ahead, &mut pairs, observe)?,
            };
            let late = self.config.stopping.seconds.is_some_and(|limit| self.progress.seconds >= limit);
            let ended = ended
                .or_else(|| self.optimizer.converged().then_some(StopReason::Converged))
                .or_else(|| late.then_some(StopReason::Time));
            if ended.is_none() {
                let mut checkpoint = || {
                    self.settle(evaluator, &mut ahead)?;
                    Ok(self.checkpoint())
                };
                observe(Event::State { checkpoint: &mut checkpoint, last: false })?;
            }
            Ok(ended)
        })?;
        self.settle(evaluator, &mut ahead)?;
        if reason != StopReason::Interrupted {
            self.progress.finished = Some(reason);
        }
        observe(Event::State { checkpoint: &mut || Ok(self.checkpoint()), last: true })?;
        // The point reached by the last step has not been judged yet, unless the members are trials of one
        // run, which ends at a judged point.
        if reason != StopReason::Interrupted && !self.optimizer.members_are_trials() {
            let Proposal { parameters, members, .. } = self.optimizer.ask();
            self.evaluate_and_judge(evaluator, &parameters, members, observe)?;
        }
        let progress = &self.progress;
        let z = match progress.best_parameters.is_empty() {
            true => self.optimizer.best().parameters,
            false => progress.best_parameters.clone(),
        };
        let members = progress.member_best.iter().enumerate();
        Ok(Outcome {
            reason,
            parameters: self.problem.parameterization.theta(&z),
            z,
            best_member: progress.best_member,
            best_epoch: progress.best_epoch,
            members: members
                .map(|(member, &value)| (self.optimizer.describe(member, self.config.l2(member)), value))
                .collect(),
            epochs: progress.epochs,
            seconds: progress.seconds,
            optimizer: self.optimizer.describe(progress.best_member, self.config.l2(progress.best_member)),
        })
    }

    /// Evaluates once for the optimizer and, if this completes an epoch, judges it, which may end the run.
    fn step(
        &mut self,
        evaluator: &mut dyn Evaluator,
        ahead: &mut Ahead,
        pairs: &mut u64,
        observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<Option<StopReason>> {
        let batches = self.split.batches();
        // With a full batch, the first epoch evaluates the start itself.
        if self.progress.steps == 0 && batches > 1 {
            let members = self.optimizer.ask().members;
            let start = self.problem.parameterization.start().repeat(members);
            self.evaluate_and_judge(evaluator, &start, members, observe)?;
        }
        // The parameters of a step that a device takes stay there.
        let step = self.step_ahead(evaluator, ahead)?;
        let (answer, proposal) = match &step {
            Some(step) => (step.evaluations(), None),
            None => {
                let proposal = self.optimizer.ask();
                (self.evaluate_proposal(evaluator, &proposal, self.progress.steps)?, Some(proposal))
            }
        };
        evaluator.take_fallback().map_or(Ok(()), |it| observe(Event::Replaced(it)))?;
        *pairs += (answer.positions * answer.losses.len()) as u64;
        match step {
            Some(step) => self.optimizer.tell_step(&step)?,
            None => self.optimizer.tell(&answer)?,
        }
        self.progress.steps += 1;
        let elapsed = self.started.elapsed().as_secs_f64();
        self.progress.seconds = self.seconds_before + elapsed - ahead.seconds();
        if self.optimizer.epoch_done() {
            self.progress.epochs += 1;
            let best = self.optimizer.best();
            let mut held_out = None;
            let (z, losses) = match proposal {
                Some(_) if self.optimizer.members_are_trials() => (Some(best.parameters), vec![best.loss]),
                Some(proposal) => (Some(proposal.parameters), answer.losses),
                None => (None, answer.losses),
            };
            if let (Some(z), Some(_)) = (&z, self.split.held_out_part()) {
                let values = self.evaluate_and_judge(evaluator, z, losses.len(), observe)?;
                held_out = values.into_iter().filter(|value| !value.is_nan()).min_by(f64::total_cmp);
            } else if batches == 1 {
                self.judge(z.as_deref(), &losses);
            }
            // The lowest so far: large first steps may lead uphill for longer than the window.
            let lowest = self.progress.recent_losses.last().map_or(best.loss, |&loss| loss.min(best.loss));
            self.progress.recent_losses.push(lowest);
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
                pairs: std::mem::take(pairs),
                details: self.optimizer.details(),
            })?;
            return Ok(self.stop_reason());
        }
        Ok(None)
    }

    /// Refuses vectors of a wrong length, which only optimizers of the caller propose.
    fn check_lengths(&self, z: &[f64], members: usize) -> Result<()> {
        let dimension = self.problem.parameterization.dimension();
        if members > 0 && z.len() == members * dimension {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the optimizer proposes {} values for {members} members; {dimension} each are expected",
            z.len()
        )))
    }

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

    fn evaluate_proposal(
        &self,
        evaluator: &mut dyn Evaluator,
        proposal: &Proposal,
        step: u64,
    ) -> Result<Evaluations> {
        let &Proposal { gradients, curvature, .. } = proposal;
        let parts = self.batch(step, self.split.batches());
        let request = Request { parts, loss: self.config.loss, gradients, curvature };
        self.evaluate(evaluator, &proposal.parameters, proposal.members, true, &request)
    }

    fn step_ahead(&mut self, evaluator: &mut dyn Evaluator, ahead: &mut Ahead) -> Result<Option<AdamStep>> {
        let size = self.config.prior_theta.len();
        let population = |theta: Vec<f64>| {
            let members = theta.len() / size;
            Population::new(size / 2, theta, vec![self.config.k; members])
        };
        let request = Request { parts: 0..1, loss: self.config.loss, gradients: true, curvature: false };
        let left = self.config.stopping.epochs.saturating_sub(self.progress.epochs);
        let problem = (&population as &dyn Fn(_) -> _, request, &self.problem);
        match ahead.next(evaluator, &*self.optimizer, problem, left)? {
            Next::Step(step) => Ok(Some(step)),
            Next::Host => Ok(None),
            Next::Lost => self.repeat(evaluator, ahead).map(|()| None),
        }
    }

    fn settle(&mut self, evaluator: &mut dyn Evaluator, ahead: &mut Ahead) -> Result<()> {
        match ahead.settle(evaluator, &mut *self.optimizer)? {
            Settled::Known => {}
            Settled::Best(best) => {
                let size = self.config.prior_theta.len();
                if let Some(member) = self.best_ahead.take() {
                    self.progress.best_parameters = best[member * size..][..size].to_vec();
                }
            }
            Settled::Lost => self.repeat(evaluator, ahead)?,
        }
        Ok(())
    }

    fn repeat(&mut self, evaluator: &mut dyn Evaluator, ahead: &mut Ahead) -> Result<()> {
        let lost = ahead.recover(&mut *self.optimizer)?;
        for step in self.progress.steps - lost..self.progress.steps {
            let proposal = self.optimizer.ask();
            // Every step is an epoch.
            if self.progress.best_epoch == step + 1
                && let Some(member) = self.best_ahead.take()
            {
                let size = self.config.prior_theta.len();
                self.progress.best_parameters = proposal.parameters[member * size..][..size].to_vec();
            }
            let answer = self.evaluate_proposal(evaluator, &proposal, step)?;
            self.optimizer.tell(&answer)?;
        }
        Ok(())
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
        let held_out = self.split.held_out_part();
        let parts = held_out.map_or(0..self.split.batches(), |part| part..part + 1);
        let request = Request { parts, loss: self.config.loss, gradients: false, curvature: false };
        let values = self.evaluate(evaluator, z, members, held_out.is_none(), &request)?.losses;
        evaluator.take_fallback().map_or(Ok(()), |it| observe(Event::Replaced(it)))?;
        self.judge(Some(z), &values);
        Ok(values)
    }

    /// Evaluates vectors z (concatenated) with weights λ in portions, because θ of many members takes far more memory
    /// than z.
    fn evaluate(
        &self,
        evaluator: &mut dyn Evaluator,
        z: &[f64],
        members: usize,
        regularized: bool,
        request: &Request,
    ) -> Result<Evaluations> {
        self.check_lengths(z, members)?;
        let size = self.config.prior_theta.len();
        let portion = (PORTION_NUMBERS / size).max(1);
        let portions = (0..members).step_by(portion).map(|first| first..members.min(first + portion));
        let population = |theta: Vec<f64>, members: Range<usize>| {
            Population::new(size / 2, theta, vec![self.config.k; members.len()])
        };
        let weights = if regularized { self.problem.weights(members) } else { Vec::new() };
        let groups = portions.map(|members| (members, request.clone()));
        self.problem.evaluate(evaluator, z, groups, population, &weights)
    }

    /// Keeps the best of the judged candidates; without z, a device keeps its parameters.
    fn judge(&mut self, z: Option<&[f64]>, values: &[f64]) {
        let size = self.problem.parameterization.dimension();
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
                match z {
                    Some(z) => progress.best_parameters = z[member * size..(member + 1) * size].to_vec(),
                    None => self.best_ahead = Some(member),
                }
            }
        }
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
            if has_stalled(before, now, stopping.improvement) {
                return Some(StopReason::Improvement);
            }
        }
        let judged = self.split.held_out_part().is_some();
        let since_best = progress.epochs - progress.best_epoch;
        (judged && since_best >= stopping.patience).then_some(StopReason::HeldOut)
    }
}
