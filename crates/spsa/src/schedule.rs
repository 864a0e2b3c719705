//! How gains and perturbations shrink over the iterations: zamar's form of Spall's sequences.

use serde::{Deserialize, Serialize};

use super::variables::positive;
use gputexel_io::{Error, Result};

/// Sequences of c and R as shares of their values at the last iteration.
///
/// With c = c_end N^γ, a = r_end c_end² (A + N)^α, c_k = c / k^γ and a_k = a / (A + k)^α, k from 1 to N in
/// pairs of games (`spsa.pl`; Spall counts k from 0), perturbation and gain are
///
/// c_k = c_end (N / k)^γ and R_k = a_k / c_k² = r_end ((A + N) / (A + k))^α (k / N)^{2γ}.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub iterations: u64,
    /// A: iterations over which gains are held back at the start; at least 0.
    pub stability: f64,
    /// α, by which the gain falls; 0 for constant gains.
    pub alpha: f64,
    /// γ, by which the perturbation falls; 0 for constant perturbations.
    pub gamma: f64,
}

impl Schedule {
    /// Spall's exponents, and A = N / 10.
    pub fn new(iterations: u64) -> Self {
        Self { iterations, stability: iterations as f64 / 10.0, alpha: 0.602, gamma: 0.101 }
    }

    /// Refuses N = 0, and what is negative or not finite.
    pub fn validate(&self) -> Result<()> {
        positive("iterations", self.iterations as f64)?;
        for (name, value) in [("A", self.stability), ("alpha", self.alpha), ("gamma", self.gamma)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Usage(format!("{name} {value}: must be a number that is not negative")));
            }
        }
        Ok(())
    }

    /// c_k / c_end at iteration `k` ≥ 1.
    pub fn c_factor(&self, k: u64) -> f64 {
        (self.iterations as f64 / k as f64).powf(self.gamma)
    }

    /// R_k / r_end at iteration `k` ≥ 1.
    pub fn r_factor(&self, k: u64) -> f64 {
        let (n, k) = (self.iterations as f64, k as f64);
        ((self.stability + n) / (self.stability + k)).powf(self.alpha) * (k / n).powf(2.0 * self.gamma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_the_script() {
        let schedule = Schedule { iterations: 400, stability: 40.0, alpha: 0.602, gamma: 0.101 };
        let (c_end, r_end, n) = (50.0, 0.002, 400.0f64);
        let (c, a_end) = (c_end * n.powf(0.101), r_end * c_end * c_end);
        let a = a_end * (40.0 + n).powf(0.602);
        for k in [1, 17, 399, 400] {
            let (a_k, c_k) = (a / (40.0 + k as f64).powf(0.602), c / (k as f64).powf(0.101));
            assert!((c_end * schedule.c_factor(k) / c_k - 1.0).abs() < 1e-14);
            assert!((r_end * schedule.r_factor(k) * c_k * c_k / a_k - 1.0).abs() < 1e-14);
        }
        assert_eq!((schedule.c_factor(400), schedule.r_factor(400)), (1.0, 1.0));
    }
}
