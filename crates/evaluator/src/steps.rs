//! Steps of Adam that an evaluator takes on its own, so that small problems do not wait for the
//! host between them.

use super::{Population, Request};

/// A population on its way, and where it is to go.
///
/// The update is that of Kingma and Ba (2015): m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g²,
/// θ ← θ − rate · m / (√(correction · v) + ε), where g is the gradient of the mean loss plus
/// pull · (θ − prior).
#[derive(Clone, Debug, PartialEq)]
pub struct AdamBatch {
    /// Parameters before the first step; every member has its own.
    pub population: Population,
    /// Positions and loss; gradients are used whatever it asks for.
    pub request: Request,
    /// What the pull is toward, 2 F values.
    pub prior: Vec<f64>,
    /// Settings of every member.
    pub settings: Vec<AdamMember>,
    /// First moments, 2 F a member.
    pub first_moment: Vec<f64>,
    /// Second moments, 2 F a member.
    pub second_moment: Vec<f64>,
    /// (rate, correction of the second moment) of each step and member, steps outermost. The rate
    /// contains the correction of the first moment.
    pub rates: Vec<(f64, f64)>,
}

/// What does not change from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamMember {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// ε, loss a centipawn.
    pub epsilon: f64,
    /// Gradient of the regularisation a centipawn away from the prior.
    pub pull: f64,
}

/// One step that was taken.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdamStep {
    /// Losses before the step, without regularisation.
    pub losses: Vec<f64>,
    /// Largest components of the gradients, regularisation included.
    pub gradient_norms: Vec<f64>,
    /// Parameters after the step.
    pub parameters: Vec<f64>,
    /// First moments after the step.
    pub first_moment: Vec<f64>,
    /// Second moments after the step.
    pub second_moment: Vec<f64>,
    /// Positions evaluated, a member.
    pub positions: usize,
}
