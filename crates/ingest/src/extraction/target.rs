//! Labels of positions: the results of their games, or search scores.

use gputexel_chess::sample::Batch;
use gputexel_chess::selection::Reason;
use gputexel_dataset::expected_score;
use gputexel_io::{Error, Result};

/// Source of the result of a position in the dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Target {
    #[default]
    Result,
    /// The expected score 1 / (1 + 10^(−K s / 400)) of its search score s in centipawns, White's view:
    /// Texel's sigmoid.
    Score { k: f64 },
}

impl Target {
    /// Default K: the base-10 form with 400 centipawns per decade.
    pub const DEFAULT_K: f64 = 1.0;

    /// Creates the target with a name and K, [`DEFAULT_K`](Self::DEFAULT_K) if `None`.
    pub fn new(name: &str, k: Option<f64>) -> Result<Self> {
        let refuse = |setting, value: String, reason: &str| {
            Err(Error::Setting { setting, value: Some(value), reason: reason.to_string() })
        };
        match (name, k) {
            ("result", None) => Ok(Self::Result),
            ("result", Some(k)) => refuse("target-k", k.to_string(), "is only for the target score"),
            ("score", k) => {
                let k = k.unwrap_or(Self::DEFAULT_K);
                if k > 0.0 && k.is_finite() {
                    Ok(Self::Score { k })
                } else {
                    refuse("target-k", k.to_string(), "must be a positive number")
                }
            }
            _ => refuse("target", name.to_string(), "expected result or score"),
        }
    }

    pub(super) fn apply(self, batch: &mut Batch) {
        let Self::Score { k } = self else { return };
        let before = batch.samples.len();
        // There is one origin for each sample, or none at all.
        let mut samples = batch.samples.iter();
        batch.origins.retain(|_| samples.next().is_some_and(|sample| !sample.score_cp.is_nan()));
        batch.samples.retain_mut(|sample| {
            sample.result = expected_score(k, f64::from(sample.score_cp)) as f32;
            !sample.score_cp.is_nan()
        });
        batch.left_out.add_many(Reason::NoScore, (before - batch.samples.len()) as u64);
    }

    pub(super) fn record(self, settings: &mut Vec<(String, String)>) {
        if let Self::Score { k } = self {
            settings.push(("target".to_string(), "score".to_string()));
            settings.push(("target_k".to_string(), k.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_other_targets() {
        assert_eq!(Target::new("score", None).unwrap(), Target::Score { k: 1.0 });
        for (name, k) in
            [("score", Some(0.0)), ("score", Some(f64::NAN)), ("result", Some(1.0)), ("wdl", None)]
        {
            assert!(Target::new(name, k).is_err(), "{name} {k:?}");
        }
    }
}
