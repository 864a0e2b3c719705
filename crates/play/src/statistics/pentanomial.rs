use serde::{Deserialize, Serialize};

use super::likelihood::{UPPER_QUANTILE, interval, profile, regularized};
use super::{Estimate, MAX_ELO, NORMALIZED_ELO, elo_of_score, normal_below};

const UNKNOWN: Estimate = Estimate { elo: 0.0, error95: MAX_ELO, low: -MAX_ELO, high: MAX_ELO };

/// Pairs of games from the same opening with colors swapped, by A's score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pentanomial {
    /// A scored 0, ½, 1, 1½ and 2 points.
    pub counts: [u64; 5],
}

impl Pentanomial {
    /// `half_points` of A, 0 to 4.
    pub fn add(&mut self, half_points: usize) {
        self.counts[half_points] += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
    }

    pub fn reversed(&self) -> Self {
        let mut counts = self.counts;
        counts.reverse();
        Self { counts }
    }

    pub fn pairs(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn games(&self) -> u64 {
        2 * self.pairs()
    }

    /// A's mean per game, 0 to 1; ½ without games.
    pub fn score(&self) -> f64 {
        if self.pairs() == 0 { 0.5 } else { Moments::from_counts(&self.as_f64()).mean }
    }

    /// Of a pair's mean score per game (0 to 1), with the number of pairs as divisor; 0 without pairs. Twice this is
    /// fishtest's variance per game.
    pub fn variance(&self) -> f64 {
        if self.pairs() == 0 { 0.0 } else { Moments::from_counts(&self.as_f64()).variance }
    }

    /// Logistic Elo: the mean score ± 1.96 standard errors, mapped by −400 log₁₀(1/s − 1), as fishtest and fastchess
    /// do. Where the normal approximation breaks down (few results, or almost only wins), the ends are those of the
    /// likelihood ratio interval of the multinomial, which stays in (0, 1). A player who won (lost) everything is
    /// rated as if a quarter of a point were missing (made); without results the estimate is 0 ± [`MAX_ELO`].
    pub fn elo(&self) -> Estimate {
        if self.pairs() == 0 {
            return UNKNOWN;
        }
        let counts = self.as_f64();
        let moments = Moments::from_counts(&counts);
        let spared = 0.25 / (2.0 * moments.total);
        let elo = elo_of_score(moments.mean.clamp(spared, 1.0 - spared));
        let ends = moments.normal_interval().unwrap_or_else(|| interval(&regularized(&counts)));
        let [low, high] = ends.map(elo_of_score);
        // If every game was won, the bounded end is that of the counts; the estimate inside is only a convention.
        let (low, high) = (low.min(elo), high.max(elo));
        Estimate { elo, error95: (high - low) / 2.0, low, high }
    }

    /// Normalized Elo: (s − ½) / σ · 800 / ln 10, where σ is the standard deviation per game, √2 times that of a
    /// pair's mean score (M. Van den Bergh, "Normalized Elo"); error 1.96 / √games · 800 / ln 10.
    pub fn normalized_elo(&self) -> Estimate {
        if self.pairs() == 0 {
            return UNKNOWN;
        }
        let counts = self.as_f64();
        let mut moments = Moments::from_counts(&counts);
        let games = 2.0 * moments.total;
        if moments.variance == 0.0 {
            moments = Moments::from_counts(&regularized(&counts));
        }
        let deviation = (2.0 * moments.variance).sqrt();
        let elo = ((moments.mean - 0.5) / deviation * NORMALIZED_ELO).clamp(-MAX_ELO, MAX_ELO);
        let error95 = UPPER_QUANTILE / games.sqrt() * NORMALIZED_ELO;
        let [low, high] = [elo - error95, elo + error95].map(|end| end.clamp(-MAX_ELO, MAX_ELO));
        Estimate { elo, error95, low, high }
    }

    /// Likelihood of superiority: Φ((m − ½) / standard error), the probability that A is the stronger, given a flat
    /// prior; ½ without pairs. Where the normal approximation breaks down, the signed root of twice the
    /// log-likelihood ratio of the mean against ½ replaces the argument.
    pub fn los(&self) -> f64 {
        if self.pairs() == 0 {
            return 0.5;
        }
        let counts = self.as_f64();
        let moments = Moments::from_counts(&counts);
        let advantage = moments.mean - 0.5;
        normal_below(match moments.normal_interval() {
            Some(_) => advantage / moments.standard_error(),
            None => (-2.0 * profile(&regularized(&counts), 0.5)).max(0.0).sqrt().copysign(advantage),
        })
    }

    pub(super) fn as_f64(&self) -> [f64; 5] {
        self.counts.map(|n| n as f64)
    }
}

#[derive(Clone, Copy, Debug)]
struct Moments {
    total: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn from_counts(counts: &[f64]) -> Self {
        let total: f64 = counts.iter().sum();
        let score = |i: usize| i as f64 / (counts.len() - 1) as f64;
        let mean = counts.iter().enumerate().map(|(i, n)| n * score(i)).sum::<f64>() / total;
        let variance =
            counts.iter().enumerate().map(|(i, n)| n * (score(i) - mean).powi(2)).sum::<f64>() / total;
        Self { total, mean, variance }
    }

    fn standard_error(&self) -> f64 {
        (self.variance / self.total).sqrt()
    }

    /// 95 % interval of the mean; `None` if the normal approximation cannot hold: it leaves [0, 1], or all counts are
    /// of one score, so that the variance is unknown.
    fn normal_interval(&self) -> Option<[f64; 2]> {
        let half = UPPER_QUANTILE * self.standard_error();
        let ends = [self.mean - half, self.mean + half];
        (self.variance > 0.0 && ends[0] > 0.0 && ends[1] < 1.0).then_some(ends)
    }
}
