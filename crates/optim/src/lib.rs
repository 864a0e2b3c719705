//! Optimizers: `ask` for parameter vectors, `tell` their losses.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod adam;
mod answer;
mod box_quadratic;
mod conjugate;
mod damping;
mod details;
mod gauss_newton;
mod gauss_newton_runs;
mod hybrid;
pub mod linalg;
mod local;
mod method;
mod particle_swarm;
mod quasi_newton;
mod registry;
mod schedule;
mod space;
mod state;

pub use adam::{Adam, AdamRuns, AdamSettings};
pub use answer::Evaluations;
pub use details::SwarmDetails;
pub use gauss_newton::{GaussNewton, GaussNewtonSettings};
pub use gauss_newton_runs::{GaussNewtonRuns, MemberProgress, has_stalled};
pub use hybrid::{Hybrid, HybridSettings};
pub use local::{Local, LocalSettings};
pub use method::{MethodFlags, MethodLimits, MethodSpec};
pub use particle_swarm::{ParticleSwarm, ParticleSwarmSettings, SwarmVariant, Swarms};
pub use quasi_newton::{MemberStatus, QUASI_NEWTON_PAIRS, QuasiNewton, SharedModel};
pub use registry::{GAUSS_NEWTON_LIMIT, ModelSize, OptimizerConfig};
pub use schedule::Schedule;
pub use space::Space;
pub use state::OptimizerState;

use gputexel_io::{Result, weight_text};

/// Returns the weight λ as a prefix of other settings; empty if it is zero, since penalties may regularize a run as well.
fn l2_text(l2: f64) -> String {
    if l2 > 0.0 { format!("L2 {}, ", weight_text(l2)) } else { String::new() }
}

/// Parameter vectors to evaluate, and which results are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The vectors, member after member.
    pub parameters: Vec<f64>,
    /// Numbers of the members, ascending.
    pub members: Vec<usize>,
    pub gradients: bool,
    /// True if Gauss–Newton matrices are needed.
    pub curvature: bool,
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
    fn ask(&mut self) -> Proposal;

    fn tell(&mut self, evaluations: &Evaluations) -> Result<()>;

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

    fn details(&self) -> Option<SwarmDetails> {
        None
    }

    fn points(&mut self) -> Vec<f64> {
        self.ask().parameters
    }

    /// Returns how far a member has got, if members end one by one.
    fn progress(&self, member: usize) -> Option<MemberProgress> {
        let _ = member;
        None
    }

    fn save(&self) -> OptimizerState;

    fn restore(&mut self, state: OptimizerState) -> Result<()>;

    /// Describes the method and settings of a member on one line, with the weight λ of its regularization.
    fn describe(&self, member: usize, l2: f64) -> String;
}
