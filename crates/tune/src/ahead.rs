//! Steps that an evaluator takes on its own, ahead of the loop, which processes them one by one later.

use std::collections::VecDeque;
use std::time::Instant;

use super::{REGULARIZATION_SCALE_CP, Regularization};
use gputexel_eval::{AdamBatch, AdamMember, AdamStep, Evaluations, Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_optim::{Optimizer, Proposal};

/// Maximum number of steps to request at a time.
const MOST: u64 = 32;

/// Steps that were taken but not yet reported to the optimizer.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    steps: VecDeque<AdamStep>,
    /// Seconds per step.
    seconds: f64,
    /// True if the evaluator refused to take any.
    declined: bool,
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

    /// Returns the next step, its losses including regularization, or `None` if it has to be evaluated in the usual
    /// way. `left` is the number of steps until the end of the run.
    pub(super) fn next(
        &mut self,
        evaluator: &mut dyn Evaluator,
        optimizer: &dyn Optimizer,
        proposal: &Proposal,
        (population, request, regularization): (&dyn Fn() -> Population, Request, &Regularization),
        left: u64,
    ) -> Result<Option<AdamStep>> {
        if self.steps.is_empty() && !self.declined {
            let Some(steps) = optimizer.steps_ahead(left.clamp(1, MOST) as usize) else {
                self.declined = true;
                return Ok(None);
            };
            let pull = |l2: f64| 2.0 * l2 / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP);
            let member = |([beta1, beta2, epsilon], &l2): ([f64; 3], &f64)| AdamMember {
                beta1,
                beta2,
                epsilon,
                pull: pull(l2),
            };
            let batch = AdamBatch {
                population: population(),
                request,
                prior: regularization.prior().to_vec(),
                settings: steps.settings.into_iter().zip(&proposal.l2).map(member).collect(),
                first_moment: steps.first_moment,
                second_moment: steps.second_moment,
                rates: steps.rates,
            };
            let start = Instant::now();
            match evaluator.adam_steps(&batch)? {
                Some(steps) => {
                    self.seconds = start.elapsed().as_secs_f64() / steps.len().max(1) as f64;
                    self.steps.extend(steps);
                }
                None => self.declined = true,
            }
        }
        let Some(mut step) = self.steps.pop_front() else { return Ok(None) };
        let mut evaluations = Evaluations { losses: step.losses, ..Evaluations::default() };
        regularization.add(&mut evaluations, &proposal.parameters, &proposal.l2);
        step.losses = evaluations.losses;
        Ok(Some(step))
    }
}
