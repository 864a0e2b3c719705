//! Loss functions of an expected score, and the scale constant K: pure formulas.

use serde::{Deserialize, Serialize};

use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    #[default]
    Squared,
    CrossEntropy,
    /// |p − y|^q with q ≥ 1.
    Power(f64),
}

impl std::str::FromStr for LossKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "squared" | "mse" => Ok(Self::Squared),
            "cross-entropy" | "ce" => Ok(Self::CrossEntropy),
            _ => match text.strip_prefix("power:").and_then(|q| q.parse::<f64>().ok()) {
                Some(q) if (1.0..=8.0).contains(&q) => Ok(Self::Power(q)),
                _ => Err(Error::Usage(format!(
                    "loss '{text}': expected squared, cross-entropy, or power:Q with Q from 1 to 8"
                ))),
            },
        }
    }
}

impl std::fmt::Display for LossKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Squared => f.write_str("squared"),
            Self::CrossEntropy => f.write_str("cross-entropy"),
            Self::Power(q) => write!(f, "power:{q}"),
        }
    }
}

impl LossKind {
    /// Returns true if the curvature is bounded, so that Gauss–Newton steps make sense.
    pub fn is_smooth(self) -> bool {
        match self {
            Self::Squared | Self::CrossEntropy => true,
            Self::Power(q) => q >= 2.0,
        }
    }

    /// Returns ℓ as a function of the sigmoid's argument x = K ln 10 · s / 400, where p = σ(x).
    ///
    /// Takes x instead of p because 1 − p loses all its digits when p is close to 1.
    #[inline]
    pub fn value(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Squared => (sigmoid(x) - y).powi(2),
            // −y ln σ(x) − (1 − y) ln σ(−x) = ln(1 + e^x) − x y, in a form that is stable for large |x|.
            Self::CrossEntropy => x.max(0.0) + (-x.abs()).exp().ln_1p() - x * y,
            Self::Power(q) => (sigmoid(x) - y).abs().powf(q),
        }
    }

    #[inline]
    pub fn slope(self, x: f64, y: f64) -> f64 {
        let (p, dp) = (sigmoid(x), sigmoid(x) * sigmoid(-x));
        match self {
            Self::Squared => 2.0 * (p - y) * dp,
            Self::CrossEntropy => p - y,
            Self::Power(q) => {
                let d = p - y;
                if d == 0.0 { 0.0 } else { q * d.abs().powf(q - 1.0) * d.signum() * dp }
            }
        }
    }

    /// Returns the Gauss–Newton curvature h ≥ 0 of ℓ in x: ℓ''(p) · (dp/dx)², omitting the second derivative
    /// of p; for cross-entropy this is the exact p (1 − p).
    #[inline]
    pub fn curvature(self, x: f64, y: f64) -> f64 {
        let dp = sigmoid(x) * sigmoid(-x);
        match self {
            Self::Squared => 2.0 * dp * dp,
            Self::CrossEntropy => dp,
            Self::Power(q) => {
                let d = (sigmoid(x) - y).abs();
                let second = if q == 2.0 { 2.0 } else { q * (q - 1.0) * d.powf(q - 2.0) };
                if second.is_finite() { second * dp * dp } else { 0.0 }
            }
        }
    }

    /// Returns d²ℓ/dx², which may be negative: [`curvature`](Self::curvature) plus the term it omits, ℓ'(p) ·
    /// d²p/dx².
    #[inline]
    pub fn second_derivative(self, x: f64, y: f64) -> f64 {
        let (p, dp) = (sigmoid(x), sigmoid(x) * sigmoid(-x));
        let ddp = dp * (1.0 - 2.0 * p);
        match self {
            Self::Squared => 2.0 * (dp * dp + (p - y) * ddp),
            Self::CrossEntropy => dp,
            Self::Power(q) => {
                let d = p - y;
                let second = if q == 2.0 { 2.0 } else { q * (q - 1.0) * d.abs().powf(q - 2.0) };
                let first = if d == 0.0 { 0.0 } else { q * d.abs().powf(q - 1.0) * d.signum() };
                second * dp * dp + first * ddp
            }
        }
    }
}

#[inline]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns dx/ds: the sigmoid's argument per centipawn, for K in base-10 form.
#[inline]
pub fn x_per_cp(k: f64) -> f64 {
    k * std::f64::consts::LN_10 / 400.0
}

/// Returns p = σ(s) for a score in centipawns and K in base-10 form.
#[inline]
pub fn expected_score(k: f64, score_cp: f64) -> f64 {
    sigmoid(x_per_cp(k) * score_cp)
}

/// Forms in which tuners write the scale constant; see `docs/design.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScaleForms {
    /// 1 / (1 + 10^(−K s / 400)): Texel's original form.
    pub k: f64,
    /// 1 / (1 + e^(−K s / 400)): texel-tuner, Ethereal, Weiss.
    pub k_e: f64,
    /// 1 / (1 + 10^(−s / scale)): MadChess.
    pub win_scale: f64,
    /// 1 / (1 + e^(−s / scale)): pliers.
    pub e_scale: f64,
}

impl ScaleForms {
    /// Converts a base-10 K to all forms.
    pub fn new(k: f64) -> Self {
        let ln10 = std::f64::consts::LN_10;
        Self { k, k_e: k * ln10, win_scale: 400.0 / k, e_scale: 400.0 / (k * ln10) }
    }
}

/// Smallest and largest K, base-10 form, that make a difference: beyond, every score is a draw or decides the
/// game.
const SCALES: (f64, f64) = (1e-4, 1e4);

/// The scale constant in one of the [`ScaleForms`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GivenScale {
    /// [`ScaleForms::k`].
    K(f64),
    /// [`ScaleForms::k_e`].
    KE(f64),
    /// [`ScaleForms::win_scale`].
    WinScale(f64),
    /// [`ScaleForms::e_scale`].
    EScale(f64),
}

impl GivenScale {
    pub fn k(self) -> Result<f64> {
        let ln10 = std::f64::consts::LN_10;
        let (name, given, k) = match self {
            Self::K(k) => ("k", k, k),
            Self::KE(k) => ("k-e", k, k / ln10),
            Self::WinScale(scale) => ("win-scale", scale, 400.0 / scale),
            Self::EScale(scale) => ("e-scale", scale, 400.0 / (scale * ln10)),
        };
        let (low, high) = SCALES;
        if !(k.is_finite() && k > 0.0 && given.is_finite()) {
            return Err(Error::setting(name, given, "must be a positive number"));
        }
        if !(low..=high).contains(&k) {
            let reason = format!("corresponds to {k:e} in base-10 form, which must be from {low} to {high}");
            return Err(Error::setting(name, given, reason));
        }
        Ok(k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_the_derivatives_of_the_values() {
        for loss in [
            LossKind::Squared,
            LossKind::CrossEntropy,
            LossKind::Power(2.0),
            LossKind::Power(2.5),
            LossKind::Power(1.5),
        ] {
            for y in [0.0, 0.3, 0.5, 1.0] {
                for x in [-3.0f64, -0.4, 0.1, 2.0] {
                    let step = 1e-5;
                    let numeric = (loss.value(x + step, y) - loss.value(x - step, y)) / (2.0 * step);
                    let exact = loss.slope(x, y);
                    assert!((numeric - exact).abs() < 1e-8, "{loss} {y} {x}: {numeric} {exact}");
                    let numeric = (loss.slope(x + step, y) - loss.slope(x - step, y)) / (2.0 * step);
                    let exact = loss.second_derivative(x, y);
                    assert!((numeric - exact).abs() < 1e-8, "{loss} {y} {x}: {numeric} {exact}");
                }
            }
        }
    }

    #[test]
    fn every_form_of_k_is_read() {
        let ScaleForms { k, k_e, win_scale, e_scale } = ScaleForms::new(0.8190959);
        let forms = [
            GivenScale::K(k),
            GivenScale::KE(k_e),
            GivenScale::WinScale(win_scale),
            GivenScale::EScale(e_scale),
        ];
        for form in forms {
            assert!((form.k().unwrap() / k - 1.0).abs() < 1e-12, "{form:?}");
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-5] {
            assert!(GivenScale::K(bad).k().is_err(), "{bad}");
        }
    }

    #[test]
    fn scale_forms_agree() {
        let forms = ScaleForms::new(0.8190959);
        assert!((forms.k_e - 1.886038).abs() < 1e-6);
        assert!((forms.win_scale - 488.3433).abs() < 1e-3);
        let (s, ln10) = (37.0f64, std::f64::consts::LN_10);
        let p = expected_score(forms.k, s);
        assert!((p - 1.0 / (1.0 + (-forms.k_e * s / 400.0).exp())).abs() < 1e-15);
        assert!((p - 1.0 / (1.0 + (-s * ln10 / forms.win_scale).exp())).abs() < 1e-15);
        assert!((p - 1.0 / (1.0 + (-s / forms.e_scale).exp())).abs() < 1e-15);
    }

    #[test]
    fn cross_entropy_is_right_at_the_ends() {
        assert_eq!(LossKind::CrossEntropy.value(800.0, 1.0), 0.0);
        assert_eq!(LossKind::CrossEntropy.value(-800.0, 0.0), 0.0);
        assert_eq!(LossKind::CrossEntropy.value(800.0, 0.0), 800.0);
        let (p, y) = (expected_score(1.2, 77.0), 0.3);
        let value = LossKind::CrossEntropy.value(x_per_cp(1.2) * 77.0, y);
        assert!((value + y * p.ln() + (1.0 - y) * (1.0 - p).ln()).abs() < 1e-15);
    }
}
