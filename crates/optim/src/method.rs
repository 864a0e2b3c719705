//! Properties common to all methods: names, defaults, flags.

use super::Schedule;

/// Fixed properties of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodSpec {
    pub name: &'static str,
    /// Explanation of the name; empty if it needs none.
    pub help: &'static str,
    /// Flags with settings of this method, without dashes.
    pub flags: &'static [&'static str],
    /// True if it solves with Gauss–Newton matrices.
    pub uses_matrices: bool,
    pub limits: MethodLimits,
    /// Meaning of convergence; empty if the method never states it.
    pub converged: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodLimits {
    pub epochs: u64,
    /// Relative improvement of the loss over `window` epochs below which a run ends; 0: never.
    pub improvement: f64,
    /// Epochs over which the improvement is judged.
    pub window: u64,
    /// Epochs without a better held-out loss after which a run ends; `None`: all.
    pub patience: Option<u64>,
}

/// Flags of a command, with the settings of all methods; those not given have the method's defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodFlags {
    /// True unless scores are sums of parameters.
    pub nonlinear: bool,
    /// Seed of random numbers.
    pub seed: Option<u64>,
    pub damping: Option<f64>,
    /// Learning rates, centipawns per step.
    pub learning_rate: Vec<f64>,
    /// The learning-rate schedule.
    pub schedule: Option<Schedule>,
    /// Mini-batches per epoch.
    pub batches: Option<usize>,
    /// Step sizes, descending.
    pub step: Vec<u32>,
    /// True to finish the result of swarms with Gauss–Newton and single steps.
    pub polish: bool,
}
