//! Settings that all methods share, and the noise of games.

use serde::{Deserialize, Serialize};

use super::method_kind::MethodKind;
use super::schedule::Schedule;
use super::variables::{Rounding, positive};
use gputexel_io::{Error, Result};

/// How noisy the score of a pair of games is: τ², its variance in units of y ∈ {−2, …, 2}.
///
/// Games drawn with probability D and won and lost about equally often have τ² = 2 (1 − D).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    /// τ itself.
    Tau(f64),
    DrawRate(f64),
    /// Measured from the pairs played so far, with a first guess of the draw rate that counts like
    /// [`Noise::GUESS_PAIRS`] pairs. Openings of unequal difficulty correlate the two games of a pair; the
    /// variance of pairs has that in it, which the draw rate has not.
    Measured(f64),
}

impl std::str::FromStr for Noise {
    type Err = Error;

    /// `measured`, or τ.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "measured" => Ok(Self::Measured(0.5)),
            _ => text
                .parse()
                .map(Self::Tau)
                .map_err(|_| Error::setting("tau", text, "expected a number, or measured")),
        }
    }
}

impl Noise {
    /// Pairs of games that a first guess of the draw rate is worth.
    pub const GUESS_PAIRS: f64 = 50.0;

    /// Refuses τ that is not positive and draw rates outside 0 to 1.
    pub fn validate(self) -> Result<()> {
        match self {
            Self::Tau(tau) => positive("tau", tau),
            Self::DrawRate(rate) | Self::Measured(rate) => check_draw_rate(rate),
        }
    }

    /// τ² after pairs with −2, −1, 0, 1 and 2, counted.
    pub fn variance(self, pairs: &[u64; 5]) -> f64 {
        match self {
            Self::Tau(tau) => tau * tau,
            Self::DrawRate(rate) => 2.0 * (1.0 - rate),
            Self::Measured(rate) => {
                let count: f64 = pairs.iter().map(|&n| n as f64).sum();
                let y = |i: usize| i as f64 - 2.0;
                let mean = (0..5).map(|i| pairs[i] as f64 * y(i)).sum::<f64>() / count.max(1.0);
                let squares: f64 = (0..5).map(|i| pairs[i] as f64 * (y(i) - mean).powi(2)).sum();
                (Self::GUESS_PAIRS * 2.0 * (1.0 - rate) + squares) / (Self::GUESS_PAIRS + count)
            }
        }
    }
}

/// Refuses a share of draws outside 0 to 1; where all games are drawn nothing can be learnt.
pub fn check_draw_rate(rate: f64) -> Result<()> {
    if (0.0..1.0).contains(&rate) {
        Ok(())
    } else {
        Err(Error::Usage(format!("draw rate {rate}: must be at least 0 and less than 1")))
    }
}

/// Settings of a run: the method, its schedule, and how values are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub method: MethodKind,
    /// Gains over the iterations; of the Bayesian methods only c's part is used.
    pub schedule: Schedule,
    /// τ² of the Bayesian methods.
    pub noise: Noise,
    pub rounding: Rounding,
    /// Update with the perturbation that was meant, as the ancestors do, and not with what clamping and rounding
    /// left of it.
    pub as_published: bool,
}

impl Settings {
    /// A method with the usual schedule over `iterations` pairs of games and a known draw rate.
    pub fn new(method: MethodKind, iterations: u64, draw_rate: f64) -> Self {
        Self {
            method,
            schedule: Schedule::new(iterations),
            noise: Noise::DrawRate(draw_rate),
            rounding: Rounding::default(),
            as_published: false,
        }
    }

    pub fn validate(&self) -> Result<()> {
        self.schedule.validate()?;
        self.noise.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_noise_goes_from_the_guess_to_the_truth() {
        let noise = Noise::Measured(0.5);
        assert_eq!(noise.variance(&[0; 5]), 1.0);
        // Half of the games drawn, independent: 1/16, 4/16, 6/16, 4/16, 1/16.
        let measured = noise.variance(&[1_000, 4_000, 6_000, 4_000, 1_000]);
        assert!((measured - 1.0).abs() < 1e-9, "{measured}");
        // Pairs that always cancel out say nothing.
        assert!(noise.variance(&[0, 0, 1_000_000, 0, 0]) < 1e-4);
        assert!((Noise::DrawRate(0.82).variance(&[0; 5]) - 0.36).abs() < 1e-12);
        assert_eq!(Noise::Tau(0.5).variance(&[9; 5]), 0.25);
    }
}
