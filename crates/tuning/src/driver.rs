//! The loop: ask, evaluate, regularise, tell, judge.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::ahead::Ahead;
use super::{Checkpoint, Progress, RunConfig, StopReason, regularize, space_of};
use gputexel_dataset::Split;
use gputexel_evaluator::{AdamStep, Evaluations, Evaluator, Population, Request};
use gputexel_files::{Error, Result};
use gputexel_model::Parameterization;
use gputexel_optimizer::{Best, Optimizer, Proposal};

/// A run under way.
///
/// Parameters are judged by their held-out loss where positions are held out, else by their
/// training loss with regularisation: after every epoch (of mini-batches only at the start and at
/// the end, because their losses belong to many points), all members, and the start as well. The
/// best judged are the result.
pub struct Tuning<'a> {
    config: &'a RunConfig,
    split: &'a Split,
    parameterization: Parameterization,
    optimizer: Box<dyn Optimizer>,
    progress: Progress,
    /// Seconds before this process.
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
        /// What else the method has to show, see [`Optimizer::details`].
        details: serde_json::Value,
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

/// Vectors z to be judged, member after member, with the weights of their regularisation.
struct Candidates {
    z: Vec<f64>,
    l2: Vec<f64>,
}

/// Values of θ that are made at a time: 256 MiB, 43,690 members of a piece-square model.
const PORTION_NUMBERS: usize = 1 << 25;

impl Candidates {
    fn single(best: &Best, l2: f64) -> Self {
        Self { z: best.parameters.clone(), l2: vec![l2] }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why.
    pub reason: StopReason,
    /// The best θ.
    pub parameters: Vec<f64>,
    /// The best z, of which θ was made.
    pub z: Vec<f64>,
    /// The member that it is of.
    pub best_member: usize,
    /// The epoch in which they were evaluated.
    pub best_epoch: u64,
    /// Every member's method and settings, and its best value of what it was judged by.
    pub members: Vec<(String, f64)>,
    /// Whole epochs.
    pub epochs: u64,
    /// Seconds of work, over all resumptions.
    pub seconds: f64,
    /// Method and settings of the member that the parameters are of.
    pub optimizer: String,
}

impl<'a> Tuning<'a> {
    /// A run at its start.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of their range.
    pub fn try_new(config: &'a RunConfig, split: &'a Split) -> Result<Self> {
        config.validate()?;
        let parameterization = config.parameterization();
        let optimizer = config.optimizer.build(&space_of(&parameterization), config.stopping.epochs)?;
        Ok(Self {
            config,
            split,
            parameterization,
            optimizer,
            progress: Progress::default(),
            seconds_before: 0.0,
            started: Instant::now(),
        })
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
        // Batches, held-out losses and other coordinates need the host after every step.
        let plain =
            batches == 1 && self.split.held_out_part().is_none() && self.parameterization.is_identity();
        let mut ahead = if plain { Ahead::default() } else { Ahead::none() };
        let reason = loop {
            // Of a run that ended before its result was stored.
            if let Some(reason) = self.progress.finished {
                break reason;
            }
            if cancel.load(Ordering::Relaxed) {
                break StopReason::Interrupted;
            }
            // The first epoch of a full batch evaluates the start itself.
            if self.progress.steps == 0 && batches > 1 {
                let members = self.optimizer.ask().l2.len();
                let start = self.parameterization.start().repeat(members);
                let start = Candidates { z: start, l2: vec![0.0; members] };
                let values = persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| {
                    self.criterion(evaluator, &start)
                })?;
                self.judge(&start, &values);
            }
            let proposal = self.optimizer.ask();
            let batch = self.batch(self.progress.steps, batches);
            let (answer, step) =
                persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| match self
                    .step_ahead(evaluator, &proposal, &mut ahead)?
                {
                    Some(step) => Ok((step.evaluations(), Some(step))),
                    None => Ok((self.evaluate(evaluator, &proposal, batch.clone())?, None)),
                })?;
            pairs += (answer.positions * proposal.l2.len()) as u64;
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
                    let values = persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| {
                        self.criterion(evaluator, &candidates)
                    })?;
                    self.judge(&candidates, &values);
                    held_out = values.into_iter().min_by(f64::total_cmp);
                } else if batches == 1 {
                    self.judge(&candidates, &losses);
                }
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
                    details: self.optimizer.details(),
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
        // Where the last step led has not been judged yet; one run stands where it was judged.
        if reason != StopReason::Interrupted && !self.optimizer.members_are_trials() {
            let Proposal { parameters, l2, .. } = self.optimizer.ask();
            let last = Candidates { z: parameters, l2 };
            let values = persist(&mut evaluator, &mut replacement, observe, &mut |evaluator| {
                self.criterion(evaluator, &last)
            })?;
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

    /// The next of the steps that the evaluator takes on its own, if it does.
    fn step_ahead(
        &self,
        evaluator: &mut dyn Evaluator,
        proposal: &Proposal,
        ahead: &mut Ahead,
    ) -> Result<Option<AdamStep>> {
        let population = Population::new(
            self.config.start.len() / 2,
            proposal.parameters.clone(),
            vec![self.config.k; proposal.l2.len()],
        );
        let request = Request { parts: 0..1, loss: self.config.loss, gradients: true, curvature: false };
        let left = self.config.stopping.epochs.saturating_sub(self.progress.epochs);
        let problem = (population, request, &self.config.start[..]);
        ahead.next(evaluator, &*self.optimizer, proposal, problem, left)
    }

    /// Losses and derivatives with respect to z, regularisation included.
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
        self.members(evaluator, &proposal.parameters, &proposal.l2, &request)
    }

    /// What candidates are judged by: held-out losses, or training losses with regularisation.
    fn criterion(&self, evaluator: &mut dyn Evaluator, candidates: &Candidates) -> Result<Vec<f64>> {
        let none = vec![0.0; candidates.l2.len()];
        let (parts, l2) = match self.split.held_out_part() {
            Some(part) => (part..part + 1, &none),
            None => (0..self.split.batches(), &candidates.l2),
        };
        let request = Request { parts, loss: self.config.loss, gradients: false, curvature: false };
        Ok(self.members(evaluator, &candidates.z, l2, &request)?.losses)
    }

    /// Evaluates vectors z with weights of their regularisation; in portions, so that θ of many
    /// members, which takes far more memory than z, is never there all at once.
    fn members(
        &self,
        evaluator: &mut dyn Evaluator,
        z: &[f64],
        l2: &[f64],
        request: &Request,
    ) -> Result<Evaluations> {
        let (basis, prior) = (&self.parameterization, &self.config.start);
        let portion = (PORTION_NUMBERS / prior.len()).max(1);
        let mut all = Evaluations::default();
        for (z, l2) in z.chunks(portion * basis.dimension()).zip(l2.chunks(portion)) {
            let population = Population::new(prior.len() / 2, basis.theta(z), vec![self.config.k; l2.len()]);
            let mut evaluations = evaluator.evaluate(&population, request)?;
            regularize(&mut evaluations, &population.parameters, prior, l2);
            if !basis.is_identity() {
                evaluations.gradients = basis.pull_gradients(&evaluations.gradients);
                evaluations.curvatures = basis.pull_matrices(&evaluations.curvatures);
            }
            all.append(evaluations);
        }
        Ok(all)
    }

    /// Remembers the best of what was judged.
    fn judge(&mut self, candidates: &Candidates, values: &[f64]) {
        let size = self.parameterization.dimension();
        let progress = &mut self.progress;
        progress.member_best.resize(values.len(), f64::MAX);
        for (member, &value) in values.iter().enumerate() {
            // Comparisons with NaN are false: a broken member is never the best.
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
