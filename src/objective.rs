//! The mathematics of the tuning problem in f64, without threads or tricks: the reference that
//! every evaluator is tested against, and the source of the losses that are reported.
//!
//! Score of position n (White's view, centipawns):
//! s = b + Σ c_f · (φ · mg_f + (1 − φ) · eg_f); expected score p = 1 / (1 + 10^(−K · s / 400));
//! loss L = Σ w · ℓ(p, y) / Σ w. See Österlund, "Texel's tuning method" (2014).

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// ℓ(p, y): what a wrong prediction costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// (p − y)².
    #[default]
    Squared,
    /// −y ln p − (1 − y) ln(1 − p).
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
    /// Whether the curvature is bounded, so that Gauss–Newton steps make sense.
    pub fn is_smooth(self) -> bool {
        match self {
            Self::Squared | Self::CrossEntropy => true,
            Self::Power(q) => q >= 2.0,
        }
    }

    /// ℓ(p, y).
    pub fn value(self, p: f64, y: f64) -> f64 {
        match self {
            Self::Squared => (p - y) * (p - y),
            // The limits 0 · ln 0 = 0 are taken exactly; elsewhere ln of a tiny p is finite in f64.
            Self::CrossEntropy => {
                let term = |weight: f64, p: f64| {
                    if weight == 0.0 { 0.0 } else { -weight * p.max(f64::MIN_POSITIVE).ln() }
                };
                term(y, p) + term(1.0 - y, 1.0 - p)
            }
            Self::Power(q) => (p - y).abs().powf(q),
        }
    }

    /// dℓ/dx where x = K ln 10 · s / 400 is the sigmoid's argument, dp/dx = p (1 − p).
    pub fn slope(self, p: f64, y: f64) -> f64 {
        match self {
            Self::Squared => 2.0 * (p - y) * p * (1.0 - p),
            Self::CrossEntropy => p - y,
            Self::Power(q) => {
                let d = p - y;
                if d == 0.0 { 0.0 } else { q * d.abs().powf(q - 1.0) * d.signum() * p * (1.0 - p) }
            }
        }
    }

    /// The Gauss–Newton curvature h ≥ 0 of ℓ in x: ℓ''(p) · (dp/dx)² with the second derivative of
    /// p left out; for cross-entropy this is the exact p (1 − p).
    pub fn curvature(self, p: f64, y: f64) -> f64 {
        let slope = p * (1.0 - p);
        match self {
            Self::Squared => 2.0 * slope * slope,
            Self::CrossEntropy => slope,
            Self::Power(q) => {
                let d = (p - y).abs();
                let second = if q == 2.0 { 2.0 } else { q * (q - 1.0) * d.powf(q - 2.0) };
                if second.is_finite() { second * slope * slope } else { 0.0 }
            }
        }
    }
}

/// p = σ(s) for a score in centipawns and K in base-10 form.
pub fn expected_score(k: f64, score_cp: f64) -> f64 {
    1.0 / (1.0 + (-k * std::f64::consts::LN_10 / 400.0 * score_cp).exp())
}

/// The four ways in which tuners write the scale constant; see `docs/design.md`.
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
    /// All forms of a base-10 K.
    pub fn new(k: f64) -> Self {
        let ln10 = std::f64::consts::LN_10;
        Self { k, k_e: k * ln10, win_scale: 400.0 / k, e_scale: 400.0 / (k * ln10) }
    }
}

/// What is minimised, apart from the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Scale constant, base-10 form.
    pub k: f64,
    /// Loss function.
    pub loss: LossKind,
}

/// Score of position `n` under θ (mg of every feature, then eg), centipawns, White's view.
pub fn score(dataset: &Dataset, theta: &[f64], n: usize) -> f64 {
    let (mg, eg) = theta.split_at(dataset.feature_count());
    let row = dataset.row(n);
    let phi = f64::from(row.phase) / f64::from(dataset.phase_max());
    let mut sum = f64::from(row.offset);
    for (id, coefficient) in row.entries() {
        let id = usize::from(id);
        sum += f64::from(coefficient) * (phi * mg[id] + (1.0 - phi) * eg[id]);
    }
    sum
}

/// Scores of all positions, in dataset order.
pub fn scores(dataset: &Dataset, theta: &[f64]) -> Vec<f64> {
    (0..dataset.len()).map(|n| score(dataset, theta, n)).collect()
}

/// Sums over the positions named, from which means are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Mean loss.
    pub loss: f64,
    /// dL/dθ, per centipawn; length twice the number of features.
    pub gradient: Vec<f64>,
}

/// Mean loss over the positions `which`, NaN if their weights sum to 0.
pub fn loss(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = dataset.row(n);
        let p = expected_score(objective.k, score(dataset, theta, n));
        sum += f64::from(row.weight) * objective.loss.value(p, f64::from(row.result));
        weights += f64::from(row.weight);
    }
    sum / weights
}

/// Mean loss and gradient over the positions `which`.
pub fn loss_and_gradient(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> Reference {
    let features = dataset.feature_count();
    let mut gradient = vec![0.0; 2 * features];
    let (mut sum, mut weights) = (0.0, 0.0);
    for n in which {
        let row = dataset.row(n);
        let (weight, y) = (f64::from(row.weight), f64::from(row.result));
        let p = expected_score(objective.k, score(dataset, theta, n));
        sum += weight * objective.loss.value(p, y);
        weights += weight;
        let slope = weight * objective.loss.slope(p, y);
        let phi = f64::from(row.phase) / f64::from(dataset.phase_max());
        for (id, coefficient) in row.entries() {
            gradient[usize::from(id)] += slope * f64::from(coefficient) * phi;
            gradient[features + usize::from(id)] += slope * f64::from(coefficient) * (1.0 - phi);
        }
    }
    let per_cp = objective.k * std::f64::consts::LN_10 / 400.0;
    gradient.iter_mut().for_each(|g| *g *= per_cp / weights);
    Reference { loss: sum / weights, gradient }
}

/// The Gauss–Newton matrix Σ w h x xᵀ / Σ w of the positions `which`, per centipawn squared:
/// symmetric, row-major, 2F × 2F.
pub fn gauss_newton_matrix(
    dataset: &Dataset,
    objective: Objective,
    theta: &[f64],
    which: impl IntoIterator<Item = usize>,
) -> Vec<f64> {
    let features = dataset.feature_count();
    let size = 2 * features;
    let mut matrix = vec![0.0; size * size];
    let mut weights = 0.0;
    let mut x: Vec<(usize, f64)> = Vec::new();
    for n in which {
        let row = dataset.row(n);
        let p = expected_score(objective.k, score(dataset, theta, n));
        let h = f64::from(row.weight) * objective.loss.curvature(p, f64::from(row.result));
        weights += f64::from(row.weight);
        let phi = f64::from(row.phase) / f64::from(dataset.phase_max());
        x.clear();
        for (id, coefficient) in row.entries() {
            x.push((usize::from(id), f64::from(coefficient) * phi));
            x.push((features + usize::from(id), f64::from(coefficient) * (1.0 - phi)));
        }
        for &(i, xi) in &x {
            for &(j, xj) in &x {
                matrix[i * size + j] += h * xi * xj;
            }
        }
    }
    let per_cp = objective.k * std::f64::consts::LN_10 / 400.0;
    matrix.iter_mut().for_each(|value| *value *= per_cp * per_cp / weights);
    matrix
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
                    let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
                    let step = 1e-5;
                    let numeric =
                        (loss.value(sigma(x + step), y) - loss.value(sigma(x - step), y)) / (2.0 * step);
                    let exact = loss.slope(sigma(x), y);
                    assert!((numeric - exact).abs() < 1e-8, "{loss} {y} {x}: {numeric} {exact}");
                }
            }
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
    fn cross_entropy_is_finite_at_the_ends() {
        assert_eq!(LossKind::CrossEntropy.value(0.0, 0.0), 0.0);
        assert_eq!(LossKind::CrossEntropy.value(1.0, 1.0), 0.0);
        assert!(LossKind::CrossEntropy.value(0.0, 1.0).is_finite());
    }
}
