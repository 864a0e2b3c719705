//! Trains a portion of the runs as one population, in lockstep.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use super::super::regularization::Weights;
use super::super::training::{Problem, train};
use super::super::{Regularization, StopReason, space_of};
use super::config::{SweepConfig, SweepMethod};
use super::grid::Setting;
use super::plan::Plan;
use gputexel_dataset::objective::LossKind;
use gputexel_eval::{Evaluations, Evaluator, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{Adam, GaussNewtonRuns, Optimizer, OptimizerState, Proposal};

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
    pub own_held_out: f64,
    /// Training loss with the run's own loss function and targets, without regularization.
    pub training: f64,
    pub epochs: u64,
}

pub(super) struct Portion<'a> {
    members: Members<'a>,
    optimizer: Box<dyn Optimizer>,
    steps: u64,
    epochs: u64,
}

struct Members<'a> {
    plan: &'a Plan,
    problem: Problem,
    list: Vec<Member>,
    /// Ranges of members with the same loss function; each takes one call of the evaluator.
    groups: Vec<(Range<usize>, LossKind)>,
    part_weights: Vec<f32>,
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

impl<'a> Portion<'a> {
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
        let optimizer: Box<dyn Optimizer> = match config.method {
            SweepMethod::Adam { schedule } => {
                let runs = members.iter().map(|member| member.setting.adam).collect();
                Box::new(Adam::try_new(&space, runs, schedule, config.epochs, 1)?)
            }
            SweepMethod::GaussNewton { improvement } => {
                Box::new(GaussNewtonRuns::try_new(&space, members.len(), config.epochs, improvement)?)
            }
        };
        let weights = |member: &Member| Weights { l2: member.setting.l2, strength: member.setting.strength };
        let problem = Problem {
            parameterization,
            regularization: Regularization::new(&config.start, 0.0, &config.penalties),
            weights: members.iter().map(weights).collect(),
        };
        let members = Members { plan, problem, list: members, groups, part_weights };
        Ok(Self { members, optimizer, steps: 0, epochs: config.epochs })
    }

    pub fn len(&self) -> usize {
        self.members.list.len()
    }

    /// Returns the number of epochs done, summed over the members; those of runs that have ended count in full.
    pub fn epochs_done(&self) -> u64 {
        let done = |member: usize| match self.optimizer.progress(member) {
            Some(progress) if progress.finished => self.epochs,
            _ => self.epochs_of(member),
        };
        (0..self.len()).map(done).sum()
    }

    fn epochs_of(&self, member: usize) -> u64 {
        self.optimizer.progress(member).map_or(self.steps, |progress| progress.epochs)
    }

    pub fn finished(&self) -> bool {
        match self.optimizer.progress(0) {
            Some(_) => self.optimizer.converged(),
            None => self.steps >= self.epochs,
        }
    }

    pub fn describe(&self, member: usize) -> String {
        self.optimizer.describe(member, self.members.list[member].setting.l2)
    }

    pub fn coordinates(&mut self) -> Vec<f64> {
        self.optimizer.points()
    }

    pub fn train(
        &mut self,
        evaluator: &mut dyn Evaluator,
        cancel: &AtomicBool,
        observe: &mut dyn FnMut(&Self, &mut dyn Evaluator) -> Result<()>,
    ) -> Result<StopReason> {
        let ended = |portion: &Self| portion.finished().then_some(StopReason::Epochs);
        train(ended(self), cancel, || {
            self.step(evaluator)?;
            observe(self, evaluator)?;
            Ok(ended(self))
        })
    }

    /// Takes one step of every run that has not ended.
    fn step(&mut self, evaluator: &mut dyn Evaluator) -> Result<()> {
        loop {
            let answer = self.members.evaluate(evaluator, self.optimizer.ask())?;
            self.steps += 1;
            match self.optimizer.tell(&answer) {
                // All runs of a portion may diverge; others of the sweep may not.
                Err(Error::Numeric(_)) => {}
                told => told?,
            }
            if self.optimizer.epoch_done() || self.optimizer.converged() {
                return Ok(());
            }
        }
    }

    pub fn judge(&mut self, evaluator: &mut dyn Evaluator, judge: LossKind) -> Result<Vec<RunResult>> {
        let (size, parts) = (self.members.problem.parameterization.parameters(), self.members.plan.parts());
        let z = self.coordinates();
        let parameters = self.members.problem.parameterization.theta(&z);
        let mut results = Vec::with_capacity(self.len());
        for (members, loss) in &self.members.groups {
            let which: Vec<usize> = members.clone().collect();
            let theta = parameters[members.start * size..members.end * size].to_vec();
            let population = self.members.population(theta, &which, true);
            let request = Request { parts: 0..parts, loss: *loss, gradients: false, curvature: false };
            let own = evaluator.evaluate(&population, &request)?;
            let judged = if *loss == judge && population.blends.is_empty() {
                own.part_losses.clone()
            } else {
                let population = Population { blends: Vec::new(), ..population };
                evaluator.evaluate(&population, &Request { loss: judge, ..request })?.part_losses
            };
            for (at, &i) in which.iter().enumerate() {
                let held_out = |losses: &[f64]| match self.members.list[i].fold {
                    Some(fold) => self.members.plan.held_out(fold, &losses[at * parts..(at + 1) * parts]),
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

    pub fn save(&self) -> OptimizerState {
        let mut state = self.optimizer.save();
        state.scalars = serde_json::json!({ "steps": self.steps, "optimizer": state.scalars });
        state
    }

    pub fn restore(&mut self, mut saved: OptimizerState) -> Result<()> {
        let broken = || Error::Usage("the saved state belongs to another sweep, or is damaged".to_string());
        self.steps = saved.scalars["steps"].as_u64().ok_or_else(broken)?;
        saved.scalars = saved.scalars["optimizer"].take();
        self.optimizer.restore(saved)
    }
}

impl Members<'_> {
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
        let blends: Vec<f32> = which.iter().map(|&i| self.list[i].setting.blend).collect();
        Population {
            features: self.problem.parameterization.parameters() / 2,
            parameters,
            k: which.iter().map(|&i| self.list[i].setting.k).collect(),
            part_weights: which
                .iter()
                .flat_map(|&i| &self.part_weights[i * parts..(i + 1) * parts])
                .copied()
                .collect(),
            blends: if own && blends.iter().any(|&blend| blend > 0.0) { blends } else { Vec::new() },
            resamples: Vec::new(),
        }
    }

    fn evaluate(&self, evaluator: &mut dyn Evaluator, proposal: Proposal) -> Result<Evaluations> {
        let Proposal { parameters, members: which, gradients, curvature } = proposal;
        let weights: Vec<Weights> = which.iter().map(|&i| self.problem.weights[i]).collect();
        let parts = 0..self.plan.parts();
        let request = |loss| Request { parts: parts.clone(), loss, gradients, curvature };
        let groups = self.kinds(&which).into_iter().map(|(members, loss)| (members, request(loss)));
        let population = |theta, members: Range<usize>| self.population(theta, &which[members], true);
        self.problem.evaluate(evaluator, parameters.into(), groups, population, &weights)
    }
}
