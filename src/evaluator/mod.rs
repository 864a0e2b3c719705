//! Evaluators: losses and gradients of a whole population of parameter sets in one call.
//!
//! Owns the trait, its requests and answers, and the backends. Knows no optimizer, and adds no
//! regularisation: that needs no position and is added by [`crate::tuning`].

pub mod cpu;
pub mod gpu;
mod hybrid;

pub use hybrid::WithCurvatureFrom;

use std::ops::Range;

use crate::error::Result;
use crate::objective::LossKind;

/// Parameter sets to be evaluated together.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Number of features F.
    pub features: usize,
    /// θ of every member, member after member: mg of every feature, then eg (2 F values each).
    pub parameters: Vec<f64>,
    /// Scale constant of every member, base-10 form; its length is the number of members.
    pub k: Vec<f64>,
}

impl Population {
    /// One parameter set.
    pub fn single(theta: &[f64], k: f64) -> Self {
        Self { features: theta.len() / 2, parameters: theta.to_vec(), k: vec![k] }
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.k.len()
    }

    /// θ of one member.
    pub fn member(&self, member: usize) -> &[f64] {
        &self.parameters[member * 2 * self.features..][..2 * self.features]
    }
}

/// What is asked about a population.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Consecutive parts of the layout whose positions count.
    pub parts: Range<usize>,
    /// Loss function.
    pub loss: LossKind,
    /// Whether gradients are wanted.
    pub gradients: bool,
    /// Whether Gauss–Newton matrices are wanted; one is 2 F × 2 F a member.
    pub curvature: bool,
}

/// What an evaluator found out about a population, in member order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    /// Mean weighted loss.
    pub losses: Vec<f64>,
    /// dL/dθ per centipawn, 2 F values a member; empty unless asked for.
    pub gradients: Vec<f64>,
    /// Gauss–Newton matrices Σ w h x xᵀ / Σ w per centipawn squared, symmetric, row-major,
    /// (2 F)² values a member; empty unless asked for.
    pub curvatures: Vec<f64>,
    /// Positions evaluated, a member.
    pub positions: usize,
}

/// Evaluates populations over a dataset that it was made for.
pub trait Evaluator {
    /// Losses, and whatever else the request asks for.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when a device fails; [`Error::Usage`](crate::Error::Usage)
    /// when the population does not fit the dataset or memory. Parameters that are not finite
    /// give losses that are not finite, not an error.
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations>;

    /// Scores of one member for every position of the layout, centipawns, White's view, as the
    /// backend computes them (f32). For tests and for [`Request`]-free uses such as fitting K.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn scores(&mut self, theta: &[f64]) -> Result<Vec<f32>>;

    /// What computes: backend, device, instruction set, threads. One short line for people.
    fn describe(&self) -> String;

    /// Whether [`Request::curvature`] is answered.
    fn has_curvature(&self) -> bool;
}
