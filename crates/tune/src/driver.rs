//! The tuning loop: ask, evaluate, regularize, tell, judge.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ahead::Ahead;
use super::products::ProductProblem;
use super::{Checkpoint, Progress, Regularization, RunConfig, StopReason, space_of};
use gputexel_dataset::Split;
use gputexel_eval::{AdamStep, Evaluations, Evaluator, Fallback, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_model::Parameterization;
use gputexel_optim::{Best, Optimizer, ProductAnswer, ProductProposal, Proposal, StepDetails};

/// A run in progress.
///
/// Parameters are judged by their held-out loss if positions are held out, else by their regularized training
/// loss: all members after every epoch, and the start as well. Runs with mini-batches and no held-out
/// positions are judged by training loss only at the start and at the end, because the batch losses of an
/// epoch belong to many different points. The best parameters found become the result.
pub struct Tuning<'a> {
    config: &'a RunConfig,
    split: &'a Split,
    parameterization: Parameterization,
    regularization: Regularization,
    optimizer: Box<dyn Optimizer>,
    progress: Progress,
    /// Seconds of work in earlier sessions.
    seconds_before: f64,
    started: Instant,
}

/// Progress reported by the loop.
pub enum Event<'a> {
    /// An epoch is done.
    Epoch {
        /// Completed epochs.
        epoch: u64,
        /// Training loss, including regularization.
        loss: f64,
        /// Held-out loss, if positions are held out.
        held_out: Option<f64>,
        /// Largest component of the gradient.
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
        /// State of the loop.
        progress: &'a Progress,
        /// State of the optimizer.
        optimizer: &'a dyn Optimizer,
        /// True if this is the final state.
        last: bool,
    },
    /// The evaluator failed and the run continues with another.
    Replaced {
        /// Its error.
        error: &'a Error,
        /// Description of the new evaluator.
        evaluator: String,
    },
}

/// Vectors z to be judged, concatenated, with their regularization weights.
struct Candidates {
    z: Vec<f64>,
    l2: Vec<f64>,
}

/// Number of θ values computed at a time: 256 MiB, 43,690 members of a piece-square model.
const PORTION_NUMBERS: usize = 1 << 25;

impl Candidates {
    fn single(best: &Best, l2: f64) -> Self {
        Self { z: best.parameters.clone(), l2: vec![l2] }
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Reason for the end.
    pub reason: StopReason,
    /// The best θ.
    pub parameters: Vec<f64>,
    /// The best z, from which θ was computed.
    pub z: Vec<f64>,
    /// The member it belongs to.
    pub best_member: usize,
    /// The epoch in which it was evaluated.
    pub best_epoch: u64,
    /// Method and settings of each member, and the best value of its criterion.
    pub members: Vec<(String, f64)>,
    /// Completed epochs.
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

    /// Creates a run in its initial state, with an optimizer supplied by the caller. Its vectors are z of the
    /// configuration's [parameterization](RunConfig::parameterization), in the space of [`space_of`]; everything but
    /// the optimizer follows the configuration.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of range.
    pub fn with_optimizer(
        config: &'a RunConfig,
        split: &'a Split,
        optimizer: Box<dyn Optimizer>,
    ) -> Result<Self> {
        config.validate()?;
        let parameterization = config.parameterization();
        Ok(Self {
            config,
            split,
            parameterization,
            regularization: config.regularization(),
            optimizer,
            progress: Progress::default(),
            seconds_before: 0.0,
            started: Instant::now(),
        })
    }

    /// Resumes a run from a checkpoint.
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
        let best = checkpoint.progress.best_parameters.len();
        if best != 0 && best != run.parameterization.dimension() {
            return Err(Error::input(path, "the checkpoint belongs to another model"));
        }
        run.optimizer.restore(checkpoint.optimizer).map_err(|e| Error::input(path, e.to_string()))?;
        run.seconds_before = checkpoint.progress.seconds;
        run.progress = checkpoint.progress;
        Ok(run)
    }

    /// Runs to the end, or until `cancel` is set.
    ///
    /// With a [`FallbackEvaluator`](gputexel_eval::FallbackEvaluator) a failing device costs only time:
    /// the other evaluator answers the same request.
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
            && self.parameterization.is_identity()
            && !self.regularization.has_penalties();
        let mut ahead = if plain { Ahead::default() } else { Ahead::none() };
        let reason = loop {
            // The run had ended, but its result was not stored.
            if let Some(reason) = self.progress.finished {
                break reason;
            }
            if cancel.load(Ordering::Relaxed) {
                break StopReason::Interrupted;
            }
            let evaluated = match self.optimizer.ask_products() {
                Some(question) => {
                    let answer = self.products(evaluator, &question)?;
                    tell_fallback(evaluator, observe)?;
                    self.optimizer.tell_products(&answer)?;
                    self.progress.seconds = self.seconds_before + self.started.elapsed().as_secs_f64();
                    None
                }
                None => self.step(evaluator, &mut ahead, &mut pairs, observe)?,
            };
            if let Some(reason) = evaluated {
                break reason;
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
        // The point reached by the last step has not been judged yet, unless the members are trials of one
        // run, which ends at a judged point.
        if reason != StopReason::Interrupted && !self.optimizer.members_are_trials() {
            let Proposal { parameters, l2, .. } = self.optimizer.ask();
            let last = Candidates { z: parameters, l2 };
            let values = self.criterion(evaluator, &last)?;
            tell_fallback(evaluator, observe)?;
            self.judge(&last, &values);
        }
        let progress = &self.progress;
        let z = match progress.best_parameters.is_empty() {
            true => self.optimizer.best().parameters,
            false => progress.best_parameters.clone(),
        };
        let members = progress.member_best.iter().enumerate();
        Ok(Outcome {
            reason,
            parameters: self.parameterization.theta(&z),
            z,
            best_member: progress.best_member,
            best_epoch: progress.best_epoch,
            members: members.map(|(member, &value)| (self.optimizer.describe(member), value)).collect(),
            epochs: progress.epochs,
            seconds: progress.seconds,
            optimizer: self.optimizer.describe(progress.best_member),
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
            let members = self.optimizer.ask().l2.len();
            let start = self.parameterization.start().repeat(members);
            let start = Candidates { z: start, l2: vec![0.0; members] };
            let values = self.criterion(evaluator, &start)?;
            tell_fallback(evaluator, observe)?;
            self.judge(&start, &values);
        }
        let proposal = self.optimizer.ask();
        self.check_proposal(&proposal)?;
        let batch = self.batch(self.progress.steps, batches);
        let (answer, step) = match self.step_ahead(evaluator, &proposal, ahead)? {
            Some(step) => (step.evaluations(), Some(step)),
            None => (self.evaluate(evaluator, &proposal, batch)?, None),
        };
        tell_fallback(evaluator, observe)?;
        *pairs += (answer.positions * proposal.l2.len()) as u64;
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
            let (candidates, losses) = match self.optimizer.members_are_trials() {
                true => (Candidates::single(&best, proposal.l2[0]), vec![best.loss]),
                false => (Candidates { z: proposal.parameters, l2: proposal.l2 }, answer.losses),
            };
            if self.split.held_out_part().is_some() {
                let values = self.criterion(evaluator, &candidates)?;
                tell_fallback(evaluator, observe)?;
                self.judge(&candidates, &values);
                held_out = values.into_iter().filter(|value| !value.is_nan()).min_by(f64::total_cmp);
            } else if batches == 1 {
                self.judge(&candidates, &losses);
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
    fn check_proposal(&self, proposal: &Proposal) -> Result<()> {
        let (members, dimension) = (proposal.l2.len(), self.parameterization.dimension());
        if members > 0 && proposal.parameters.len() == members * dimension {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the optimizer proposes {} values for {members} members; {dimension} each are expected",
            proposal.parameters.len()
        )))
    }

    /// Returns the batch of a step: every epoch visits all batches in a random order that depends only on the seed and
    /// the epoch.
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

    /// Returns the next of the steps that the evaluator takes on its own, if it supports that.
    fn step_ahead(
        &self,
        evaluator: &mut dyn Evaluator,
        proposal: &Proposal,
        ahead: &mut Ahead,
    ) -> Result<Option<AdamStep>> {
        // Copied only when steps are requested, which happens once per many steps.
        let population = || {
            Population::new(
                self.config.prior_theta.len() / 2,
                proposal.parameters.clone(),
                vec![self.config.k; proposal.l2.len()],
            )
        };
        let request = Request { parts: 0..1, loss: self.config.loss, gradients: true, curvature: false };
        let left = self.config.stopping.epochs.saturating_sub(self.progress.epochs);
        let problem = (&population as &dyn Fn() -> Population, request, &self.regularization);
        ahead.next(evaluator, &*self.optimizer, proposal, problem, left)
    }

    /// Computes losses and derivatives with respect to z, including regularization.
    fn evaluate(
        &self,
        evaluator: &mut dyn Evaluator,
        proposal: &Proposal,
        parts: std::ops::Range<usize>,
    ) -> Result<Evaluations> {
        let request = Request {
            parts,
            loss: self.config.loss,
            gradients: proposal.gradients,
            curvature: proposal.curvature,
        };
        let z = (&proposal.parameters[..], proposal.l2.len());
        self.members(evaluator, z, Some(&proposal.l2), &request)
    }

    /// Computes products and blocks with respect to z, including regularization.
    fn products(&self, evaluator: &mut dyn Evaluator, question: &ProductProposal) -> Result<ProductAnswer> {
        let problem = ProductProblem {
            parameterization: &self.parameterization,
            regularization: &self.regularization,
            k: self.config.k,
            loss: self.config.loss,
            parts: 0..self.split.batches(),
        };
        problem.answer(evaluator, question)
    }

    /// Computes the criterion by which candidates are judged: held-out loss, or regularized training loss.
    fn criterion(&self, evaluator: &mut dyn Evaluator, candidates: &Candidates) -> Result<Vec<f64>> {
        let (parts, l2) = match self.split.held_out_part() {
            Some(part) => (part..part + 1, None),
            None => (0..self.split.batches(), Some(&candidates.l2[..])),
        };
        let request = Request { parts, loss: self.config.loss, gradients: false, curvature: false };
        let members = candidates.l2.len();
        Ok(self.members(evaluator, (&candidates.z, members), l2, &request)?.losses)
    }

    /// Evaluates vectors z (concatenated, and their number) in portions, because θ of many members takes far
    /// more memory than z. With weights λ, regularization is included.
    fn members(
        &self,
        evaluator: &mut dyn Evaluator,
        (z, members): (&[f64], usize),
        l2: Option<&[f64]>,
        request: &Request,
    ) -> Result<Evaluations> {
        let (basis, prior) = (&self.parameterization, &self.config.prior_theta);
        let portion = (PORTION_NUMBERS / prior.len()).max(1);
        let mut all = Evaluations::default();
        for (z, first) in z.chunks(portion * basis.dimension()).zip((0..members).step_by(portion)) {
            let count = portion.min(members - first);
            let population = Population::new(prior.len() / 2, basis.theta(z), vec![self.config.k; count]);
            let mut evaluations = evaluator.evaluate(&population, request)?;
            if let Some(l2) = l2 {
                self.regularization.add(&mut evaluations, &population.parameters, &l2[first..first + count]);
            }
            if !basis.is_identity() {
                evaluations.gradients = basis.pull_gradients(&evaluations.gradients);
                evaluations.curvatures = basis.pull_matrices(&evaluations.curvatures);
            }
            all.append(evaluations);
        }
        Ok(all)
    }

    /// Keeps the best of the judged candidates.
    fn judge(&mut self, candidates: &Candidates, values: &[f64]) {
        let size = self.parameterization.dimension();
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
                progress.best_parameters = candidates.z[member * size..(member + 1) * size].to_vec();
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
            if before.is_finite() && before - now < stopping.improvement * before.abs() {
                return Some(StopReason::Improvement);
            }
        }
        let judged = self.split.held_out_part().is_some();
        let since_best = progress.epochs - progress.best_epoch;
        (judged && since_best >= stopping.patience).then_some(StopReason::HeldOut)
    }
}

/// Reports a fallback to another evaluator, if there was one.
fn tell_fallback(
    evaluator: &mut dyn Evaluator,
    observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
) -> Result<()> {
    match evaluator.take_fallback() {
        Some(Fallback { error, evaluator }) => observe(Event::Replaced { error: &error, evaluator }),
        None => Ok(()),
    }
}
