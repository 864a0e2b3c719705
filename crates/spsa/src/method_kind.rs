//! The update rules by name.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodKind {
    /// Simultaneous perturbation stochastic approximation with zamar's gains.
    Spsa,
    /// Bayesian SPSA, each parameter by itself (Ivec and Vojnovic, arXiv:2205.15602).
    Bspsas,
    Bspsa,
}

impl MethodKind {
    /// True if it keeps a posterior, from `s` and `sigma`; the others need `r_end`.
    pub fn is_bayesian(self) -> bool {
        matches!(self, Self::Bspsas | Self::Bspsa)
    }
}

gputexel_io::names!(MethodKind "method": Spsa "spsa", Bspsas "bspsas", Bspsa "bspsa");
