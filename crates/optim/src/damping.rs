//! The damping of Levenberg–Marquardt steps, with matrices and by conjugate gradients.

/// Smallest damping: below it, rounding errors of the matrix (f32 products) dominate.
const LEAST: f64 = 1e-9;
/// Beyond this damping a step is a tiny fraction of a centipawn: there is nothing left to gain.
const MOST: f64 = 1e9;

/// The damping, and by how much it grows when a step fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damping {
    pub value: f64,
    pub growth: f64,
}

impl Damping {
    pub fn new(value: f64) -> Self {
        Self { value: value.max(LEAST), growth: 2.0 }
    }

    /// After a step that gained: if as much as was promised, the damping is divided by 3 (Nielsen, "Damping parameter in
    /// Marquardt's method", 1999).
    pub fn ease(&mut self, gained: f64, promised: f64) {
        let ratio = gained / promised.max(f64::MIN_POSITIVE);
        let factor = (1.0 - (2.0 * ratio - 1.0).powi(3)).clamp(1.0 / 10.0, 2.0);
        *self = Self { value: (self.value * factor).max(LEAST), growth: 2.0 };
    }

    /// After a step that failed: ever faster.
    pub fn raise(&mut self) {
        *self = Self { value: (self.value * self.growth).min(2.0 * MOST), growth: 2.0 * self.growth };
    }

    /// Whether it is as large as makes sense.
    pub fn is_most(&self) -> bool {
        self.value >= MOST
    }

    /// Whether it has been raised beyond that.
    pub fn is_beyond(&self) -> bool {
        self.value > MOST
    }
}

/// The largest component of a gradient; `None` before there is one.
pub(super) fn largest_slope(gradient: &[f64]) -> Option<f64> {
    let norm = gradient.iter().fold(0.0f64, |norm, slope| norm.max(slope.abs()));
    (!gradient.is_empty()).then_some(norm)
}
