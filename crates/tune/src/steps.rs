use std::collections::VecDeque;
use std::time::Instant;

use super::REGULARIZATION_SCALE_CP;
use super::regularization::Weights;
use super::training::Problem;
use gputexel_eval::{AdamMember, AdamStart, AdamStep, Evaluations, Evaluator, Population, Request};
use gputexel_io::{Error, Result};
use gputexel_optim::{Optimizer, OptimizerState, Proposal};

const MOST: u64 = 32;

/// Seconds that the requested steps should take: far longer than a round trip, and hardly noticed when a run ends.
const WANTED: f64 = 0.05;

pub(super) trait Trained {
    fn problem(&self) -> &Problem;

    /// Creates the population of all members at θ, and the request of a step that a device takes on its own.
    fn ahead(&self, theta: Vec<f64>) -> (Population, Request);

    fn evaluate(&self, evaluator: &mut dyn Evaluator, proposal: &Proposal, step: u64) -> Result<Evaluations>;
}

pub(super) struct Answer {
    pub evaluations: Evaluations,
    /// `None` if a device took the step and keeps the parameters.
    pub proposal: Option<Proposal>,
    ahead: Option<AdamStep>,
}

pub(super) struct Steps {
    pub optimizer: Box<dyn Optimizer>,
    pub told: u64,
    /// True if steps may go on when the losses of all members are no longer finite.
    lenient: bool,
    ahead: Ahead,
    /// The member whose parameters after this many steps are to be [found](Self::take_found).
    wanted: Option<(usize, u64)>,
    found: Option<Vec<f64>>,
}

/// Steps that were taken but not yet reported to the optimizer, and the state that the device has taken over from it.
#[derive(Debug, Default)]
struct Ahead {
    steps: VecDeque<AdamStep>,
    taken: usize,
    /// Seconds per step.
    seconds: f64,
    /// True if the evaluator refused to take any, or lost its state.
    declined: bool,
    /// The optimizer when its parameters were last known; `None` if it has them.
    known: Option<OptimizerState>,
    reported: u64,
}

impl Steps {
    /// Begins the steps of an optimizer, of which a device may take some if `ahead`.
    pub fn new(optimizer: Box<dyn Optimizer>, ahead: bool, lenient: bool) -> Self {
        let ahead = Ahead { declined: !ahead, ..Ahead::default() };
        Self { optimizer, told: 0, lenient, ahead, wanted: None, found: None }
    }

    /// Returns the seconds of work on steps that the loop has not processed yet.
    pub fn seconds_ahead(&self) -> f64 {
        self.ahead.seconds * self.ahead.steps.len() as f64
    }

    pub fn evaluate(
        &mut self,
        evaluator: &mut dyn Evaluator,
        trained: &dyn Trained,
        left: u64,
    ) -> Result<Answer> {
        if let Some(step) = self.next_ahead(evaluator, trained, left)? {
            return Ok(Answer { evaluations: step.evaluations(), proposal: None, ahead: Some(step) });
        }
        let proposal = self.optimizer.ask();
        let evaluations = trained.evaluate(evaluator, &proposal, self.told)?;
        Ok(Answer { evaluations, proposal: Some(proposal), ahead: None })
    }

    pub fn tell(&mut self, answer: &Answer) -> Result<()> {
        self.told += 1;
        let told = match &answer.ahead {
            Some(step) => self.optimizer.tell_step(step),
            None => self.optimizer.tell(&answer.evaluations),
        };
        self.unless_lenient(told)
    }

    fn unless_lenient(&self, told: Result<()>) -> Result<()> {
        match told {
            Err(Error::Numeric(_)) if self.lenient => Ok(()),
            told => told,
        }
    }

    /// Returns the next of the steps that the evaluator takes on its own, if it does.
    fn next_ahead(
        &mut self,
        evaluator: &mut dyn Evaluator,
        trained: &dyn Trained,
        left: u64,
    ) -> Result<Option<AdamStep>> {
        let ahead = &mut self.ahead;
        if ahead.steps.is_empty() {
            if ahead.declined {
                return Ok(None);
            }
            if ahead.known.is_none() {
                let start = start(&*self.optimizer, trained);
                if !start.map_or(Ok(false), |start| evaluator.begin_adam(&start))? {
                    ahead.declined = true;
                    return Ok(None);
                }
                ahead.known = Some(self.optimizer.save());
            }
            let quick = if ahead.seconds > 0.0 { (WANTED / ahead.seconds) as u64 } else { 1 };
            let count = quick.clamp(1, MOST).min(left.max(1));
            let begun = Instant::now();
            let rates = self.optimizer.rates_ahead(count as usize);
            let steps = evaluator.adam_steps(&rates)?.unwrap_or_default();
            ahead.seconds = begun.elapsed().as_secs_f64() / steps.len().max(1) as f64;
            ahead.taken = steps.len();
            ahead.steps.extend(steps);
        }
        match ahead.steps.pop_front() {
            Some(step) => {
                ahead.reported += 1;
                Ok(Some(step))
            }
            None => self.repeat(evaluator, trained).map(|()| None),
        }
    }

    /// Fetches the state after the steps reported so far for the optimizer; steps beyond are taken again.
    pub fn settle(&mut self, evaluator: &mut dyn Evaluator, trained: &dyn Trained) -> Result<()> {
        let ahead = &mut self.ahead;
        if ahead.reported == 0 {
            return Ok(());
        }
        let Some(mut state) = evaluator.adam_state(ahead.taken - ahead.steps.len())? else {
            return self.repeat(evaluator, trained);
        };
        let best = std::mem::take(&mut state.best_parameters);
        self.optimizer.tell_state(state);
        ahead.known = Some(self.optimizer.save());
        ahead.reported = 0;
        ahead.taken -= ahead.steps.len();
        ahead.steps.clear();
        if let Some((member, _)) = self.wanted.take() {
            self.found = Some(own(&best, member, trained));
        }
        Ok(())
    }

    /// Repeats the steps since the last known state, whose parameters a device has lost.
    fn repeat(&mut self, evaluator: &mut dyn Evaluator, trained: &dyn Trained) -> Result<()> {
        let lost = std::mem::replace(&mut self.ahead, Ahead { declined: true, ..Ahead::default() });
        lost.known.map_or(Ok(()), |known| self.optimizer.restore(known))?;
        for step in self.told - lost.reported..self.told {
            let proposal = self.optimizer.ask();
            if let Some((member, _)) = self.wanted.take_if(|(_, after)| *after == step + 1) {
                self.found = Some(own(&proposal.parameters, member, trained));
            }
            let answer = trained.evaluate(evaluator, &proposal, step)?;
            let told = self.optimizer.tell(&answer);
            self.unless_lenient(told)?;
        }
        Ok(())
    }

    /// Wants the parameters that the last step evaluated for a member, which a device has.
    pub fn want(&mut self, member: usize) {
        self.wanted = Some((member, self.told));
    }

    /// Returns the parameters that were [wanted](Self::want) if they have been fetched.
    pub fn take_found(&mut self) -> Option<Vec<f64>> {
        self.found.take()
    }
}

fn own(all: &[f64], member: usize, trained: &dyn Trained) -> Vec<f64> {
    let size = trained.problem().regularization.prior().len();
    all[member * size..][..size].to_vec()
}

fn start(optimizer: &dyn Optimizer, trained: &dyn Trained) -> Option<AdamStart> {
    let state = optimizer.steps_ahead()?;
    let problem = trained.problem();
    let pull = |l2: f64| 2.0 * l2 / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP);
    let member = |([beta1, beta2, epsilon], weights): ([f64; 3], &Weights)| AdamMember {
        beta1,
        beta2,
        epsilon,
        pull: pull(weights.l2),
    };
    let (population, request) = trained.ahead(state.parameters);
    Some(AdamStart {
        population,
        request,
        prior: problem.regularization.prior().to_vec(),
        settings: state.settings.into_iter().zip(problem.weights.iter().cycle()).map(member).collect(),
        first_moment: state.first_moment,
        second_moment: state.second_moment,
    })
}
