//! Evaluators: losses and gradients of a whole population of parameter vectors in one call.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod backend;
pub mod cpu;
pub mod device;
pub mod divided;
pub mod exact;
mod fallback;
pub mod gpu;
pub mod reference;
pub mod sums;
pub mod vetting;

pub use crate::device::Stats;
pub use backend::Backend;
pub use fallback::{Fallback, FallbackEvaluator, StatsObserver};
pub use gputexel_optim::Evaluations;

use std::ops::Range;

use gputexel_dataset::Layout;
use gputexel_dataset::objective::LossKind;
use gputexel_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// Parameter vectors to be evaluated together, and the weight of positions for each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Population {
    pub features: usize,
    /// θ of every member, concatenated: mg of every feature, then eg (2 F values each). Or 2 F values in total, shared
    /// by all members.
    pub parameters: Vec<f64>,
    /// Scale constant of every member, base-10 form; its length is the number of members.
    pub k: Vec<f64>,
    /// Nonnegative factors on the weights of positions, by member and part of the layout (member-major): 0 leaves a
    /// fold out.
    pub part_weights: Vec<f32>,
    /// Weight β of the search score in a member's targets, see [`Layout::search`]; empty: 0.
    pub blends: Vec<f32>,
    /// Seeds of bootstraps: each game counts as often as a Poisson variable says for a member; empty: once.
    pub resamples: Vec<u32>,
}

impl Population {
    /// Creates parameter vectors that all use every position once.
    pub fn new(features: usize, parameters: Vec<f64>, k: Vec<f64>) -> Self {
        Self { features, parameters, k, ..Self::default() }
    }

    pub fn single(theta: &[f64], k: f64) -> Self {
        Self::new(theta.len() / 2, theta.to_vec(), vec![k])
    }

    #[inline]
    pub fn members(&self) -> usize {
        self.k.len()
    }

    #[inline]
    pub fn is_shared(&self) -> bool {
        self.parameters.len() == 2 * self.features
    }

    #[inline]
    pub fn member(&self, member: usize) -> &[f64] {
        match self.is_shared() {
            true => &self.parameters,
            false => &self.parameters[member * 2 * self.features..][..2 * self.features],
        }
    }

    /// Returns a member's factor on the weights of a part of the layout, which has `parts` parts.
    #[inline]
    pub fn part_weight(&self, member: usize, part: usize, parts: usize) -> f32 {
        self.part_weights.get(member * parts + part).copied().unwrap_or(1.0)
    }

    pub fn validate(&self, layout: &Layout) -> Result<()> {
        let members = self.members();
        let usage = |text: String| Err(Error::Usage(text));
        if self.features != layout.features() {
            return usage(format!(
                "the population has {} features, the dataset {}",
                self.features,
                layout.features()
            ));
        }
        if !self.is_shared() && self.parameters.len() != 2 * self.features * members {
            return usage(format!(
                "a population of {} parameters for {members} members does not fit {} features",
                self.parameters.len(),
                self.features
            ));
        }
        let parts = layout.parts().len();
        let lists = [
            ("part weights", self.part_weights.len(), members * parts),
            ("blends", self.blends.len(), members),
            ("resamples", self.resamples.len(), members),
        ];
        for (what, length, expected) in lists {
            if length != 0 && length != expected {
                return usage(format!("{length} {what} for {members} members and {parts} parts"));
            }
        }
        if self.part_weights.iter().any(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return usage("part weights must be 0 or positive numbers".to_string());
        }
        if self.blends.iter().any(|blend| !(0.0..=1.0).contains(blend)) {
            return usage("blends must be from 0 to 1".to_string());
        }
        if self.blends.iter().any(|&blend| blend > 0.0) && layout.search().is_empty() {
            return usage("the dataset has no search scores to blend into the results".to_string());
        }
        Ok(())
    }
}

/// Computation to perform for a population.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Consecutive parts of the layout to evaluate.
    pub parts: Range<usize>,
    pub loss: LossKind,
    pub gradients: bool,
    /// True to compute Gauss–Newton matrices; each has 2 F × 2 F values per member.
    pub curvature: bool,
}

impl Request {
    pub fn validate(&self, layout: &Layout) -> Result<()> {
        let Range { start, end } = self.parts;
        let parts = layout.parts().len();
        match start < end && end <= parts {
            true => Ok(()),
            false => Err(Error::Usage(format!("parts {start}..{end} requested, the dataset has {parts}"))),
        }
    }

    /// Checks an answer for a population. The loss of a member whose gradient is not finite is set to NaN: an unknown
    /// slope must not be mistaken for 0.
    ///
    /// # Errors
    /// [`Error::Usage`] for an answer of a different size than requested.
    pub fn check(&self, population: &Population, answer: &mut Evaluations) -> Result<()> {
        let (members, size) = (population.members(), 2 * population.features);
        let asked = |asked: bool, length: usize| if asked { members * length } else { 0 };
        let lengths = [
            ("losses", answer.losses.len(), members),
            ("values of gradients", answer.gradients.len(), asked(self.gradients, size)),
            ("values of matrices", answer.curvatures.len(), asked(self.curvature, size * size)),
        ];
        for (what, length, expected) in lengths {
            // Unrequested results do no harm.
            if length != expected && expected > 0 {
                let reason = format!("the evaluator answers with {length} {what}; {expected} were asked for");
                return Err(Error::Usage(reason));
            }
        }
        if self.gradients {
            for (loss, gradient) in answer.losses.iter_mut().zip(answer.gradients.chunks_exact(size.max(1))) {
                if !gradient.iter().fold(true, |all, slope| all & slope.is_finite()) {
                    *loss = f64::NAN;
                }
            }
        }
        Ok(())
    }
}

/// Evaluates populations on the dataset it was created for.
pub trait Evaluator {
    /// Computes losses, and everything else that the request asks for.
    ///
    /// # Errors
    /// [`Error::Gpu`] when a device fails; [`Error::Usage`] when the population does not match the dataset or does not
    /// fit in memory. Non-finite parameters give non-finite losses, not an error.
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations>;

    /// Describes the backend, device, instruction set and threads on one short line for display.
    fn describe(&self) -> String;

    /// Returns the statistics so far, if they are kept.
    fn stats(&self) -> Option<Stats> {
        None
    }

    /// Returns the fallback to another evaluator since the last call of this function, for loops that report it, see
    /// [`FallbackEvaluator`].
    fn take_fallback(&mut self) -> Option<Fallback> {
        None
    }
}
