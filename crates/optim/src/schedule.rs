//! Learning-rate schedules: a factor on the learning rate as a function of progress.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    Constant,
    /// Half a cosine from 1 to 0 over the planned epochs: large steps first, and a settled end.
    #[default]
    Cosine,
    /// Linear from 1 to 0 over the planned epochs.
    Linear,
    /// Multiplied by `factor` every `every` epochs.
    Step {
        factor: f64,
        every: u64,
    },
}

impl Schedule {
    /// Returns the factor at an epoch (mini-batches are fractions of one) of `planned` epochs.
    pub fn factor(self, epoch: f64, planned: u64) -> f64 {
        let share = (epoch / planned.max(1) as f64).clamp(0.0, 1.0);
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * share).cos()),
            Self::Linear => 1.0 - share,
            Self::Step { factor, every } => factor.powf((epoch / every.max(1) as f64).floor()),
        }
    }
}

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::Usage(format!(
                "schedule '{text}': expected constant, cosine, linear, or step:FACTOR:EPOCHS such as step:0.5:100"
            ))
        };
        match text {
            "constant" => Ok(Self::Constant),
            "cosine" => Ok(Self::Cosine),
            "linear" => Ok(Self::Linear),
            _ => {
                let (factor, every) =
                    text.strip_prefix("step:").and_then(|rest| rest.split_once(':')).ok_or_else(bad)?;
                let factor = factor.parse().ok().filter(|f: &f64| *f > 0.0 && *f <= 1.0).ok_or_else(bad)?;
                let every = every.parse().ok().filter(|&e: &u64| e > 0).ok_or_else(bad)?;
                Ok(Self::Step { factor, every })
            }
        }
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Cosine => f.write_str("cosine"),
            Self::Linear => f.write_str("linear"),
            Self::Step { factor, every } => write!(f, "step:{factor}:{every}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_the_formulas() {
        assert_eq!(Schedule::Constant.factor(7.0, 10), 1.0);
        assert!((Schedule::Cosine.factor(5.0, 10) - 0.5).abs() < 1e-15);
        assert_eq!((Schedule::Cosine.factor(0.0, 10), Schedule::Linear.factor(10.0, 10)), (1.0, 0.0));
        let step: Schedule = "step:0.5:100".parse().unwrap();
        assert_eq!([0.0, 99.9, 100.0, 250.0].map(|e| step.factor(e, 1)), [1.0, 1.0, 0.5, 0.25]);
        for text in ["", "step", "step:0:5", "step:0.5:0", "step:nan:5", "sine"] {
            assert!(text.parse::<Schedule>().is_err(), "{text}");
        }
        for text in ["constant", "cosine", "linear", "step:0.5:100"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
    }
}
