//! The search for weights: BFGS on their logarithms, within bounds.

use gputexel_io::Result;

/// A function to be minimized, with its gradient.
pub(super) type Function<'a> = dyn FnMut(&[f64]) -> Result<(f64, Vec<f64>)> + 'a;

/// Largest step of any coordinate: a factor of e² in a weight.
const LARGEST_STEP: f64 = 2.0;

/// Limits of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bounds of every coordinate.
    pub low: f64,
    pub high: f64,
    /// Ends when the predicted gain of the next step is less than this.
    pub gain: f64,
    /// Maximum number of evaluations of the function.
    pub evaluations: usize,
}

/// Returns the point with the lowest value found, and that value.
pub(super) fn minimize(
    start: &[f64],
    limits: Limits,
    function: &mut Function<'_>,
) -> Result<(Vec<f64>, f64)> {
    let n = start.len();
    let clamp = |x: f64| x.clamp(limits.low, limits.high);
    let mut x: Vec<f64> = start.iter().map(|&x| clamp(x)).collect();
    let (mut value, mut gradient) = function(&x)?;
    let mut left = limits.evaluations.saturating_sub(1);
    // Inverse of the curvature, row-major; 0 before the first step is known.
    let mut inverse: Vec<f64> = Vec::new();
    while left > 0 {
        let held: Vec<bool> = (0..n)
            .map(|i| (x[i] <= limits.low && gradient[i] > 0.0) || (x[i] >= limits.high && gradient[i] < 0.0))
            .collect();
        let slope = |i: usize| if held[i] { 0.0 } else { gradient[i] };
        let largest = (0..n).map(|i| slope(i).abs()).fold(0.0, f64::max);
        if largest == 0.0 {
            break;
        }
        let mut direction: Vec<f64> =
            match inverse.is_empty() {
                true => (0..n).map(|i| -slope(i) / largest).collect(),
                false => (0..n)
                    .map(|i| {
                        if held[i] {
                            0.0
                        } else {
                            -(0..n).map(|j| inverse[i * n + j] * slope(j)).sum::<f64>()
                        }
                    })
                    .collect(),
            };
        let mut descent: f64 = direction.iter().zip(&gradient).map(|(d, g)| d * g).sum();
        if descent >= 0.0 {
            inverse.clear();
            direction = (0..n).map(|i| -slope(i) / largest).collect();
            descent = direction.iter().zip(&gradient).map(|(d, g)| d * g).sum();
        }
        let longest = direction.iter().fold(0.0f64, |longest, d| longest.max(d.abs()));
        let shrink = (LARGEST_STEP / longest).min(1.0);
        direction.iter_mut().for_each(|d| *d *= shrink);
        descent *= shrink;
        if -descent < limits.gain {
            break;
        }
        let (mut share, mut moved) = (1.0, None);
        while left > 0 {
            let trial: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| clamp(x + share * d)).collect();
            let (trial_value, trial_gradient) = function(&trial)?;
            left -= 1;
            if trial_value <= value + 1e-4 * share * descent {
                moved = Some((trial, trial_value, trial_gradient));
                break;
            }
            // The minimum of the parabola through the known values.
            let bent = trial_value - value - share * descent;
            share *= (-0.5 * share * descent / bent).clamp(0.1, 0.5);
            if share * -descent < limits.gain {
                break;
            }
        }
        let Some((next, next_value, next_gradient)) = moved else { break };
        let s: Vec<f64> = next.iter().zip(&x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        update(&mut inverse, &s, &y);
        let gained = value - next_value;
        (x, value, gradient) = (next, next_value, next_gradient);
        if gained < limits.gain {
            break;
        }
    }
    Ok((x, value))
}

/// Applies the update of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright, "Numerical optimization", 2006,
/// section 6.1); steps without curvature are skipped.
fn update(inverse: &mut Vec<f64>, s: &[f64], y: &[f64]) {
    let n = s.len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (sy, yy) = (dot(s, y), dot(y, y));
    if sy <= 1e-10 * (dot(s, s) * yy).sqrt() {
        return;
    }
    if inverse.is_empty() {
        *inverse = (0..n * n).map(|at| if at / n == at % n { sy / yy } else { 0.0 }).collect();
    }
    let product: Vec<f64> = (0..n).map(|i| dot(&inverse[i * n..][..n], y)).collect();
    let factor = (1.0 + dot(y, &product) / sy) / sy;
    for i in 0..n {
        for j in 0..n {
            inverse[i * n + j] += factor * s[i] * s[j] - (product[i] * s[j] + s[i] * product[j]) / sy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { low: -5.0, high: 5.0, gain: 1e-14, evaluations: 200 };

    #[test]
    fn curved_valleys_and_bounds_are_followed() {
        // Rosenbrock's function, with its minimum at (1, 1).
        let mut rosenbrock = |x: &[f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            Ok((a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b]))
        };
        let (x, value) = minimize(&[-1.2, 1.0], LIMITS, &mut rosenbrock).unwrap();
        assert!(value < 1e-10 && (x[0] - 1.0).abs() < 1e-4, "{x:?} {value}");
        // The minimum of the second coordinate is outside.
        let mut bowl = |x: &[f64]| {
            let (a, b) = (x[0] - 2.0, x[1] - 9.0);
            Ok((a * a + a * b + b * b, vec![2.0 * a + b, a + 2.0 * b]))
        };
        let (x, _) = minimize(&[0.0, 0.0], LIMITS, &mut bowl).unwrap();
        assert!(x[1] == 5.0 && (x[0] - 4.0).abs() < 1e-5, "{x:?}");
    }

    #[test]
    fn a_small_promise_ends_the_search() {
        let mut calls = 0;
        let limits = Limits { gain: 1.0, ..LIMITS };
        let mut flat = |x: &[f64]| {
            calls += 1;
            Ok((1e-3 * x[0], vec![1e-3]))
        };
        assert_eq!(minimize(&[3.0], limits, &mut flat).unwrap(), (vec![3.0], 3e-3));
        assert_eq!(calls, 1);
    }
}
