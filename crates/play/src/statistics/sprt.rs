//! Wald's sequential test of two hypotheses on the Elo difference.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::likelihood::{normalized_profile, profile, regularized};
use super::{MAX_ELO, NORMALIZED_ELO, Pentanomial, expected_score};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EloModel {
    /// By the mean score alone.
    #[default]
    Logistic,
    /// By the mean score in standard deviations of a game, see [`Pentanomial::normalized_elo`].
    Normalized,
}

/// A generalized sequential probability ratio test of Elo `elo0` (H0) against `elo1` (H1), written
/// `elo0=0,elo1=5,alpha=0.05,beta=0.05`, optionally with `model=normalized`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sprt {
    pub elo0: f64,
    pub elo1: f64,
    alpha: f64,
    beta: f64,
    pub model: EloModel,
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
        Ok(Self { elo0, elo1, alpha, beta, model: EloModel::Logistic })
    }

    /// Wald's bounds of the log-likelihood ratio, ln(β / (1 − α)) and ln((1 − β) / α).
    pub fn bounds(&self) -> [f64; 2] {
        [(self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln()]
    }

    /// The generalized log-likelihood ratio of H1 to H0; 0 without pairs.
    ///
    /// Multinomial likelihoods, each maximized over the distributions with the mean score of the hypothesis; scores
    /// that never occurred count 10⁻³. fishtest's `LLR_logistic`, after M. Van den Bergh, "A practical introduction
    /// to the GSPRT". In normalized Elo, over those whose (mean − ½) / deviation is √2 elo ln 10 / 800: fishtest's
    /// `LLR_normalized`, but with the greatest of several maxima.
    pub fn llr(&self, pairs: &Pentanomial) -> f64 {
        if pairs.pairs() == 0 {
            return 0.0;
        }
        let counts = regularized(&pairs.as_f64());
        let likelihood = |elo: f64| match self.model {
            EloModel::Logistic => profile(&counts, expected_score(elo)),
            EloModel::Normalized => normalized_profile(&counts, 2f64.sqrt() * elo / NORMALIZED_ELO),
        };
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
        let (mut elo0, mut elo1, mut alpha, mut beta, mut model) = (None, None, None, None, None);
        for setting in text.split(',') {
            let unclear = || Error::Usage(format!("SPRT: '{setting}': not of the form elo0=0"));
            let (name, value) = setting.split_once('=').ok_or_else(unclear)?;
            if name.trim() == "model" {
                let asked = match value.trim() {
                    "logistic" => EloModel::Logistic,
                    "normalized" => EloModel::Normalized,
                    _ => {
                        return Err(Error::Usage(format!(
                            "SPRT: '{setting}': expected logistic or normalized"
                        )));
                    }
                };
                if model.replace(asked).is_some() {
                    return Err(Error::Usage("SPRT: model: given twice".to_string()));
                }
                continue;
            }
            let slot = match name.trim() {
                "elo0" => &mut elo0,
                "elo1" => &mut elo1,
                "alpha" => &mut alpha,
                "beta" => &mut beta,
                other => {
                    return Err(Error::Usage(format!(
                        "SPRT: '{other}': no such setting; there are elo0, elo1, alpha, beta, model"
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
        .map(|sprt| Self { model: model.unwrap_or_default(), ..sprt })
    }
}

impl fmt::Display for Sprt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { elo0, elo1, alpha, beta, model } = self;
        write!(f, "elo0={elo0},elo1={elo1},alpha={alpha},beta={beta}")?;
        match model {
            EloModel::Logistic => Ok(()),
            EloModel::Normalized => f.write_str(",model=normalized"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_tests_agree_with_others() {
        let test = |elo0: f64, elo1: f64| {
            format!("elo0={elo0},elo1={elo1},model=normalized").parse::<Sprt>().unwrap()
        };
        // By a different maximization: over the mean, and Newton's method for shares of a given mean and variance.
        for (counts, elo0, elo1, expected) in [
            ([100, 800, 2000, 950, 150], 0.0, 5.0, 5.313195610570801),
            ([100, 800, 2000, 950, 150], -2.0, 3.0, 5.974034061583552),
            ([5, 60, 200, 75, 10], 0.0, 10.0, 1.0781582808025405),
            ([0, 3, 40, 9, 1], 0.0, 20.0, 1.0533447920128225),
            // fastchess's tests give 2.25 and 3.01.
            ([365, 16618, 36229, 16974, 390], 0.0, 2.0, 2.25),
            ([127, 4883, 10712, 5150, 104], -1.75, 0.25, 3.01),
        ] {
            let llr = test(elo0, elo1).llr(&Pentanomial { counts });
            let known = if expected == 2.25 || expected == 3.01 { 0.006 } else { 1e-6 };
            assert!((llr - expected).abs() < known, "{counts:?}: {llr}");
        }
        for counts in [[0, 0, 500, 0, 0], [0, 0, 0, 0, 100], [9, 0, 0, 0, 0], [1, 0, 0, 0, 0]] {
            assert!(test(0.0, 5.0).llr(&Pentanomial { counts }).is_finite(), "{counts:?}");
        }
    }

    #[test]
    fn models_are_written_as_they_are_read() {
        let logistic = "elo0=0,elo1=5,alpha=0.05,beta=0.05";
        assert_eq!(logistic.parse::<Sprt>().unwrap().to_string(), logistic);
        let normalized = format!("{logistic},model=normalized");
        assert_eq!(normalized.parse::<Sprt>().unwrap().to_string(), normalized);
        for (text, says) in [
            ("elo0=0,elo1=5,model=x", "expected logistic"),
            ("elo0=0,elo1=1,model=logistic,model=logistic", "twice"),
        ] {
            assert!(text.parse::<Sprt>().unwrap_err().to_string().contains(says), "{text}");
        }
    }
}
