//! Wald's sequential test of two hypotheses on the Elo difference.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::likelihood::{profile, regularized};
use super::{MAX_ELO, Pentanomial, Trinomial, as_f64, expected_score};
use gputexel_files::{Error, Result};

/// A generalized sequential probability ratio test of logistic Elo `elo0` (H0) against `elo1` (H1).
///
/// Written as `elo0=0,elo1=5,alpha=0.05,beta=0.05`; `alpha` and `beta` may be left out and are 0.05
/// then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sprt {
    elo0: f64,
    elo1: f64,
    alpha: f64,
    beta: f64,
}

/// What the results so far say of the two hypotheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SprtState {
    /// Neither bound is reached: more games are needed.
    Continue,
    /// The lower bound is reached: A is not `elo1` stronger.
    AcceptedH0,
    /// The upper bound is reached: A is more than `elo0` stronger.
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
    /// A test that accepts H1 wrongly (true difference `elo0`) with probability `alpha` and H0 wrongly
    /// (true difference `elo1`) with probability `beta`.
    ///
    /// # Errors
    /// [`Error::Usage`] unless −[`MAX_ELO`] < `elo0` < `elo1` < [`MAX_ELO`], and both errors are
    /// above 0 and below ½.
    pub fn try_new(elo0: f64, elo1: f64, alpha: f64, beta: f64) -> Result<Self> {
        for (name, elo) in [("elo0", elo0), ("elo1", elo1)] {
            if elo.is_nan() || elo.abs() >= MAX_ELO {
                return Err(Error::Usage(format!(
                    "SPRT: {name}={elo}: must lie between -{MAX_ELO} and {MAX_ELO}"
                )));
            }
        }
        if elo0 >= elo1 {
            return Err(Error::Usage(format!("SPRT: elo0={elo0}: must be below elo1={elo1}")));
        }
        for (name, error) in [("alpha", alpha), ("beta", beta)] {
            if !(error > 0.0 && error < 0.5) {
                return Err(Error::Usage(format!("SPRT: {name}={error}: must be above 0 and below 0.5")));
            }
        }
        Ok(Self { elo0, elo1, alpha, beta })
    }

    /// The difference that H0 claims.
    pub fn elo0(&self) -> f64 {
        self.elo0
    }

    /// The difference that H1 claims.
    pub fn elo1(&self) -> f64 {
        self.elo1
    }

    /// Wald's bounds of the log-likelihood ratio, ln(β / (1 − α)) and ln((1 − β) / α): at or below
    /// the first H0 is accepted, at or above the second H1.
    pub fn bounds(&self) -> [f64; 2] {
        [(self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln()]
    }

    /// The generalized log-likelihood ratio of H1 to H0 for pairs of games; 0 without any.
    ///
    /// The multinomial likelihoods, each at its maximum among the distributions with the mean score that
    /// the hypothesis claims; scores never seen count 10⁻³. The same as fishtest's `LLR_logistic`,
    /// after M. Van den Bergh, "A practical introduction to the GSPRT".
    pub fn llr(&self, pairs: &Pentanomial) -> f64 {
        self.ratio(&pairs.counts)
    }

    /// The same ratio for single games that are independent of each other.
    pub fn llr_of_games(&self, games: &Trinomial) -> f64 {
        self.ratio(&games.counts())
    }

    fn ratio<const N: usize>(&self, counts: &[u64; N]) -> f64 {
        if counts.iter().all(|&n| n == 0) {
            return 0.0;
        }
        let counts = regularized(&as_f64(counts));
        profile(&counts, expected_score(self.elo1)) - profile(&counts, expected_score(self.elo0))
    }

    /// Whether a bound is reached.
    ///
    /// Ask after each pair and stop at the first answer: of more games, the answer may be another.
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
        let (mut elo0, mut elo1, mut alpha, mut beta) = (None, None, None, None);
        for setting in text.split(',') {
            let unclear = || Error::Usage(format!("SPRT: '{setting}': not of the form elo0=0"));
            let (name, value) = setting.split_once('=').ok_or_else(unclear)?;
            let slot = match name.trim() {
                "elo0" => &mut elo0,
                "elo1" => &mut elo1,
                "alpha" => &mut alpha,
                "beta" => &mut beta,
                other => {
                    return Err(Error::Usage(format!(
                        "SPRT: '{other}': no such setting; there are elo0, elo1, alpha, beta"
                    )));
                }
            };
            let value = value.trim().parse::<f64>();
            let value = value.map_err(|_| Error::Usage(format!("SPRT: '{setting}': not a number")))?;
            if slot.replace(value).is_some() {
                return Err(Error::Usage(format!("SPRT: {}: given twice", name.trim())));
            }
        }
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
