//! The scale of tuned scores relative to that of the prior's, on which an engine's margins depend.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::run_scores::RunScores;
use gputexel_dataset::objective::x_per_cp;
use gputexel_dataset::{Dataset, Split};

const MEASURED: usize = 2_000_000;

/// Basis for fitting the scale constant K if it is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScaleMode {
    /// The prior, unless tuned scores then differ from the prior's by more than a quarter.
    #[default]
    Auto,
    Prior,
    /// K and the parameters together, so that tuned scores are on the scale of the prior's: their regression on the
    /// prior's scores has slope 1.
    Joint,
}

/// Basis of the fit of K, and the scale of the result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleRecord {
    pub mode: ScaleMode,
    pub on_prior: f64,
    /// True if fitting K with the parameters was tried, but the prior constrains it too little.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joint_failed: bool,
}

impl std::str::FromStr for ScaleMode {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Self::Auto),
            "prior" => Ok(Self::Prior),
            "joint" => Ok(Self::Joint),
            _ => Err(()),
        }
    }
}

/// Computes by how much tuned scores are larger than the prior's: the slope of their regression through 0 over the
/// positions `which`, weighted by the openness of a position, p (1 − p). `None` if the prior scores all of them 0.
pub fn score_ratio(data: &Dataset, k: f64, scores: &RunScores, which: &[u32]) -> Option<f64> {
    let x_per_cp = x_per_cp(k);
    let open = |score: f64| {
        let p = 1.0 / (1.0 + (-x_per_cp * score).exp());
        p * (1.0 - p)
    };
    // In chunks of fixed size, so that sums do not depend on the number of threads.
    let weights = data.weights();
    let sums: Vec<(f64, f64)> = which
        .par_chunks(1 << 14)
        .map(|which| {
            let terms = which.iter().map(|&n| {
                let (before, after) = (scores.prior[n as usize], scores.result[n as usize]);
                let weight = weights.get(n as usize).map_or(1.0, |&w| f64::from(w)) * open(before);
                (weight * after * before, weight * before * before)
            });
            terms.fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b))
        })
        .collect();
    let (product, square) = sums.iter().fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
    let ratio = product / square;
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// Computes the [`score_ratio`] of a run's result to its prior on its training positions; if there are more than two
/// million, on every n-th.
pub fn training_score_ratio(data: &Dataset, k: f64, split: &Split, scores: &RunScores) -> Option<f64> {
    let which = at_most(split.training().map(|n| n as u32).collect(), MEASURED);
    score_ratio(data, k, scores, &which)
}

pub(crate) fn at_most(which: Vec<u32>, most: usize) -> Vec<u32> {
    let every = which.len().div_ceil(most).max(1);
    which.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_positions_every_nth_is_measured() {
        let of_ten = |most: usize| at_most((5..15).collect(), most);
        assert_eq!(of_ten(4), [5, 8, 11, 14]);
        assert_eq!(of_ten(9), [5, 7, 9, 11, 13]);
        assert_eq!(of_ten(10), (5..15).collect::<Vec<u32>>());
        assert_eq!(at_most(Vec::new(), 4), Vec::<u32>::new());
    }
}
