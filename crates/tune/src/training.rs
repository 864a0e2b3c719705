//! The parts that tuning, sweeps and the bootstrap share: the loop that takes steps, and the evaluation of the function
//! that it minimizes.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::regularization::Weights;
use super::{Regularization, StopReason};
use gputexel_eval::{Evaluations, Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_model::Parameterization;

pub(super) fn train(
    mut ended: Option<StopReason>,
    cancel: &AtomicBool,
    mut step: impl FnMut() -> Result<Option<StopReason>>,
) -> Result<StopReason> {
    loop {
        match ended {
            Some(reason) => return Ok(reason),
            None if cancel.load(Ordering::Relaxed) => return Ok(StopReason::Interrupted),
            None => ended = step()?,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub parameterization: Parameterization,
    pub regularization: Regularization,
    pub weights: Vec<Weights>,
}

impl Problem {
    pub fn weights(&self, members: usize) -> Vec<Weights> {
        self.weights.iter().copied().cycle().take(members).collect()
    }

    /// Computes losses and derivatives of members at z (concatenated), with regularization unless `weights` is empty.
    /// `groups` are ranges of all members, ascending, each evaluated in one call as the population that `population`
    /// creates of its θ.
    pub fn evaluate(
        &self,
        evaluator: &mut dyn Evaluator,
        mut z: Cow<'_, [f64]>,
        groups: impl IntoIterator<Item = (Range<usize>, Request)>,
        population: impl Fn(Vec<f64>, Range<usize>) -> Population,
        weights: &[Weights],
    ) -> Result<Evaluations> {
        let (basis, size) = (&self.parameterization, self.parameterization.dimension());
        let mut all = Evaluations::default();
        for (members, request) in groups {
            let theta = match basis.is_identity() && members.len() * size == z.len() {
                true => std::mem::take(&mut z).into_owned(),
                false => basis.theta(&z[members.start * size..members.end * size]),
            };
            let population = population(theta, members.clone());
            let mut answer = evaluator.evaluate(&population, &request)?;
            if !weights.is_empty() {
                self.regularization.add_weighted(&mut answer, &population.parameters, &weights[members]);
            }
            if !basis.is_identity() {
                answer.gradients = basis.pull_gradients(&answer.gradients);
                answer.curvatures = basis.pull_matrices(answer.curvatures);
            }
            all.append(answer);
        }
        Ok(all)
    }
}
