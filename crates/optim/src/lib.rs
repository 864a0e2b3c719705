//! Optimizers: `ask` for parameter vectors, `tell` their losses.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod adam;
mod answer;
mod block_preconditioner;
mod box_quadratic;
mod conjugate;
mod damping;
mod description;
mod details;
mod gauss_newton;
mod gauss_newton_cg;
mod hybrid;
pub mod linalg;
mod local;
mod method;
mod particle_swarm;
mod products;
mod quasi_newton;
mod registry;
mod schedule;
mod space;
mod state;

pub use adam::{Adam, AdamRuns, AdamSettings};
pub use answer::{AdamState, AdamStep, Evaluations};
pub use details::{StepDetails, SwarmDetails};
pub use gauss_newton::{GaussNewton, GaussNewtonSettings};
pub use gauss_newton_cg::{GaussNewtonCg, GaussNewtonCgSettings};
pub use hybrid::{Hybrid, HybridSettings};
pub use local::{Local, LocalSettings};
pub use method::{CustomMethod, MethodFlags, MethodLimits, MethodSpec};
pub use particle_swarm::{ParticleSwarm, ParticleSwarmSettings, SwarmVariant, Swarms};
pub use products::{MatrixBlock, ProductAnswer, ProductProposal};
pub use quasi_newton::{MemberStatus, QUASI_NEWTON_PAIRS, QuasiNewton, SharedModel};
pub use registry::{GAUSS_NEWTON_LIMIT, ModelSize, OptimizerConfig};
pub use schedule::Schedule;
pub use space::Space;
pub use state::OptimizerState;

use gputexel_io::Result;

/// Parameter vectors to evaluate, and which results are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The vectors, member after member.
    pub parameters: Vec<f64>,
    /// Number of vectors.
    pub members: usize,
    pub gradients: bool,
    /// True if Gauss–Newton matrices are needed.
    pub curvature: bool,
}

/// The state from which a device can take steps of Adam on its own, as an optimizer sees it: without the data.
#[derive(Clone, Debug, PartialEq)]
pub struct StepsAhead {
    pub parameters: Vec<f64>,
    pub first_moment: Vec<f64>,
    pub second_moment: Vec<f64>,
    /// β₁, β₂ and ε of every member.
    pub settings: Vec<[f64; 3]>,
}

/// The best member known to an optimizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    pub member: usize,
    pub parameters: Vec<f64>,
    /// Its loss when it was last evaluated, regularization included.
    pub loss: f64,
}

/// An optimization method.
pub trait Optimizer {
    /// Proposes what to evaluate next.
    fn ask(&mut self) -> Proposal;

    /// Answers the last [`ask`](Self::ask); losses, gradients and matrices include regularization.
    ///
    /// # Errors
    /// [`Error::Numeric`] when no member has a finite loss or a linear system
    /// cannot be solved.
    fn tell(&mut self, evaluations: &Evaluations) -> Result<()>;

    /// Requests products of the Gauss–Newton matrix that are needed before the next [`ask`](Self::ask); `None` if none
    /// are, as for most methods.
    fn ask_products(&mut self) -> Option<ProductProposal> {
        None
    }

    /// Answers the last [`ask_products`](Self::ask_products); products and blocks include regularization.
    ///
    /// # Errors
    /// [`Error::Numeric`] when numbers are not finite or no step can be found.
    ///
    /// # Panics
    /// If the optimizer asks for no products.
    fn tell_products(&mut self, answer: &ProductAnswer) -> Result<()> {
        let _ = answer;
        unreachable!("only optimizers that ask for products are told of them")
    }

    /// Returns the state from which an evaluator can take steps on its own; `None` for methods and settings that need
    /// the host in between.
    fn steps_ahead(&self) -> Option<StepsAhead> {
        None
    }

    /// Returns (rate, correction of the second moment) of the next `count` steps and each member, steps outermost.
    ///
    /// # Panics
    /// If the optimizer has no `steps_ahead`, as do the next two.
    fn rates_ahead(&self, count: usize) -> Vec<(f64, f64)> {
        let _ = count;
        unreachable!("only optimizers with steps ahead have rates")
    }

    /// Reports the next step that an evaluator took on its own. The state after it follows by
    /// [`tell_state`](Self::tell_state), perhaps many steps later: until then, what depends on parameters is as it
    /// was.
    fn tell_step(&mut self, step: &AdamStep) -> Result<()> {
        let _ = step;
        unreachable!("only optimizers with steps ahead are told of them")
    }

    /// Reports the state after the steps that were reported so far.
    fn tell_state(&mut self, state: AdamState) {
        let _ = state;
        unreachable!("only optimizers with steps ahead are told of their end")
    }

    /// Returns the best member of the last evaluation (for swarms: of all evaluations), or the start.
    fn best(&self) -> Best;

    /// Returns the largest component of the best member's gradient in absolute value, if known.
    fn gradient_norm(&self) -> Option<f64>;

    /// Returns true if the last answer completed an epoch, after which progress may be judged.
    fn epoch_done(&self) -> bool;

    /// Returns true if no further step can improve the loss.
    fn converged(&self) -> bool;

    /// Returns true if the members of a population are trial points of one run, of which only the one it moves to
    /// counts.
    fn members_are_trials(&self) -> bool {
        false
    }

    /// Returns further details of the last step to display and record.
    fn details(&self) -> Option<StepDetails> {
        None
    }

    /// Returns the complete state: a run restored from it continues bit-identically.
    fn save(&self) -> OptimizerState;

    /// Restores a state saved by the same method with the same settings.
    ///
    /// # Errors
    /// [`Error::Usage`] when the state has a different shape or contains
    /// non-finite numbers.
    fn restore(&mut self, state: OptimizerState) -> Result<()>;

    /// Describes the method and settings of a member on one line, with the weight λ of its regularization.
    fn describe(&self, member: usize, l2: f64) -> String;
}
