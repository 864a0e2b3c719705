//! Properties common to all methods: names, defaults, flags.

use serde::{Deserialize, Serialize};

use super::{Optimizer, Schedule, Space};
use gputexel_io::{Error, Result};

/// Fixed properties of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodSpec {
    pub name: &'static str,
    /// Explanation of the name; empty if it needs none.
    pub help: &'static str,
    /// Flags with settings of this method, without dashes.
    pub flags: &'static [&'static str],
    /// True if it solves with Gauss–Newton matrices, or products of them.
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

pub(crate) trait Method {
    fn spec(&self) -> &'static MethodSpec;

    fn batches(&self) -> usize {
        1
    }

    /// Describes the method in a few words, if its name is not enough.
    fn summary(&self) -> Option<String> {
        None
    }

    /// Creates the optimizer in its initial state, for a run of at most `epochs` epochs.
    ///
    /// # Errors
    /// [`Error::Usage`] for settings out of range, and for optimizers supplied by the caller.
    fn build(&self, space: &Space, epochs: u64) -> Result<Box<dyn Optimizer>>;
}

/// An optimizer supplied by the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomMethod {
    pub name: String,
}

const CUSTOM: MethodSpec = MethodSpec {
    name: "custom",
    help: "",
    flags: &[],
    uses_matrices: false,
    limits: MethodLimits { epochs: 500, improvement: 0.0, window: 50, patience: Some(50) },
    converged: "",
};

impl Method for CustomMethod {
    fn spec(&self) -> &'static MethodSpec {
        &CUSTOM
    }

    fn summary(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn build(&self, _space: &Space, _epochs: u64) -> Result<Box<dyn Optimizer>> {
        let name = &self.name;
        Err(Error::Usage(format!("optimizer '{name}': only the program that supplied it can build it")))
    }
}
