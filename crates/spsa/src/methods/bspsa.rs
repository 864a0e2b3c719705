//! BSPSA: Bayesian SPSA with the covariance of all parameters, exactly.

use serde::{Deserialize, Serialize};

use super::super::schedule::Schedule;
use super::super::variables::Variable;
use super::{Factors, MethodKind, Observation, Rule, Scratch, required};
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bspsa {
    schedule: Schedule,
    c_end: Vec<f64>,
    sigma: Vec<f64>,
    /// C, row by row, n × n.
    covariance: Vec<f64>,
}

impl Bspsa {
    pub fn try_new(schedule: Schedule, variables: &[Variable]) -> Result<Self> {
        let s = required(variables, "s", MethodKind::Bspsa, |v| v.s)?;
        let n = variables.len();
        let mut covariance = vec![0.0; n * n];
        for (i, s) in s.iter().enumerate() {
            covariance[i * n + i] = s * s;
        }
        Ok(Self {
            schedule,
            c_end: variables.iter().map(|v| v.c_end).collect(),
            sigma: required(variables, "sigma", MethodKind::Bspsa, |v| v.sigma)?,
            covariance,
        })
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Four rows at a time keep a processor busy that would wait for the sum of one, each of which is added up in
/// its own order.
fn multiply(matrix: &[f64], a: &[f64], product: &mut Vec<f64>) {
    let n = a.len();
    product.clear();
    let mut blocks = matrix.chunks_exact(4 * n);
    for block in &mut blocks {
        let [w, x, y, z] = [0, 1, 2, 3].map(|row| &block[row * n..(row + 1) * n]);
        let mut sums = [0.0; 4];
        for ((((a, w), x), y), z) in a.iter().zip(w).zip(x).zip(y).zip(z) {
            sums[0] += w * a;
            sums[1] += x * a;
            sums[2] += y * a;
            sums[3] += z * a;
        }
        product.extend(sums);
    }
    product.extend(blocks.remainder().chunks_exact(n).map(|row| dot(row, a)));
}

impl Rule for Bspsa {
    fn c_end(&self) -> &[f64] {
        &self.c_end
    }

    fn r_end(&self) -> Option<&[f64]> {
        None
    }

    fn factors(&self, k: u64) -> Factors {
        Factors { c: self.schedule.c_factor(k), r: 1.0 }
    }

    fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, scratch: &mut Scratch) {
        let n = theta.len();
        let Scratch { slopes: a, products: g } = scratch;
        let innovation = seen.linearized(theta, &self.c_end, &self.sigma, a);
        multiply(&self.covariance, a, g);
        let inverse = 1.0 / (seen.variance + dot(a, g));
        for ((theta, row), gi) in theta.iter_mut().zip(self.covariance.chunks_exact_mut(n)).zip(&*g) {
            *theta += gi * innovation * inverse;
            let factor = gi * inverse;
            for (entry, gj) in row.iter_mut().zip(&*g) {
                *entry -= factor * gj;
            }
        }
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }

    fn deviation(&self, i: usize) -> f64 {
        self.covariance[i * (self.c_end.len() + 1)].max(0.0).sqrt()
    }

    fn len(&self) -> usize {
        let n = self.c_end.len().min(self.sigma.len());
        if self.covariance.len() == n * n { n } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// The solution of a linear system, by elimination after Gauss and Jordan; positive definite matrices need no
    /// row pivots.
    fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
        for k in 0..right.len() {
            let (row, value) = (matrix[k].clone(), right[k]);
            for i in (0..right.len()).filter(|&i| i != k) {
                let factor = matrix[i][k] / row[k];
                matrix[i].iter_mut().zip(&row).for_each(|(entry, own)| *entry -= factor * own);
                right[i] -= factor * value;
            }
        }
        (0..right.len()).map(|i| right[i] / matrix[i][i]).collect()
    }

    /// Equations (13) to (16) with a dense solve each time.
    #[test]
    fn rank_one_updates_equal_a_dense_solve() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let n = 6;
        let variable = |i: usize| Variable {
            name: format!("x{i}"),
            start: 10.0 * i as f64,
            min: -300.0,
            max: 300.0,
            integer: false,
            c_end: 20.0 + 7.0 * i as f64,
            r_end: None,
            s: Some(50.0 + 10.0 * i as f64),
            sigma: Some(100.0 + 30.0 * i as f64),
            simul_elo: 0.0,
        };
        let variables: Vec<Variable> = (0..n).map(variable).collect();
        let schedule = Schedule::new(500);
        let mut rule = Bspsa::try_new(schedule, &variables).unwrap();
        let mut theta: Vec<f64> = variables.iter().map(|v| v.start).collect();
        let mut dense = theta.clone();
        let tau2 = 0.4;
        let mut inverse = vec![vec![0.0; n]; n];
        (0..n).for_each(|i| inverse[i][i] = variables[i].s.unwrap().powi(-2));
        let mut scratch = Scratch::default();
        for k in 1..=500 {
            let delta: Vec<i8> = (0..n).map(|_| if rng.random() { 1 } else { -1 }).collect();
            let factors = rule.factors(k);
            let c = |i: usize| f64::from(delta[i]) * rule.c_end[i] * factors.c;
            let plus: Vec<f64> = (0..n).map(|i| (theta[i] + c(i)).clamp(-60.0, 60.0)).collect();
            let minus: Vec<f64> = (0..n).map(|i| (theta[i] - c(i)).clamp(-60.0, 60.0)).collect();
            let y = f64::from(rng.random_range(-2..=2));

            let a: Vec<f64> =
                (0..n).map(|i| (plus[i] - minus[i]) / variables[i].sigma.unwrap().powi(2)).collect();
            let expected: f64 = (0..n).map(|i| a[i] * (dense[i] - (plus[i] + minus[i]) / 2.0)).sum();
            for i in 0..n {
                for j in 0..n {
                    inverse[i][j] += a[i] * a[j] / tau2;
                }
            }
            let right = a.iter().map(|a| a * (y - expected) / tau2).collect();
            for (value, step) in dense.iter_mut().zip(solve(inverse.clone(), right)) {
                *value += step;
            }

            let as_published = false;
            let seen = Observation {
                factors,
                plus: &plus,
                minus: &minus,
                delta: &delta,
                near: &[],
                y,
                variance: tau2,
                as_published,
            };
            rule.update(&mut theta, &seen, &mut scratch);
            for i in 0..n {
                assert!((theta[i] - dense[i]).abs() < 1e-8, "{k} {i}: {} {}", theta[i], dense[i]);
            }
        }
        for (i, variable) in variables.iter().enumerate() {
            let unit = (0..n).map(|j| f64::from(u8::from(i == j))).collect();
            let expected = solve(inverse.clone(), unit)[i].sqrt();
            assert!((rule.deviation(i) / expected - 1.0).abs() < 1e-9);
            assert!(rule.deviation(i) < 0.9 * variable.s.unwrap());
        }
    }
}
