//! Steps that an evaluator takes on its own, ahead of the loop, which processes them one by one later. Parameters stay
//! on the device until they are needed.

use std::collections::VecDeque;
use std::time::Instant;

use super::REGULARIZATION_SCALE_CP;
use super::regularization::Weights;
use super::training::Problem;
use gputexel_eval::{AdamMember, AdamStart, AdamStep, Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_optim::{Optimizer, OptimizerState};

const MOST: u64 = 32;

/// Seconds that the requested steps should take: far longer than a round trip, and hardly noticed when a run ends.
const WANTED: f64 = 0.05;

/// Steps that were taken but not yet reported to the optimizer, and the state that the device has taken over from it.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    steps: VecDeque<AdamStep>,
    /// Number of steps of the last request.
    taken: usize,
    /// Seconds per step.
    seconds: f64,
    /// True if the evaluator refused to take any, or lost its state.
    declined: bool,
    /// The optimizer when its parameters were last known; `None` if it has them.
    known: Option<OptimizerState>,
    reported: u64,
}

pub(super) enum Next {
    /// The device took it.
    Step(AdamStep),
    /// It has to be evaluated in the usual way.
    Host,
    /// So has it, after those that [`Ahead::recover`] returns.
    Lost,
}

/// Where the parameters are after the steps reported so far.
pub(super) enum Settled {
    /// The optimizer had them.
    Known,
    /// It has them now; here are those with each member's lowest loss.
    Best(Vec<f64>),
    /// The device has lost them, see [`Ahead::recover`].
    Lost,
}

impl Ahead {
    /// Creates a queue that takes no steps ahead: for runs in which every step is observed from outside.
    pub(super) fn none() -> Self {
        Self { declined: true, ..Self::default() }
    }

    /// Returns the seconds of work on steps that the loop has not processed yet.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds * self.steps.len() as f64
    }

    /// Returns the next step, whose losses include regularization. `population` creates the population of some θ,
    /// `left` is the number of steps until the end of the run.
    pub(super) fn next(
        &mut self,
        evaluator: &mut dyn Evaluator,
        optimizer: &dyn Optimizer,
        (population, request, problem): (&dyn Fn(Vec<f64>) -> Population, Request, &Problem),
        left: u64,
    ) -> Result<Next> {
        if self.steps.is_empty() {
            if self.declined {
                return Ok(Next::Host);
            }
            if self.known.is_none() {
                let start = start(optimizer, population, request, problem);
                if !start.map_or(Ok(false), |start| evaluator.begin_adam(&start))? {
                    self.declined = true;
                    return Ok(Next::Host);
                }
                self.known = Some(optimizer.save());
            }
            let quick = if self.seconds > 0.0 { (WANTED / self.seconds) as u64 } else { 1 };
            let count = quick.clamp(1, MOST).min(left.max(1));
            let start = Instant::now();
            let steps = evaluator.adam_steps(&optimizer.rates_ahead(count as usize))?.unwrap_or_default();
            self.seconds = start.elapsed().as_secs_f64() / steps.len().max(1) as f64;
            self.taken = steps.len();
            self.steps.extend(steps);
        }
        let Some(step) = self.steps.pop_front() else { return Ok(Next::Lost) };
        self.reported += 1;
        Ok(Next::Step(step))
    }

    /// Fetches the state after the steps reported so far for the optimizer; steps beyond are taken again.
    pub(super) fn settle(
        &mut self,
        evaluator: &mut dyn Evaluator,
        optimizer: &mut dyn Optimizer,
    ) -> Result<Settled> {
        if self.reported == 0 {
            return Ok(Settled::Known);
        }
        let Some(mut state) = evaluator.adam_state(self.taken - self.steps.len())? else {
            return Ok(Settled::Lost);
        };
        let best = std::mem::take(&mut state.best_parameters);
        optimizer.tell_state(state);
        self.known = Some(optimizer.save());
        self.reported = 0;
        self.taken -= self.steps.len();
        self.steps.clear();
        Ok(Settled::Best(best))
    }

    pub(super) fn recover(&mut self, optimizer: &mut dyn Optimizer) -> Result<u64> {
        let lost = std::mem::replace(self, Self::none());
        if let Some(known) = lost.known {
            optimizer.restore(known)?;
        }
        Ok(lost.reported)
    }
}

fn start(
    optimizer: &dyn Optimizer,
    population: &dyn Fn(Vec<f64>) -> Population,
    request: Request,
    problem: &Problem,
) -> Option<AdamStart> {
    let ahead = optimizer.steps_ahead()?;
    let pull = |l2: f64| 2.0 * l2 / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP);
    let member = |([beta1, beta2, epsilon], own): ([f64; 3], &Weights)| AdamMember {
        beta1,
        beta2,
        epsilon,
        pull: pull(own.l2),
    };
    Some(AdamStart {
        population: population(ahead.parameters),
        request,
        prior: problem.regularization.prior().to_vec(),
        settings: ahead.settings.into_iter().zip(problem.weights.iter().cycle()).map(member).collect(),
        first_moment: ahead.first_moment,
        second_moment: ahead.second_moment,
    })
}
