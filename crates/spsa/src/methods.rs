//! The update rules.

use super::bounds::NearBound;
use super::method_kind::MethodKind;
use super::schedule::Schedule;
use super::settings::Settings;
use super::variables::Variable;
use gputexel_io::{Error, Result};

#[derive(Clone, Copy, Debug)]
pub(super) struct Factors {
    pub c: f64,
    /// R_k / r_end; 1 for the rules without a gain.
    pub r: f64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    slopes: Vec<f64>,
    products: Vec<f64>,
}

/// A pair of games and the values that were played, from which a rule learns.
pub(super) struct Observation<'a> {
    pub factors: Factors,
    pub plus: &'a [f64],
    pub minus: &'a [f64],
    pub delta: &'a [i8],
    pub near: &'a [NearBound],
    /// Score of the pair, −2 to 2.
    pub y: f64,
    pub variance: f64,
    /// Updates with the perturbation that was meant instead of the one that was played.
    pub as_published: bool,
}

impl Observation<'_> {
    /// Half the way from minus to plus of each parameter, as it counts for a method that takes steps along it.
    fn steps(&self, c_end: &[f64]) -> impl Iterator<Item = f64> {
        let mut near = self.near.iter().peekable();
        c_end.iter().enumerate().map(move |(i, c_end)| {
            if self.as_published {
                return self.meant(i, c_end);
            }
            near.next_if(|near| near.i == i).map_or_else(|| self.half(i), |near| near.step)
        })
    }

    /// The Bayesian model's view of the pair: the slopes a_i of the expected score and the innovation, which is
    /// the score less what was expected of it at `theta`.
    ///
    /// The strength of an engine is modeled as the density of N(θ_opt, σ²), which gives y ~ N(Σ a_i (θ_opt,i −
    /// m_i), τ²) with a_i = (plus_i − minus_i) / σ_i² around the middle m_i of the two sides. Where nothing is
    /// clamped or rounded, m is the θ of the asking.
    fn linearized(&self, theta: &[f64], c_end: &[f64], sigma: &[f64], slopes: &mut Vec<f64>) -> f64 {
        slopes.clear();
        let slope = |half: f64, sigma: f64| 2.0 * half / (sigma * sigma);
        if self.as_published {
            slopes.extend((0..theta.len()).map(|i| slope(self.meant(i, &c_end[i]), sigma[i])));
            return self.y;
        }
        let mut near = self.near.iter().peekable();
        let mut expected = 0.0;
        for (i, (theta, &sigma)) in theta.iter().zip(sigma).enumerate() {
            let (half, middle) = match near.next_if(|near| near.i == i) {
                Some(near) => (near.half, near.middle),
                None => (self.half(i), (self.plus[i] + self.minus[i]) / 2.0),
            };
            let a = slope(half, sigma);
            slopes.push(a);
            expected += a * (theta - middle);
        }
        self.y - expected
    }

    fn half(&self, i: usize) -> f64 {
        (self.plus[i] - self.minus[i]) / 2.0
    }

    fn meant(&self, i: usize, c_end: &f64) -> f64 {
        f64::from(self.delta[i]) * (c_end * self.factors.c)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Method {
    schedule: Schedule,
    /// How far each side is moved from the middle at the last iteration, by parameter.
    pub c_end: Vec<f64>,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    /// Steps along the played perturbations, and Σ (R d y)² of each variable: the variance of a walk driven by the
    /// scores' noise alone.
    Spsa { r_end: Vec<f64>, noise: Vec<f64> },
    /// A posterior of each parameter by itself.
    Bspsas { sigma: Vec<f64>, variances: Vec<f64> },
    /// The covariance of all parameters, row by row, n × n.
    Bspsa { sigma: Vec<f64>, covariance: Vec<f64> },
}

impl Method {
    pub fn try_new(settings: &Settings, variables: &[Variable]) -> Result<Self> {
        let n = variables.len();
        let required =
            |name, get: fn(&Variable) -> Option<f64>| required(variables, name, settings.method, get);
        let rule = match settings.method {
            MethodKind::Spsa => Rule::Spsa { r_end: required("r_end", |v| v.r_end)?, noise: vec![0.0; n] },
            MethodKind::Bspsas => {
                let variances = required("s", |v| v.s)?.iter().map(|s| s * s).collect();
                Rule::Bspsas { sigma: required("sigma", |v| v.sigma)?, variances }
            }
            MethodKind::Bspsa => {
                let mut covariance = vec![0.0; n * n];
                for (i, s) in required("s", |v| v.s)?.iter().enumerate() {
                    covariance[i * n + i] = s * s;
                }
                Rule::Bspsa { sigma: required("sigma", |v| v.sigma)?, covariance }
            }
        };
        let c_end = variables.iter().map(|v| v.c_end).collect();
        Ok(Self { schedule: settings.schedule, c_end, rule })
    }

    pub fn r_end(&self) -> Option<&[f64]> {
        match &self.rule {
            Rule::Spsa { r_end, .. } => Some(r_end),
            Rule::Bspsas { .. } | Rule::Bspsa { .. } => None,
        }
    }

    pub fn factors(&self, k: u64) -> Factors {
        let r = self.r_end().map_or(1.0, |_| self.schedule.r_factor(k));
        Factors { c: self.schedule.c_factor(k), r }
    }

    pub fn update(&mut self, theta: &mut [f64], seen: &Observation<'_>, scratch: &mut Scratch) {
        let c_end = &self.c_end;
        match &mut self.rule {
            Rule::Spsa { r_end, noise } => {
                for (i, (theta, half)) in theta.iter_mut().zip(seen.steps(c_end)).enumerate() {
                    let step = r_end[i] * seen.factors.r * half * seen.y;
                    *theta += step;
                    noise[i] += step * step;
                }
            }
            Rule::Bspsas { sigma, variances } => {
                let slopes = &mut scratch.slopes;
                let innovation = seen.linearized(theta, c_end, sigma, slopes);
                for ((theta, variance), a) in theta.iter_mut().zip(variances).zip(&*slopes) {
                    let inverse = 1.0 / (a * a * *variance + seen.variance);
                    *theta += *variance * a * innovation * inverse;
                    *variance *= seen.variance * inverse;
                }
            }
            Rule::Bspsa { sigma, covariance } => {
                let n = theta.len();
                let Scratch { slopes: a, products: g } = scratch;
                let innovation = seen.linearized(theta, c_end, sigma, a);
                multiply(covariance, a, g);
                let inverse = 1.0 / (seen.variance + dot(a, g));
                for ((theta, row), gi) in theta.iter_mut().zip(covariance.chunks_exact_mut(n)).zip(&*g) {
                    *theta += gi * innovation * inverse;
                    let factor = gi * inverse;
                    for (entry, gj) in row.iter_mut().zip(&*g) {
                        *entry -= factor * gj;
                    }
                }
            }
        }
    }

    /// Of a posterior its standard deviation; of SPSA how far noise alone would have carried the variable: the
    /// standard deviation of a sum of independent steps as large as those taken, which errs on the large side.
    pub fn deviation(&self, i: usize) -> f64 {
        match &self.rule {
            Rule::Spsa { noise, .. } => noise[i].sqrt(),
            Rule::Bspsas { variances, .. } => variances[i].sqrt(),
            Rule::Bspsa { covariance, .. } => covariance[i * (self.c_end.len() + 1)].max(0.0).sqrt(),
        }
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

fn required(
    variables: &[Variable],
    name: &str,
    method: MethodKind,
    get: impl Fn(&Variable) -> Option<f64>,
) -> Result<Vec<f64>> {
    let one = |variable: &Variable| {
        get(variable).ok_or_else(|| Error::Usage(format!("{}: {method} needs {name}", variable.name)))
    };
    variables.iter().map(one).collect()
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
        let settings = Settings::new(MethodKind::Bspsa, 500, 0.5);
        let mut rule = Method::try_new(&settings, &variables).unwrap();
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
