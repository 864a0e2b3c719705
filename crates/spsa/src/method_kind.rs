//! The update rules by name.

use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result};

/// Which update rule is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodKind {
    /// Simultaneous perturbation stochastic approximation with zamar's gains.
    Spsa,
    /// Bayesian SPSA, each parameter by itself (Ivec and Vojnovic, arXiv:2205.15602).
    Bspsas,
    /// Bayesian SPSA with the full covariance.
    Bspsa,
    /// SPSA whose gain and perturbation stay what they are, as fishtest's autoselect has it.
    Constant,
}

impl MethodKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Spsa, Self::Bspsas, Self::Bspsa, Self::Constant];

    /// Whether it keeps a posterior, from `s` and `sigma`; the others need `r_end`.
    pub fn is_bayesian(self) -> bool {
        matches!(self, Self::Bspsas | Self::Bspsa)
    }
}

impl std::fmt::Display for MethodKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Spsa => "spsa",
            Self::Bspsas => "bspsas",
            Self::Bspsa => "bspsa",
            Self::Constant => "constant",
        })
    }
}

impl std::str::FromStr for MethodKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or_else(|| Error::Usage(format!("method '{text}': expected spsa, bspsas, bspsa or constant")))
    }
}
