//! The likelihood of the results and its derivatives.
//!
//! With u = (x − a) / b, v = (−x − a) / b and c = 2 a / b, the probability of a draw is
//! (1 − e^(−c)) σ(−u) σ(−v), so that all logarithms are sums of terms in u, v and c alone:
//!
//! > ln W = ln σ(u), ln L = ln σ(v), ln D = ln (1 − e^(−c)) + ln σ(−u) + ln σ(−v).

use crate::wdl::counts::Cell;

/// Derivatives by a and b.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Terms {
    pub value: f64,
    pub a: f64,
    pub b: f64,
    pub aa: f64,
    pub ab: f64,
    pub bb: f64,
}

impl Terms {
    pub fn add(&mut self, other: Self) {
        self.value += other.value;
        self.a += other.a;
        self.b += other.b;
        self.aa += other.aa;
        self.ab += other.ab;
        self.bb += other.bb;
    }
}

/// ln (1 + e^x).
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

/// Returns the log likelihood of a cell, and its derivatives by a and b, which must be positive.
pub(crate) fn terms(cell: &Cell, a: f64, b: f64) -> Terms {
    let [wins, draws, losses] = cell.counts;
    let (u, v, c) = ((cell.score - a) / b, (-cell.score - a) / b, 2.0 * a / b);
    let (su, sv) = (sigmoid(u), sigmoid(v));
    let grown = c.exp_m1();
    let mut value = -wins * softplus(-u) - losses * softplus(-v);
    // Derivatives by u, v and c.
    let (mut gc, mut gcc) = (0.0, 0.0);
    if draws > 0.0 {
        value += draws * ((-(-c).exp_m1()).ln() - softplus(u) - softplus(v));
        gc = draws / grown;
        // The product is infinite for large c only, where the quotient is 0.
        gcc = draws / (grown * (-c).exp_m1());
    }
    let gu = wins * (1.0 - su) - draws * su;
    let gv = losses * (1.0 - sv) - draws * sv;
    let guu = -(wins + draws) * su * (1.0 - su);
    let gvv = -(losses + draws) * sv * (1.0 - sv);
    let square = b * b;
    Terms {
        value,
        a: (2.0 * gc - gu - gv) / b,
        b: -(u * gu + v * gv + c * gc) / b,
        aa: (guu + gvv + 4.0 * gcc) / square,
        ab: (u * guu + v * gvv + gu + gv - 2.0 * c * gcc - 2.0 * gc) / square,
        bb: (u * u * guu + v * v * gvv + c * c * gcc + 2.0 * (u * gu + v * gv + c * gc)) / square,
    }
}

/// The likelihood as a function of the coefficients of a, then of b, ascending powers.
pub(crate) struct Likelihood<'a> {
    pub rows: &'a [(u16, Vec<Cell>)],
    pub degree: usize,
    pub target: f64,
}

/// The negative log likelihood, its gradient, and its Hessian, row-major.
pub(crate) struct Value {
    pub value: f64,
    pub gradient: Vec<f64>,
    pub hessian: Vec<f64>,
}

impl Likelihood<'_> {
    /// Returns the powers of m / target.
    pub fn powers(&self, value: u16) -> Vec<f64> {
        let t = f64::from(value) / self.target;
        (0..=self.degree as i32).map(|power| t.powi(power)).collect()
    }

    /// Returns a and b, or `None` if one of them is not positive.
    pub fn curves(powers: &[f64], coefficients: &[f64]) -> Option<(f64, f64)> {
        let (of_a, of_b) = coefficients.split_at(powers.len());
        let value = |of: &[f64]| powers.iter().zip(of).map(|(power, c)| power * c).sum::<f64>();
        let (a, b) = (value(of_a), value(of_b));
        (a > 0.0 && b > 0.0).then_some((a, b))
    }

    /// Evaluates the likelihood; `None` where a or b is not positive.
    pub fn at(&self, coefficients: &[f64]) -> Option<Value> {
        let (p, n) = (self.degree + 1, 2 * (self.degree + 1));
        let mut out = Value { value: 0.0, gradient: vec![0.0; n], hessian: vec![0.0; n * n] };
        for (value, cells) in self.rows {
            let powers = self.powers(*value);
            let (a, b) = Self::curves(&powers, coefficients)?;
            let mut sum = Terms::default();
            cells.iter().for_each(|cell| sum.add(terms(cell, a, b)));
            out.value -= sum.value;
            for i in 0..p {
                out.gradient[i] -= sum.a * powers[i];
                out.gradient[p + i] -= sum.b * powers[i];
                for j in 0..p {
                    let both = powers[i] * powers[j];
                    out.hessian[i * n + j] -= sum.aa * both;
                    out.hessian[i * n + p + j] -= sum.ab * both;
                    out.hessian[(p + i) * n + j] -= sum.ab * both;
                    out.hessian[(p + i) * n + p + j] -= sum.bb * both;
                }
            }
        }
        out.value.is_finite().then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wdl::model::probabilities;

    fn rows() -> Vec<(u16, Vec<Cell>)> {
        let cell = |score: f64, counts| Cell { score, counts };
        vec![
            (20, vec![cell(-300.0, [1.0, 7.0, 20.0]), cell(0.0, [2.0, 30.0, 3.0])]),
            (58, vec![cell(-20.0, [5.0, 11.0, 6.0]), cell(150.0, [9.0, 4.0, 1.0])]),
            (78, vec![cell(40.0, [3.0, 9.0, 2.0]), cell(390.0, [12.0, 3.0, 0.0])]),
            (64, vec![cell(-390.0, [0.0, 0.0, 8.0])]),
        ]
    }

    #[test]
    fn values_are_logarithms_of_probabilities() {
        for (score, counts) in [(120.0, [1.0, 0.0, 0.0]), (120.0, [0.0, 2.0, 0.0]), (-80.0, [1.0, 3.0, 5.0])]
        {
            let p = probabilities(score, 140.0, 55.0);
            let want: f64 = p.iter().zip(counts).map(|(p, n)| n * p.ln()).sum();
            let got = terms(&Cell { score, counts }, 140.0, 55.0).value;
            assert!((got - want).abs() < 1e-12, "{got} {want}");
        }
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let rows = rows();
        let likelihood = Likelihood { rows: &rows, degree: 3, target: 58.0 };
        let at = [310.0, -160.0, 90.0, -30.0, 70.0, 30.0, -25.0, 6.0];
        let exact = likelihood.at(&at).unwrap();
        for i in 0..8 {
            let step = 1e-4;
            let shifted = |by: f64| {
                let mut x = at;
                x[i] += by;
                likelihood.at(&x).unwrap()
            };
            let (up, down) = (shifted(step), shifted(-step));
            let numeric = (up.value - down.value) / (2.0 * step);
            assert!((numeric - exact.gradient[i]).abs() < 1e-6, "{i}: {numeric} {}", exact.gradient[i]);
            for j in 0..8 {
                let numeric = (up.gradient[j] - down.gradient[j]) / (2.0 * step);
                let got = exact.hessian[i * 8 + j];
                assert!((numeric - got).abs() < 1e-7 * (1.0 + got.abs()), "{i} {j}: {numeric} {got}");
                assert!((got - exact.hessian[j * 8 + i]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn extremes_stay_finite() {
        for (a, b) in [(1e-6, 100.0), (5000.0, 1.0), (1.0, 1e6)] {
            for score in [-4000.0, 0.0, 4000.0] {
                let t = terms(&Cell { score, counts: [1.0, 1.0, 1.0] }, a, b);
                let all = [t.value, t.a, t.b, t.aa, t.ab, t.bb];
                assert!(all.iter().all(|x| x.is_finite()), "{a} {b} {score}: {t:?}");
            }
        }
        let rows = rows();
        let likelihood = Likelihood { rows: &rows, degree: 0, target: 58.0 };
        assert!(likelihood.at(&[-1.0, 5.0]).is_none() && likelihood.at(&[1.0, 0.0]).is_none());
    }
}
