//! Optimizers: ask for parameter sets, tell what they are worth.
//!
//! Owns the trait, one file a method, and learning-rate schedules. Knows neither chess nor
//! devices: an optimizer sees vectors, losses and derivatives. The convention is that of CMA-ES
//! and nevergrad. `ask` may be repeated (after a device was lost) and gives the same proposal
//! until it was answered.

mod adam;
mod box_quadratic;
mod conjugate;
mod details;
mod gauss_newton;
mod local;
mod particle_swarm;
mod quasi_newton;
mod schedule;
mod space;

use std::collections::BTreeMap;

pub use adam::{Adam, AdamGrid, AdamSettings};
pub use details::{StepDetails, SwarmDetails};
pub use gauss_newton::{GaussNewton, GaussNewtonSettings};
pub use local::{Local, LocalSettings};
pub use particle_swarm::{ParticleSwarm, ParticleSwarmSettings, SwarmVariant};
pub use quasi_newton::{MemberStatus, QUASI_NEWTON_PAIRS, QuasiNewton, SharedModel};
pub use schedule::Schedule;
pub use space::Space;

use gputexel_evaluator::{AdamStep, Evaluations};
use gputexel_files::Result;

/// Parameter sets to be evaluated and what is to be known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The vectors, member after member.
    pub parameters: Vec<f64>,
    /// Weight λ of the regularization, a member; its length is the number of members.
    pub l2: Vec<f64>,
    /// Whether gradients are needed.
    pub gradients: bool,
    /// Whether Gauss–Newton matrices are needed.
    pub curvature: bool,
}

/// Steps of Adam as an optimizer sees them: those of
/// [`AdamBatch`](gputexel_evaluator::AdamBatch), without the data.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsAhead {
    /// First moments.
    pub first_moment: Vec<f64>,
    /// Second moments.
    pub second_moment: Vec<f64>,
    /// β₁, β₂ and ε of every member.
    pub settings: Vec<[f64; 3]>,
    /// (rate, correction of the second moment) of each step and member.
    pub rates: Vec<(f64, f64)>,
}

/// A state that can be stored and restored: small things as JSON, vectors as arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimizerState {
    /// Everything but the vectors.
    pub scalars: serde_json::Value,
    /// Vectors by name.
    pub vectors: BTreeMap<String, Vec<f64>>,
}

/// The best member that an optimizer knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Its index.
    pub member: usize,
    /// Its vector.
    pub parameters: Vec<f64>,
    /// Its loss when it was last evaluated, regularization included.
    pub loss: f64,
}

/// A method of optimization.
pub trait Optimizer {
    /// What to evaluate next.
    fn ask(&mut self) -> Proposal;

    /// The answer to the last [`ask`](Self::ask), with regularization added to losses, gradients
    /// and matrices.
    ///
    /// # Errors
    /// [`Error::Numeric`](gputexel_files::Error::Numeric) when the losses of all members are not finite or
    /// a linear system cannot be solved.
    fn tell(&mut self, evaluations: &Evaluations) -> Result<()>;

    /// Up to `count` steps that an evaluator can take on its own, from where the optimizer stands;
    /// `None` for methods and settings that need the host in between.
    fn steps_ahead(&self, count: usize) -> Option<StepsAhead> {
        let _ = count;
        None
    }

    /// The outcome of the first of [`steps_ahead`](Self::steps_ahead), with regularization added to
    /// its losses. Takes the place of [`tell`](Self::tell).
    ///
    /// # Errors
    /// As [`tell`](Self::tell).
    ///
    /// # Panics
    /// If the optimizer has no steps ahead.
    fn tell_step(&mut self, step: &AdamStep) -> Result<()> {
        let _ = step;
        unreachable!("only optimizers with steps ahead are told of them")
    }

    /// The best member of those evaluated last (of a swarm: ever), or the start.
    fn best(&self) -> Best;

    /// Norm of the best member's gradient (largest component), where it is known.
    fn gradient_norm(&self) -> Option<f64>;

    /// Whether the last answer finished a step after which progress may be judged.
    fn epoch_done(&self) -> bool;

    /// Whether no further step can improve the loss.
    fn converged(&self) -> bool;

    /// Whether the members of a population are trial points of one run, of which only the one that
    /// it moves to counts. Otherwise each member is a run of its own.
    fn members_are_trials(&self) -> bool {
        false
    }

    /// What else there is to show and record about the last step.
    fn details(&self) -> Option<StepDetails> {
        None
    }

    /// The state, sufficient to go on to the very same result.
    fn save(&self) -> OptimizerState;

    /// Takes over a state saved by the same method with the same settings.
    ///
    /// # Errors
    /// [`Error::Usage`](gputexel_files::Error::Usage) when the state is of another shape or holds numbers
    /// that are not finite.
    fn restore(&mut self, state: OptimizerState) -> Result<()>;

    /// Method and settings of a member, one line.
    fn describe(&self, member: usize) -> String;
}

impl OptimizerState {
    /// Takes a vector of a certain length out of the state.
    fn take(&mut self, name: &str, length: usize) -> Result<Vec<f64>> {
        let vector = self.vectors.remove(name).filter(|vector| vector.len() == length);
        let vector = vector.ok_or_else(|| {
            gputexel_files::Error::Usage(format!("the saved state has no '{name}' of {length} numbers"))
        })?;
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(gputexel_files::Error::Usage(format!(
                "the saved '{name}' holds numbers that are not finite"
            )));
        }
        Ok(vector)
    }
}
