//! The search for weights: Newton's method on their logarithms, within bounds.

use gputexel_io::Result;
use gputexel_optim::linalg::Cholesky;

pub(super) type Function<'a> = dyn FnMut(&[f64]) -> Result<Derivatives> + 'a;

/// Largest step of any coordinate: a factor of e² in a weight.
const LARGEST_STEP: f64 = 2.0;

/// Value, gradient and matrix of second derivatives (row-major) of a function at a point.
#[derive(Clone, Debug)]
pub(super) struct Derivatives {
    pub value: f64,
    pub gradient: Vec<f64>,
    pub curvature: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// Ends when the predicted gain of the next step is less than this.
    pub gain: f64,
    pub evaluations: usize,
}

impl Derivatives {
    pub fn sum(all: &[Self], n: usize) -> Self {
        let zero = Self { value: 0.0, gradient: vec![0.0; n], curvature: vec![0.0; n * n] };
        all.iter().fold(zero, |sum, one| sum.plus(1.0, one))
    }

    pub fn plus(mut self, factor: f64, other: &Self) -> Self {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += factor * b);
        self.value += factor * other.value;
        add(&mut self.gradient, &other.gradient);
        add(&mut self.curvature, &other.curvature);
        self
    }

    pub fn by_logarithms(mut self, x: &[f64]) -> Self {
        let n = x.len();
        self.gradient.iter_mut().zip(x).for_each(|(slope, x)| *slope *= x);
        self.curvature.iter_mut().enumerate().for_each(|(at, value)| *value *= x[at / n] * x[at % n]);
        (0..n).for_each(|i| self.curvature[i * (n + 1)] += self.gradient[i]);
        self
    }

    /// Returns Newton's step from a point within limits, of which no coordinate is larger than [`LARGEST_STEP`].
    pub fn step(&self, x: &[f64], limits: &Limits) -> Vec<f64> {
        let n = x.len();
        let held: Vec<bool> = (0..n)
            .map(|i| {
                (x[i] <= limits.low[i] && self.gradient[i] > 0.0)
                    || (x[i] >= limits.high[i] && self.gradient[i] < 0.0)
            })
            .collect();
        let slope = |i: usize| if held[i] { 0.0 } else { self.gradient[i] };
        // Square roots of the diagonal, by which everything is scaled.
        let root = |i: usize| self.curvature[i * (n + 1)].abs().max(slope(i).abs() / LARGEST_STEP).sqrt();
        let scales: Vec<f64> =
            (0..n).map(|i| if slope(i) == 0.0 { f64::INFINITY } else { root(i) }).collect();
        let scaled = |i: usize, j: usize| self.curvature[i * n + j] / (scales[i] * scales[j]);
        let mut step: Vec<f64> = (0..n).map(|i| -slope(i) / scales[i]).collect();
        let shares = (0..).map(|tries| 0.8f64.powi(tries));
        let factor = shares
            .take(40)
            .find_map(|share| Cholesky::new(n, |i, j| if i == j { 1.0 } else { share * scaled(i, j) }));
        if let Some(factor) = factor {
            factor.solve(&mut step);
        }
        step.iter_mut().zip(&scales).for_each(|(step, scale)| *step /= scale);
        let longest = step.iter().fold(0.0f64, |longest, d| longest.max(d.abs()));
        let shrink = (LARGEST_STEP / longest).min(1.0);
        step.iter_mut().for_each(|d| *d *= shrink);
        step
    }
}

pub(super) fn minimize(
    start: &[f64],
    limits: &Limits,
    function: &mut Function<'_>,
) -> Result<(Vec<f64>, f64)> {
    let Limits { low, high, gain, evaluations } = limits;
    let clamp = |i: usize, x: f64| x.clamp(low[i], high[i]);
    let mut x: Vec<f64> = start.iter().enumerate().map(|(i, &x)| clamp(i, x)).collect();
    let mut at = function(&x)?;
    let mut left = evaluations.saturating_sub(1);
    while left > 0 {
        let direction = at.step(&x, limits);
        let descent: f64 = direction.iter().zip(&at.gradient).map(|(d, g)| d * g).sum();
        if -descent <= *gain {
            break;
        }
        let (mut share, mut moved) = (1.0, None);
        while left > 0 {
            let trial: Vec<f64> =
                x.iter().zip(&direction).enumerate().map(|(i, (x, d))| clamp(i, x + share * d)).collect();
            let there = function(&trial)?;
            left -= 1;
            if there.value <= at.value + 1e-4 * share * descent {
                moved = Some((trial, there));
                break;
            }
            // The minimum of the parabola through the known values.
            let bent = there.value - at.value - share * descent;
            share *= (-0.5 * share * descent / bent).clamp(0.1, 0.5);
            if share * -descent < *gain {
                break;
            }
        }
        let Some((next, there)) = moved else { break };
        let gained = at.value - there.value;
        (x, at) = (next, there);
        if gained < *gain {
            break;
        }
    }
    Ok((x, at.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(n: usize, gain: f64) -> Limits {
        Limits { low: vec![-5.0; n], high: vec![5.0; n], gain, evaluations: 200 }
    }

    #[test]
    fn curved_valleys_and_bounds_are_followed() {
        // Rosenbrock's function, with its minimum at (1, 1).
        let mut rosenbrock = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            let across = -400.0 * x[0];
            Ok(Derivatives {
                value: a * a + 100.0 * b * b,
                gradient: vec![-2.0 * a + across * b, 200.0 * b],
                curvature: vec![2.0 - 400.0 * b - 2.0 * across * x[0], across, across, 200.0],
            })
        };
        let (x, value) = minimize(&[-1.2, 1.0], &limits(2, 1e-14), &mut rosenbrock).unwrap();
        assert!(value < 1e-10 && (x[0] - 1.0).abs() < 1e-4, "{x:?} {value}");
        // The minimum of the second coordinate is outside.
        let mut bowl = |x: &[f64]| {
            let (a, b) = (x[0] - 2.0, x[1] - 9.0);
            Ok(Derivatives {
                value: a * a + a * b + b * b,
                gradient: vec![2.0 * a + b, a + 2.0 * b],
                curvature: vec![2.0, 1.0, 1.0, 2.0],
            })
        };
        let (x, _) = minimize(&[0.0, 0.0], &limits(2, 1e-14), &mut bowl).unwrap();
        assert!(x[1] == 5.0 && (x[0] - 4.0).abs() < 1e-5, "{x:?}");
    }

    #[test]
    fn derivatives_by_logarithms_are_those_of_the_function_of_them() {
        // x² y³ is exp(2 a + 3 b) in the logarithms a and b.
        let (x, y) = (0.7f64, 1.3f64);
        let value = x.powi(2) * y.powi(3);
        let mixed = 6.0 * x * y.powi(2);
        let by_x = Derivatives {
            value,
            gradient: vec![2.0 * value / x, 3.0 * value / y],
            curvature: vec![2.0 * y.powi(3), mixed, mixed, 6.0 * x.powi(2) * y],
        };
        let Derivatives { gradient, curvature, .. } = by_x.by_logarithms(&[x, y]);
        let close = |got: &[f64], factors: &[f64]| {
            got.iter().zip(factors).all(|(got, factor)| (got - factor * value).abs() < 1e-12)
        };
        assert!(
            close(&gradient, &[2.0, 3.0]) && close(&curvature, &[4.0, 6.0, 6.0, 9.0]),
            "{gradient:?} {curvature:?}"
        );
    }

    #[test]
    fn a_small_promise_ends_the_search() {
        let mut calls = 0;
        let mut flat = |x: &[f64]| {
            calls += 1;
            Ok(Derivatives { value: 1e-3 * x[0], gradient: vec![1e-3], curvature: vec![0.0] })
        };
        assert_eq!(minimize(&[3.0], &limits(1, 1.0), &mut flat).unwrap(), (vec![3.0], 3e-3));
        assert_eq!(calls, 1);
    }
}
