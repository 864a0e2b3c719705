//! Trains a portion of the runs as one population, in lockstep.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use rayon::prelude::*;

use super::super::ahead::{Ahead, Next, Settled};
use super::super::regularization::Weights;
use super::super::training::{Problem, has_stalled, train};
use super::super::{Regularization, StopReason, space_of};
use super::config::{SweepConfig, SweepMethod};
use super::grid::Setting;
use super::plan::Plan;
use gputexel_dataset::objective::LossKind;
use gputexel_eval::{Evaluations, Evaluator, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{Adam, GaussNewton, GaussNewtonSettings, Optimizer, OptimizerState};

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub setting: Setting,
    /// The fold that is left out; `None` trains on everything.
    pub fold: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunResult {
    /// Held-out loss against game results, with the loss function by which all runs are judged.
    pub held_out: f64,
    /// Held-out loss with the run's own loss function and targets.
    pub own_held_out: f64,
    /// Training loss with the run's own loss function and targets, without regularization.
    pub training: f64,
    pub epochs: u64,
}

enum Method {
    Adam(Box<Adam>),
    GaussNewton { runs: Vec<GaussNewton>, state: Vec<NewtonState>, improvement: f64 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
struct NewtonState {
    epochs: u64,
    last_loss: Option<f64>,
    finished: bool,
}

pub(super) struct Portion<'a> {
    plan: &'a Plan,
    problem: Problem,
    members: Vec<Member>,
    /// Ranges of members with the same loss function; each takes one call of the evaluator.
    groups: Vec<(Range<usize>, LossKind)>,
    part_weights: Vec<f32>,
    epochs: u64,
    steps: u64,
    method: Method,
    ahead: Ahead,
}

/// Memory limit for the members of a portion, in bytes.
const PORTION_BYTES: usize = 512 << 20;

/// Maximum number of runs in a portion: enough to keep a device busy, and few enough that a sweep can be divided among
/// machines.
const PORTION_RUNS: usize = 128;

/// Returns the number of runs with this number of parameters that are trained together. It does not depend on the
/// machine, because the last digits of a run depend on the other runs in its portion.
pub(super) fn members_per_portion(method: SweepMethod, parameters: usize) -> usize {
    let each = match method {
        // θ, two moments, gradient, the copies that are evaluated, and the evaluator's sums.
        SweepMethod::Adam { .. } => 10 * 8 * parameters,
        // The matrix that an optimizer keeps, the answer it is copied from, and its factor.
        SweepMethod::GaussNewton { .. } => 3 * 8 * parameters * parameters,
    };
    (PORTION_BYTES / each.max(1)).clamp(1, PORTION_RUNS)
}

/// All runs of a portion may have diverged; others of the sweep may not.
fn ignore_divergence(told: Result<()>) -> Result<()> {
    match told {
        Err(Error::Numeric(_)) => Ok(()),
        told => told,
    }
}

impl<'a> Portion<'a> {
    /// Creates the runs in their initial state.
    pub fn try_new(config: &'a SweepConfig, plan: &'a Plan, members: Vec<Member>) -> Result<Self> {
        let mut groups: Vec<(Range<usize>, LossKind)> = Vec::new();
        let mut part_weights = Vec::with_capacity(members.len() * plan.parts());
        for (i, member) in members.iter().enumerate() {
            match groups.last_mut() {
                Some((range, loss)) if *loss == member.setting.loss => range.end = i + 1,
                _ => groups.push((i..i + 1, member.setting.loss)),
            }
            part_weights.extend(plan.training(member.fold, &member.setting.sources)?);
        }
        let parameterization = config.parameterization();
        let space = space_of(&parameterization);
        let method = match config.method {
            SweepMethod::Adam { schedule } => {
                let runs = members.iter().map(|member| member.setting.adam).collect();
                Method::Adam(Box::new(Adam::try_new(&space, runs, schedule, config.epochs, 1)?))
            }
            SweepMethod::GaussNewton { improvement } => Method::GaussNewton {
                runs: members
                    .iter()
                    .map(|_| GaussNewton::try_new(&space, GaussNewtonSettings::default()))
                    .collect::<Result<_>>()?,
                state: vec![NewtonState::default(); members.len()],
                improvement,
            },
        };
        let weights = |member: &Member| Weights { l2: member.setting.l2, strength: member.setting.strength };
        let problem = Problem {
            parameterization,
            regularization: Regularization::new(&config.start, 0.0, &config.penalties),
            weights: members.iter().map(weights).collect(),
        };
        // A device holds the state of one population, and knows no penalties and no other parameterization.
        let plain = matches!(method, Method::Adam(_))
            && groups.len() == 1
            && problem.parameterization.is_identity()
            && !problem.regularization.has_penalties();
        Ok(Self {
            plan,
            problem,
            members,
            groups,
            part_weights,
            epochs: config.epochs,
            steps: 0,
            method,
            ahead: if plain { Ahead::default() } else { Ahead::none() },
        })
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of epochs done, summed over the members; those of runs that have ended count in full.
    pub fn epochs_done(&self) -> u64 {
        match &self.method {
            Method::Adam(_) => self.steps * self.len() as u64,
            Method::GaussNewton { state, .. } => {
                state.iter().map(|s| if s.finished { self.epochs } else { s.epochs }).sum()
            }
        }
    }

    fn epochs_of(&self, member: usize) -> u64 {
        match &self.method {
            Method::Adam(_) => self.steps,
            Method::GaussNewton { state, .. } => state[member].epochs,
        }
    }

    /// Returns true if all runs have ended.
    pub fn finished(&self) -> bool {
        match &self.method {
            Method::Adam(_) => self.steps >= self.epochs,
            Method::GaussNewton { state, .. } => state.iter().all(|state| state.finished),
        }
    }

    /// Describes method and settings of a member on one line.
    pub fn describe(&self, member: usize) -> String {
        match &self.method {
            Method::Adam(adam) => adam.describe(member, self.members[member].setting.l2),
            Method::GaussNewton { runs, .. } => runs[member].describe(0, self.members[member].setting.l2),
        }
    }

    /// Returns the current z of all members.
    pub fn coordinates(&mut self) -> Vec<f64> {
        match &mut self.method {
            Method::Adam(adam) => adam.ask().parameters,
            Method::GaussNewton { runs, .. } => {
                runs.iter().flat_map(|run| Optimizer::best(run).parameters).collect()
            }
        }
    }

    /// Trains until all runs have ended, or until `cancel` is set.
    pub fn train(
        &mut self,
        evaluator: &mut dyn Evaluator,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(&mut Self, &mut dyn Evaluator) -> Result<()>,
    ) -> Result<StopReason> {
        let ended = |portion: &Self| portion.finished().then_some(StopReason::Epochs);
        let reason = train(ended(self), cancel, || {
            self.step(evaluator)?;
            observe(self, evaluator)?;
            Ok(ended(self))
        })?;
        self.settle(evaluator)?;
        Ok(reason)
    }

    fn step(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        if matches!(self.method, Method::Adam(_)) {
            self.adam_step(evaluator)?;
        } else {
            self.newton_step(evaluator)?;
        }
        self.steps += 1;
        Ok(())
    }

    fn adam_step(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        let mut ahead = std::mem::take(&mut self.ahead);
        let Method::Adam(adam) = &self.method else { unreachable!("asked by `step`") };
        let all: Vec<usize> = (0..self.members.len()).collect();
        let population = |theta: Vec<f64>| self.population(theta, &all, true);
        let loss = self.groups[0].1;
        let request = Request { parts: 0..self.plan.parts(), loss, gradients: true, curvature: false };
        let problem = (&population as &dyn Fn(_) -> _, request, &self.problem);
        let next = ahead.next(evaluator, &**adam, problem, self.epochs - self.steps);
        self.ahead = ahead;
        let told = match next? {
            Next::Step(step) => self.adam().tell_step(&step),
            Next::Host => return self.adam_step_on_host(evaluator),
            Next::Lost => {
                self.repeat(evaluator)?;
                return self.adam_step_on_host(evaluator);
            }
        };
        ignore_divergence(told)
    }

    fn adam(&mut self) -> &mut Adam {
        let Method::Adam(adam) = &mut self.method else { unreachable!("asked by `step`") };
        adam
    }

    fn adam_step_on_host(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        let proposal = self.adam().ask();
        let all: Vec<usize> = (0..self.members.len()).collect();
        let answer = self.evaluate(evaluator, &proposal.parameters, &all, false)?;
        ignore_divergence(self.adam().tell(&answer))
    }

    /// Fetches parameters that a device has.
    pub fn settle(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        let Method::Adam(adam) = &mut self.method else { return Ok(()) };
        match self.ahead.settle(evaluator, &mut **adam)? {
            Settled::Known | Settled::Best(_) => Ok(()),
            Settled::Lost => self.repeat(evaluator),
        }
    }

    fn repeat(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        let Method::Adam(adam) = &mut self.method else { unreachable!("asked by `step`") };
        let lost = self.ahead.recover(&mut **adam)?;
        (0..lost).try_for_each(|_| self.adam_step_on_host(evaluator))
    }

    /// Evaluates matrices of all runs that need one, then losses and gradients at all trial points: in this order, few
    /// matrices remain that a stored state must contain.
    fn newton_step(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        for matrices in [true, false] {
            let Method::GaussNewton { runs, state, .. } = &mut self.method else { unreachable!("as above") };
            let mut which = Vec::new();
            let mut parameters = Vec::new();
            for (i, (run, state)) in runs.iter_mut().zip(&*state).enumerate() {
                let proposal = run.ask();
                if !state.finished && proposal.curvature == matrices {
                    which.push(i);
                    parameters.extend(proposal.parameters);
                }
            }
            if which.is_empty() {
                continue;
            }
            let answer = self.evaluate(evaluator, &parameters, &which, matrices)?;
            self.tell_newton(&which, &answer)?;
        }
        Ok(())
    }

    fn tell_newton(&mut self, which: &[usize], answer: &Evaluations) -> Result<()> {
        let size = self.problem.parameterization.dimension();
        let epochs = self.epochs;
        let Method::GaussNewton { runs, state, improvement } = &mut self.method else {
            unreachable!("asked by `newton_step`")
        };
        let improvement = *improvement;
        let mut place = vec![None; runs.len()];
        which.iter().enumerate().for_each(|(at, &i)| place[i] = Some(at));
        let cut = |values: &[f64], at: usize, each: usize| -> Vec<f64> {
            if values.is_empty() { Vec::new() } else { values[at * each..(at + 1) * each].to_vec() }
        };
        // Each run solves its own linear system.
        let told: Vec<Result<()>> = runs
            .par_iter_mut()
            .zip(state.par_iter_mut())
            .zip(place)
            .filter_map(|((run, state), at)| at.map(|at| (run, state, at)))
            .map(|(run, state, at)| {
                let own = Evaluations {
                    losses: vec![answer.losses[at]],
                    gradients: cut(&answer.gradients, at, size),
                    curvatures: cut(&answer.curvatures, at, size * size),
                    positions: answer.positions,
                    ..Evaluations::default()
                };
                if let Err(error) = run.tell(&own) {
                    // A run that cannot continue stays at its best point; the others continue.
                    state.finished = true;
                    return match error {
                        Error::Numeric(_) => Ok(()),
                        other => Err(other),
                    };
                }
                if run.epoch_done() {
                    state.epochs += 1;
                    let loss = Optimizer::best(run).loss;
                    let stalls = state.last_loss.is_some_and(|before| has_stalled(before, loss, improvement));
                    state.last_loss = Some(loss);
                    state.finished = stalls || state.epochs >= epochs;
                }
                state.finished |= run.converged();
                Ok(())
            })
            .collect();
        told.into_iter().collect()
    }

    fn evaluate(
        &self,
        evaluator: &mut dyn Evaluator,
        z: &[f64],
        which: &[usize],
        matrices: bool,
    ) -> Result<Evaluations> {
        let weights: Vec<Weights> = which.iter().map(|&i| self.problem.weights[i]).collect();
        let request =
            |loss| Request { parts: 0..self.plan.parts(), loss, gradients: !matrices, curvature: matrices };
        let groups = self.kinds(which).into_iter().map(|(members, loss)| (members, request(loss)));
        let population = |theta, members: Range<usize>| self.population(theta, &which[members], true);
        self.problem.evaluate(evaluator, z, groups, population, &weights)
    }

    /// Returns ranges of `which` (ascending) with the same loss function.
    fn kinds(&self, which: &[usize]) -> Vec<(Range<usize>, LossKind)> {
        let cut = |(range, loss): &(Range<usize>, LossKind)| {
            let place = |member: usize| which.partition_point(|&i| i < member);
            (place(range.start)..place(range.end), *loss)
        };
        self.groups.iter().map(cut).filter(|(range, _)| !range.is_empty()).collect()
    }

    /// Creates a population of the members `which` with these θ; with `own`, targets are blended as configured,
    /// otherwise they are game results.
    fn population(&self, parameters: Vec<f64>, which: &[usize], own: bool) -> Population {
        let parts = self.plan.parts();
        let blends: Vec<f32> = which.iter().map(|&i| self.members[i].setting.blend).collect();
        Population {
            features: self.problem.parameterization.parameters() / 2,
            parameters,
            k: which.iter().map(|&i| self.members[i].setting.k).collect(),
            part_weights: which
                .iter()
                .flat_map(|&i| &self.part_weights[i * parts..(i + 1) * parts])
                .copied()
                .collect(),
            blends: if own && blends.iter().any(|&blend| blend > 0.0) { blends } else { Vec::new() },
            resamples: Vec::new(),
        }
    }

    /// Judges all members at their current points.
    pub fn judge(&mut self, evaluator: &mut dyn Evaluator, judge: LossKind) -> Result<Vec<RunResult>> {
        let (size, parts) = (self.problem.parameterization.parameters(), self.plan.parts());
        let z = self.coordinates();
        let parameters = self.problem.parameterization.theta(&z);
        let mut results = Vec::with_capacity(self.len());
        for (members, loss) in &self.groups {
            let which: Vec<usize> = members.clone().collect();
            let theta = parameters[members.start * size..members.end * size].to_vec();
            let population = self.population(theta, &which, true);
            let request = Request { parts: 0..parts, loss: *loss, gradients: false, curvature: false };
            let own = evaluator.evaluate(&population, &request)?;
            let judged = match *loss == judge && population.blends.is_empty() {
                true => own.part_losses.clone(),
                false => {
                    let population = Population { blends: Vec::new(), ..population };
                    evaluator.evaluate(&population, &Request { loss: judge, ..request })?.part_losses
                }
            };
            for (at, &i) in which.iter().enumerate() {
                let held_out = |losses: &[f64]| match self.members[i].fold {
                    Some(fold) => self.plan.held_out(fold, &losses[at * parts..(at + 1) * parts]),
                    None => f64::NAN,
                };
                results.push(RunResult {
                    held_out: held_out(&judged),
                    own_held_out: held_out(&own.part_losses),
                    training: own.losses[at],
                    epochs: self.epochs_of(i),
                });
            }
        }
        Ok(results)
    }

    /// Returns the complete state: runs restored from it continue bit-identically.
    pub fn save(&self) -> OptimizerState {
        match &self.method {
            Method::Adam(adam) => {
                let mut state = adam.save();
                state.scalars = serde_json::json!({ "steps": self.steps, "adam": state.scalars });
                state
            }
            Method::GaussNewton { runs, state, .. } => {
                let mut all = OptimizerState::default();
                let mut scalars = Vec::new();
                for (i, run) in runs.iter().enumerate() {
                    let saved = run.save();
                    // A matrix that is about to be replaced, or never used again, is not stored.
                    let useless = state[i].finished || run.needs_curvature();
                    scalars.push(saved.scalars);
                    for (name, vector) in saved.vectors {
                        let vector = if useless && name == "matrix" { Vec::new() } else { vector };
                        all.vectors.insert(format!("{name}.{i}"), vector);
                    }
                }
                all.scalars = serde_json::json!({ "steps": self.steps, "runs": scalars, "state": state });
                all
            }
        }
    }

    /// Restores a state saved by [`save`](Self::save) with the same members.
    pub fn restore(&mut self, saved: OptimizerState) -> Result<()> {
        let broken = || Error::Usage("the saved state belongs to another sweep, or is damaged".to_string());
        let field = |name: &str| saved.scalars.get(name).cloned().unwrap_or_default();
        self.steps = field("steps").as_u64().ok_or_else(broken)?;
        match &mut self.method {
            Method::Adam(adam) => {
                adam.restore(OptimizerState { scalars: field("adam"), vectors: saved.vectors })?;
            }
            Method::GaussNewton { runs, state, .. } => {
                let scalars: Vec<serde_json::Value> =
                    serde_json::from_value(field("runs")).map_err(|_| broken())?;
                let states: Vec<NewtonState> =
                    serde_json::from_value(field("state")).map_err(|_| broken())?;
                if scalars.len() != runs.len() || states.len() != runs.len() {
                    return Err(broken());
                }
                let mut vectors = saved.vectors;
                for (i, (run, scalars)) in runs.iter_mut().zip(scalars).enumerate() {
                    let mut own = OptimizerState { scalars, ..OptimizerState::default() };
                    for name in ["point", "trial", "gradient", "matrix"] {
                        if let Some(vector) = vectors.remove(&format!("{name}.{i}")) {
                            own.vectors.insert(name.to_string(), vector);
                        }
                    }
                    run.restore(own)?;
                }
                *state = states;
            }
        }
        Ok(())
    }
}
