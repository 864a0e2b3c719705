//! Targets that blend results of games with search scores.

use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::loss::{GivenScale, expected_score};
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    pub share: f64,
    /// Scale constant of search scores, base-10 form.
    pub k: f64,
}

impl Blend {
    pub fn validate(self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.share) {
            return Err(Error::setting("blend", self.share, "must be from 0 to 1"));
        }
        match GivenScale::K(self.k).k() {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::setting("blend-k", self.k, "must be a number from 0.0001 to 10000")),
        }
    }

    /// Returns the target of a position with result `y` and search score `score_cp`; NaN means no score, and
    /// leaves the result.
    #[inline]
    pub fn target(self, y: f32, score_cp: f32) -> f32 {
        if score_cp.is_nan() || self.share == 0.0 {
            return y;
        }
        let search = expected_score(self.k, f64::from(score_cp));
        ((1.0 - self.share) * f64::from(y) + self.share * search) as f32
    }
}

impl Dataset {
    /// Replaces results by targets: [`results`](Self::results), rows and layouts created from now on have the
    /// targets.
    ///
    /// # Errors
    /// As [`Blend::validate`]; [`Error::Setting`] when no position has a search score. The dataset is then
    /// unchanged.
    pub fn blend(&mut self, blend: Blend) -> Result<()> {
        blend.validate()?;
        if self.scored_positions() == 0 {
            let reason = "the dataset has no search scores to blend with results".to_string();
            return Err(Error::Setting { setting: "blend", value: None, reason });
        }
        if self.unblended.is_empty() {
            self.unblended = std::mem::take(&mut self.results);
        }
        let both = self.unblended.iter().zip(&self.scores);
        self.results = both.map(|(&y, &score)| blend.target(y, score)).collect();
        Ok(())
    }

    /// Returns the results of the games, White's view, even if [`results`](Self::results) are blended.
    #[inline]
    pub fn game_results(&self) -> &[f32] {
        if self.unblended.is_empty() { &self.results } else { &self.unblended }
    }

    /// Returns true if search scores can take the place of labels: most positions have one, and most labels are a loss,
    /// a draw or a win, so that they are results, not expected scores.
    pub fn prefers_scores(&self) -> bool {
        let results = self.results.iter().filter(|&&label| [0.0, 0.5, 1.0].contains(&label)).count();
        2 * self.scored_positions() >= self.len() as u64 && 2 * results >= self.len()
    }

    pub fn scored_positions(&self) -> u64 {
        self.scores.iter().filter(|score| !score.is_nan()).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_lie_between_result_and_score() {
        let blend = |share| Blend { share, k: 1.0 };
        assert_eq!(blend(0.0).target(1.0, -300.0), 1.0);
        assert_eq!(blend(1.0).target(1.0, 0.0), 0.5);
        assert_eq!(blend(0.7).target(1.0, f32::NAN), 1.0);
        let p = 1.0 / (1.0 + 10f64.powf(-200.0 / 400.0));
        assert!((f64::from(blend(0.25).target(0.5, 200.0)) - (0.375 + 0.25 * p)).abs() < 1e-7);
        // Scores that announce a mate are decided games.
        assert_eq!(blend(1.0).target(0.5, 30_000.0), 1.0);
        assert_eq!(blend(1.0).target(0.5, -30_000.0), 0.0);
    }

    #[test]
    fn blends_are_validated() {
        for (share, k, setting) in
            [(1.5, 1.0, "blend"), (-0.1, 1.0, "blend"), (f64::NAN, 1.0, "blend"), (0.5, 0.0, "blend-k")]
        {
            let error = Blend { share, k }.validate().unwrap_err().to_string();
            assert!(error.starts_with(setting), "{error}");
        }
    }
}
