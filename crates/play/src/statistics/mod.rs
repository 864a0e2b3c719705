//! Statistics of match results.
//!
//! The two games of a pair are not independent (the opening favors the same color in both), so errors come from the
//! variance of pairs; counting single games overstates them.

mod likelihood;
mod pentanomial;
mod sprt;

pub use pentanomial::Pentanomial;
pub use sprt::{EloModel, Sprt, SprtState};

use serde::{Deserialize, Serialize};

/// A score of one in a million.
pub const MAX_ELO: f64 = 2400.0;
/// Normalized Elo of one standard deviation per game: 800 / ln 10, so that normalized and logistic Elo agree if all
/// games are decisive and the players are nearly equal.
const NORMALIZED_ELO: f64 = 800.0 / std::f64::consts::LN_10;

/// From A's view, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub elo: f64,
    /// Half the width of the interval.
    pub error95: f64,
    /// The interval is not symmetric about `elo`.
    pub low: f64,
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

fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}
