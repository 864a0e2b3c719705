//! The model: probabilities of win, draw and loss.

use serde::{Deserialize, Serialize};

use crate::wdl::variable::Variable;

/// The win/draw/loss model of Stockfish: for the side to move, with a score x in the units of the engine,
///
/// > W(x) = 1 / (1 + e^(−(x − a) / b)), L(x) = W(−x), D(x) = 1 − W(x) − L(x),
///
/// where a and b are polynomials in m / target: a is the score that wins half of the games, b the spread. D is positive
/// where a is. (Official Stockfish, "WDL_model", Readme.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WdlModel {
    /// The variable m.
    pub by: Variable,
    /// Lowest and highest m of the data; beyond them the curves are constant.
    pub range: (u16, u16),
    /// Reference value of m, at which the polynomial equals the sum of its coefficients.
    pub target: u16,
    /// Coefficients of a, ascending powers of m / target.
    pub a: Vec<f64>,
    /// Coefficients of b, likewise.
    pub b: Vec<f64>,
}

/// Evaluates c₀ + c₁ t + c₂ t² + …
pub(crate) fn polynomial(coefficients: &[f64], t: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * t + c)
}

impl WdlModel {
    /// Returns a and b at m, which is first clamped to the range.
    pub fn curves(&self, m: f64) -> (f64, f64) {
        let t = m.clamp(f64::from(self.range.0), f64::from(self.range.1)) / f64::from(self.target);
        (polynomial(&self.a, t), polynomial(&self.b, t))
    }

    /// Returns the probabilities of win, draw and loss of the side to move.
    pub fn probabilities(&self, score: f64, m: f64) -> [f64; 3] {
        let (a, b) = self.curves(m);
        probabilities(score, a, b)
    }

    /// Returns the score in the engine's units that wins half of the games at the target: 100 of the centipawns that
    /// the engine prints. Known as `NormalizeToPawnValue`.
    pub fn pawn_value(&self) -> f64 {
        self.curves(f64::from(self.target)).0
    }

    /// Returns the draw rate in even positions at the target.
    pub fn draw_rate(&self) -> f64 {
        self.probabilities(0.0, f64::from(self.target))[1]
    }
}

/// Returns the probabilities of win, draw and loss for given a and b.
pub(crate) fn probabilities(score: f64, a: f64, b: f64) -> [f64; 3] {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (u, v) = ((score - a) / b, (-score - a) / b);
    // 1 − W − L without cancellation.
    let draw = -(-2.0 * a / b).exp_m1() * sigmoid(-u) * sigmoid(-v);
    [sigmoid(u), draw, sigmoid(v)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_and_mirror() {
        let model = WdlModel {
            by: Variable::Material,
            range: (17, 78),
            target: 58,
            a: vec![300.0, -50.0, 20.0, 10.0],
            b: vec![60.0, 10.0, -5.0, 1.0],
        };
        for m in [0.0, 17.0, 40.0, 58.0, 78.0, 100.0] {
            for score in [-3000.0, -280.0, 0.0, 15.0, 280.0, 3000.0] {
                let [w, d, l] = model.probabilities(score, m);
                assert!((w + d + l - 1.0).abs() < 1e-12 && d >= 0.0, "{w} {d} {l}");
                let [lost, drawn, won] = model.probabilities(-score, m);
                assert!((lost - l).abs() < 1e-12 && (drawn - d).abs() < 1e-12 && (won - w).abs() < 1e-12);
            }
        }
        assert!((model.pawn_value() - 280.0).abs() < 1e-9);
        assert!((model.probabilities(280.0, 58.0)[0] - 0.5).abs() < 1e-12);
        assert!((model.draw_rate() - (280.0f64 / 66.0 / 2.0).tanh()).abs() < 1e-12);
        assert_eq!(model.curves(5.0), model.curves(17.0));
    }
}
