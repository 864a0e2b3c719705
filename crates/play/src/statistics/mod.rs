//! Statistics of match results: Elo with its error, likelihood of superiority, and SPRT.
//!
//! Owns counts of results ([`Pentanomial`] for pairs of games from one opening with colors swapped, [`Trinomial`] for
//! single games) and everything computed from them. Knows neither games nor engines. The two games of a pair are not
//! independent (the opening favors the same color in both), so errors come from the variance of pairs; counting single
//! games overstates them.

mod likelihood;
mod pentanomial;
mod sprt;
mod trinomial;

pub use pentanomial::Pentanomial;
pub use sprt::{EloModel, Sprt, SprtState};
pub use trinomial::Trinomial;

use likelihood::{UPPER_QUANTILE, interval, profile, regularized};
use serde::{Deserialize, Serialize};

/// Elo differences are clamped to this magnitude, which is a score of one in a million.
pub const MAX_ELO: f64 = 2400.0;

/// Normalized Elo of one standard deviation per game: 800 / ln 10, so that normalized and logistic Elo agree if all
/// games are decisive and the players are nearly equal.
const NORMALIZED_ELO: f64 = 800.0 / std::f64::consts::LN_10;

/// A difference in Elo, from A's view, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate itself.
    pub elo: f64,
    /// Half the width of the interval: the number after "±".
    pub error95: f64,
    /// Lower end of the interval, which is not symmetric about `elo`.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Returns the expected score in (0, 1) of a player that is `elo` points stronger: 1 / (1 + 10^(−elo/400)).
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Returns the difference in Elo at which `score`, in [0, 1] per game, is expected: −400 log₁₀(1/score − 1), clamped to
/// ±[`MAX_ELO`].
pub fn elo_of_score(score: f64) -> f64 {
    // Not negative zero.
    (0.0 - 400.0 * (1.0 / score - 1.0).log10()).clamp(-MAX_ELO, MAX_ELO)
}

/// Returns the probability that a standard normal variable is below `z`.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Mean and variance of counts of equally spaced scores, the first 0 and the last 1.
#[derive(Clone, Copy, Debug)]
struct Moments {
    total: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(counts: &[f64]) -> Self {
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

    /// Returns the normal 95 % interval of the mean; `None` if the normal approximation cannot hold: it leaves [0, 1],
    /// or all counts are of one score, so that the variance is unknown.
    fn normal_interval(&self) -> Option<[f64; 2]> {
        let half = UPPER_QUANTILE * self.standard_error();
        let ends = [self.mean - half, self.mean + half];
        (self.variance > 0.0 && ends[0] > 0.0 && ends[1] < 1.0).then_some(ends)
    }
}

fn as_f64<const N: usize>(counts: &[u64; N]) -> [f64; N] {
    counts.map(|n| n as f64)
}

/// Computes logistic Elo from counts of scores.
///
/// The mean score m has the standard error √(variance / total); the ends of the interval m ± 1.96 standard errors are
/// mapped by the logistic, as fishtest and fastchess do. Where the normal approximation breaks down (few results, or
/// almost only wins), the ends are those of the likelihood ratio interval of the multinomial instead, which stays in
/// (0, 1). A player who won (lost) everything is rated as if a quarter of a point were missing (made); without results
/// the estimate is 0 ± [`MAX_ELO`].
fn logistic_elo<const N: usize>(counts: &[u64; N], games_each: f64) -> Estimate {
    let counts = as_f64(counts);
    let moments = Moments::of(&counts);
    if moments.total == 0.0 {
        return Estimate { elo: 0.0, error95: MAX_ELO, low: -MAX_ELO, high: MAX_ELO };
    }
    let spared = 0.25 / (games_each * moments.total);
    let elo = elo_of_score(moments.mean.clamp(spared, 1.0 - spared));
    let ends = moments.normal_interval().unwrap_or_else(|| interval(&regularized(&counts)));
    let [low, high] = ends.map(elo_of_score);
    // If every game was won, the bounded end is that of the counts; the estimate inside is only a convention.
    let (low, high) = (low.min(elo), high.max(elo));
    Estimate { elo, error95: (high - low) / 2.0, low, high }
}

/// Computes normalized Elo from counts of scores: the mean advantage per game in standard deviations of a game, times
/// 800 / ln 10.
///
/// From M. Van den Bergh, "Normalized Elo" (fishtest's documentation): (m − ½) / σ · 800 / ln 10 with σ the deviation
/// per game, which for pairs is √2 times that of the pair's mean score. The statistical power of a match depends on
/// normalized Elo, regardless of the share of draws. The error is 1.96 / √games · 800 / ln 10, that of the mean alone.
fn normalized_elo<const N: usize>(counts: &[u64; N], games_each: f64) -> Estimate {
    let counts = as_f64(counts);
    let mut moments = Moments::of(&counts);
    if moments.total == 0.0 {
        return Estimate { elo: 0.0, error95: MAX_ELO, low: -MAX_ELO, high: MAX_ELO };
    }
    let games = games_each * moments.total;
    if moments.variance == 0.0 {
        moments = Moments::of(&regularized(&counts));
    }
    let deviation = (games_each * moments.variance).sqrt();
    let elo = ((moments.mean - 0.5) / deviation * NORMALIZED_ELO).clamp(-MAX_ELO, MAX_ELO);
    let error95 = UPPER_QUANTILE / games.sqrt() * NORMALIZED_ELO;
    let [low, high] = [elo - error95, elo + error95].map(|end| end.clamp(-MAX_ELO, MAX_ELO));
    Estimate { elo, error95, low, high }
}

/// Computes the likelihood of superiority: Φ((m − ½) / standard error), the probability in [0, 1] that A is the
/// stronger, given a flat prior; ½ without results.
///
/// Where the normal approximation breaks down, the signed root of twice the log-likelihood ratio of the mean against ½
/// replaces the argument, as in [`logistic_elo`].
fn superiority<const N: usize>(counts: &[u64; N]) -> f64 {
    let counts = as_f64(counts);
    let moments = Moments::of(&counts);
    if moments.total == 0.0 {
        return 0.5;
    }
    let advantage = moments.mean - 0.5;
    normal_below(match moments.normal_interval() {
        Some(_) => advantage / moments.standard_error(),
        None => (-2.0 * profile(&regularized(&counts), 0.5)).max(0.0).sqrt().copysign(advantage),
    })
}
