//! Damping of Levenberg–Marquardt steps.

use serde::{Deserialize, Serialize};

/// Smallest damping: below it, rounding errors of the matrix (f32 products) dominate.
const LEAST: f64 = 1e-9;
/// Beyond this damping a step is a tiny fraction of a centipawn: there is nothing left to gain.
const MOST: f64 = 1e9;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Damping {
    pub value: f64,
    pub growth: f64,
}

impl Damping {
    pub fn new(value: f64) -> Self {
        Self { value: value.max(LEAST), growth: 2.0 }
    }

    /// Reduces the damping after a step that gained: if it gained as much as predicted, by a factor of 3 (Nielsen,
    /// "Damping parameter in Marquardt's method", 1999).
    pub fn ease(&mut self, gained: f64, promised: f64) {
        let ratio = gained / promised.max(f64::MIN_POSITIVE);
        let factor = (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(1.0 / 10.0, 2.0);
        *self = Self { value: (self.value * factor).max(LEAST), growth: 2.0 };
    }

    pub fn raise(&mut self) {
        *self = Self { value: (self.value * self.growth).min(2.0 * MOST), growth: 2.0 * self.growth };
    }

    pub fn is_most(&self) -> bool {
        self.value >= MOST
    }

    pub fn is_beyond(&self) -> bool {
        self.value > MOST
    }
}

/// Returns the largest component of a gradient; `None` before there is one.
pub(super) fn largest_slope(gradient: &[f64]) -> Option<f64> {
    let norm = gradient.iter().fold(0.0f64, |norm, slope| norm.max(slope.abs()));
    (!gradient.is_empty()).then_some(norm)
}
