//! Results of pairs of games.

use serde::{Deserialize, Serialize};

use super::{Estimate, Moments, as_f64, logistic_elo, normalized_elo, superiority};

/// Pairs of games from the same opening with colors swapped, counted by A's score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pentanomial {
    /// Pairs in which A scored 0, ½, 1, 1½ and 2 points.
    pub counts: [u64; 5],
}

impl Pentanomial {
    /// Counts one more pair in which A scored `half_points`, 0 to 4.
    ///
    /// # Panics
    /// If `half_points` is above 4.
    pub fn add(&mut self, half_points: usize) {
        self.counts[half_points] += 1;
    }

    /// Adds the pairs of another count.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }

    /// Returns the same pairs from B's view.
    pub fn reversed(&self) -> Self {
        let mut counts = self.counts;
        counts.reverse();
        Self { counts }
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the number of games, two per pair.
    pub fn games(&self) -> u64 {
        2 * self.pairs()
    }

    /// Returns A's mean score per game, 0 to 1; ½ without games.
    pub fn score(&self) -> f64 {
        if self.pairs() == 0 { 0.5 } else { Moments::of(&as_f64(&self.counts)).mean }
    }

    /// Returns the variance of a pair's mean score per game (0 to 1), with the number of pairs as divisor; 0 without
    /// pairs.
    ///
    /// Twice this is the variance per game that fishtest uses for normalized Elo.
    pub fn variance(&self) -> f64 {
        if self.pairs() == 0 { 0.0 } else { Moments::of(&as_f64(&self.counts)).variance }
    }

    /// Returns A's logistic Elo over B with its 95 % interval.
    ///
    /// The mean score ± 1.96 standard errors, from the variance of pairs, is mapped by −400 log₁₀(1/s − 1). Where the
    /// normal approximation breaks down (few pairs, or almost only wins), the interval is that of the likelihood ratio
    /// instead; a player who won everything is rated as if a quarter of a point were missing. Always finite, within
    /// ±[`MAX_ELO`](super::MAX_ELO).
    pub fn elo(&self) -> Estimate {
        logistic_elo(&self.counts, 2.0)
    }

    /// Returns A's normalized Elo over B with its 95 % interval: (s − ½) / σ · 800 / ln 10, where σ is the standard
    /// deviation per game, √2 times that of a pair's mean score.
    ///
    /// Defined by M. Van den Bergh for fishtest. It measures how easily the difference can be detected: 1.96 / √games ·
    /// 800 / ln 10 is its error, regardless of the share of draws.
    pub fn normalized_elo(&self) -> Estimate {
        normalized_elo(&self.counts, 2.0)
    }

    /// Returns the likelihood of superiority, 0 to 1: the probability that A is the stronger; ½ without pairs.
    pub fn los(&self) -> f64 {
        superiority(&self.counts)
    }
}
