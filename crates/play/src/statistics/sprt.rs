//! Wald's sequential test of two hypotheses on the Elo difference.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::likelihood::{profile, regularized};
use super::{MAX_ELO, Pentanomial, expected_score};
use gputexel_io::{Error, Result};

/// A generalized sequential probability ratio test of Elo `elo0` (H0) against `elo1` (H1), written
/// `elo0=0,elo1=5,alpha=0.05,beta=0.05`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sprt {
    elo0: f64,
    elo1: f64,
    alpha: f64,
    beta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SprtState {
    Continue,
    /// A is not `elo1` stronger.
    AcceptedH0,
    /// A is more than `elo0` stronger.
    AcceptedH1,
}

impl fmt::Display for SprtState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continue => "continues",
            Self::AcceptedH0 => "H0 accepted",
            Self::AcceptedH1 => "H1 accepted",
        })
    }
}

impl Sprt {
    /// `alpha` is the error of the first kind, `beta` of the second.
    pub fn try_new(elo0: f64, elo1: f64, alpha: f64, beta: f64) -> Result<Self> {
        let wrong = |reason: String| Err(Error::Usage(format!("SPRT: {reason}")));
        for (name, elo) in [("elo0", elo0), ("elo1", elo1)] {
            if elo.is_nan() || elo.abs() >= MAX_ELO {
                return wrong(format!("{name}={elo}: must lie between -{MAX_ELO} and {MAX_ELO}"));
            }
        }
        if elo0 >= elo1 {
            return wrong(format!("elo0={elo0}: must be below elo1={elo1}"));
        }
        for (name, error) in [("alpha", alpha), ("beta", beta)] {
            if !(error > 0.0 && error < 0.5) {
                return wrong(format!("{name}={error}: must be above 0 and below 0.5"));
            }
        }
        Ok(Self { elo0, elo1, alpha, beta })
    }

    pub fn elo0(&self) -> f64 {
        self.elo0
    }

    pub fn elo1(&self) -> f64 {
        self.elo1
    }

    /// Wald's bounds of the log-likelihood ratio, ln(β / (1 − α)) and ln((1 − β) / α).
    pub fn bounds(&self) -> [f64; 2] {
        [(self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln()]
    }

    /// The generalized log-likelihood ratio of H1 to H0; 0 without pairs.
    ///
    /// Multinomial likelihoods, each maximized over the distributions with the mean score of the hypothesis; scores
    /// that never occurred count 10⁻³. fishtest's `LLR_logistic`, after M. Van den Bergh, "A practical introduction
    /// to the GSPRT".
    pub fn llr(&self, pairs: &Pentanomial) -> f64 {
        if pairs.pairs() == 0 {
            return 0.0;
        }
        let counts = regularized(&pairs.as_f64());
        let likelihood = |elo: f64| profile(&counts, expected_score(elo));
        likelihood(self.elo1) - likelihood(self.elo0)
    }

    /// Call it after each pair and stop at the first decision.
    pub fn state(&self, pairs: &Pentanomial) -> SprtState {
        let [lower, upper] = self.bounds();
        match self.llr(pairs) {
            llr if llr <= lower => SprtState::AcceptedH0,
            llr if llr >= upper => SprtState::AcceptedH1,
            _ => SprtState::Continue,
        }
    }
}

impl FromStr for Sprt {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = ["elo0", "elo1", "alpha", "beta"];
        let mut values = [None; 4];
        for setting in text.split(',') {
            let wrong = |reason: &str| Error::Usage(format!("SPRT: '{setting}': {reason}"));
            let (name, value) = setting.split_once('=').ok_or_else(|| wrong("not of the form elo0=0"))?;
            let at = names.iter().position(|own| *own == name.trim());
            let at = at.ok_or_else(|| wrong("no such setting; there are elo0, elo1, alpha, beta"))?;
            let value: f64 = value.trim().parse().map_err(|_| wrong("not a number"))?;
            if values[at].replace(value).is_some() {
                return Err(wrong("given twice"));
            }
        }
        let [elo0, elo1, alpha, beta] = values;
        let missing = |name| Error::Usage(format!("SPRT: {name} is missing"));
        Self::try_new(
            elo0.ok_or_else(|| missing("elo0"))?,
            elo1.ok_or_else(|| missing("elo1"))?,
            alpha.unwrap_or(0.05),
            beta.unwrap_or(0.05),
        )
    }
}

impl fmt::Display for Sprt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elo0, elo1, alpha, beta } = self;
        write!(f, "elo0={elo0},elo1={elo1},alpha={alpha},beta={beta}")
    }
}

impl TryFrom<String> for Sprt {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Sprt> for String {
    fn from(sprt: Sprt) -> Self {
        sprt.to_string()
    }
}
