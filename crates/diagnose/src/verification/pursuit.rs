//! Single values that differ from the tuned ones: orthogonal matching pursuit (Pati, Rezaiifar and
//! Krishnaprasad 1993) on the differences of evaluations. In each step, it takes the parameter whose column
//! has the smallest angle to the residual, and fits all that were taken.

use gputexel_io::Result;

use super::{Compared, Suspect};
use crate::parameter_name;

/// Maximum number of values to find instead of tables or in addition to them.
pub(super) const FEW: usize = 12;
pub(super) const MOST: usize = 48;
const DIFFERING: usize = 10_000;
const OTHERS: usize = 2_000;
/// Smallest reported change, centipawns.
const LEAST_CP: f64 = 0.5;
/// Share of the sum of squares that a value must explain to be accepted.
const WORTH: f64 = 1e-3;

/// Columns taken so far, orthogonalized, and the triangular matrix that restores the original ones.
#[derive(Default)]
struct Basis {
    columns: Vec<Vec<f64>>,
    /// Row i has the products of column i with itself and all later ones before they were orthogonalized.
    triangle: Vec<Vec<f64>>,
    products: Vec<f64>,
}

impl Basis {
    /// Takes a column, and subtracts its part from the residual; `None` if it depends on the others.
    fn take(&mut self, mut column: Vec<f64>, left: &mut [f64]) -> Option<()> {
        let norm = dot(&column, &column).sqrt();
        let mut above = Vec::with_capacity(self.columns.len());
        for other in &self.columns {
            let product = dot(other, &column);
            column.iter_mut().zip(other).for_each(|(x, q)| *x -= product * q);
            above.push(product);
        }
        let length = dot(&column, &column).sqrt();
        if length <= 1e-6 * norm {
            return None;
        }
        column.iter_mut().for_each(|x| *x /= length);
        let product = dot(&column, left);
        left.iter_mut().zip(&column).for_each(|(r, q)| *r -= product * q);
        self.triangle.iter_mut().zip(&above).for_each(|(row, value)| row.push(*value));
        self.triangle.push(vec![length]);
        self.columns.push(column);
        self.products.push(product);
        Some(())
    }

    fn coefficients(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.columns.len()];
        for i in (0..out.len()).rev() {
            let later: f64 = self.triangle[i][1..].iter().zip(&out[i + 1..]).map(|(r, x)| r * x).sum();
            out[i] = (self.products[i] - later) / self.triangle[i][0];
        }
        out
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Finds the values, at most `most`, that seem to differ from θ, and updates θ with them. Empty for nonlinear
/// evaluations.
pub(super) fn values(
    compared: &Compared<'_>,
    theta: &mut [f64],
    tuned: &[f64],
    start: Option<&[f64]>,
    most: usize,
) -> Result<Vec<Suspect>> {
    let Compared { data, printed, set, tolerance_cp } = *compared;
    if set.program.is_some() {
        return Ok(Vec::new());
    }
    let features = theta.len() / 2;
    let whole = theta.iter().all(|value| value.fract() == 0.0);
    let reference = compared.reference(theta)?;
    let sample = compared.sample(theta, DIFFERING, OTHERS)?;
    let mut left: Vec<f64> = sample
        .iter()
        .map(|&n| f64::from(printed[n as usize]) - reference.score_of(data, n as usize).0)
        .collect();
    // Entries of a row: index in θ, and derivative of the score.
    let row = |n: u32| {
        let (mg, eg) = data.shares(n as usize);
        data.row(n as usize).entries().flat_map(move |(id, coefficient)| {
            let (id, c) = (usize::from(id), f64::from(coefficient));
            [(id, c * mg), (id + features, c * eg)]
        })
    };
    let mut squares = vec![0.0; theta.len()];
    for &n in &sample {
        row(n).for_each(|(at, x)| squares[at] += x * x);
    }
    let mut basis = Basis::default();
    let mut taken: Vec<Taken> = Vec::new();
    let differences = left.clone();
    let mut sum = dot(&left, &left);
    let mut explained = left.iter().all(|r| r.abs() <= tolerance_cp);
    while !explained && taken.len() < most {
        let mut products = vec![0.0; theta.len()];
        for (&n, &r) in sample.iter().zip(&left) {
            row(n).for_each(|(at, x)| products[at] += x * r);
        }
        let gain = |at: &usize| products[*at] * products[*at] / squares[*at];
        let free = (0..theta.len()).filter(|at| squares[*at] > 0.0 && taken.iter().all(|one| one.at != *at));
        let Some(best) = free.max_by(|a, b| gain(a).total_cmp(&gain(b))) else { break };
        if gain(&best) < WORTH * sum {
            break;
        }
        let of_row = |&n: &u32| row(n).filter(|&(at, _)| at == best).map(|(_, x)| x).sum::<f64>();
        let column: Vec<f64> = sample.iter().map(of_row).collect();
        if basis.take(column.clone(), &mut left).is_none() {
            break;
        }
        taken.push(Taken { at: best, column, found_cp: 0.0 });
        sum = dot(&left, &left);
        // The engine's rounding is noise that further values would be fitted to.
        let mut unexplained = differences.clone();
        for (one, change) in taken.iter_mut().zip(basis.coefficients()) {
            one.found_cp = snapped(theta[one.at] + change, whole);
            let change = one.found_cp - theta[one.at];
            unexplained.iter_mut().zip(&one.column).for_each(|(r, x)| *r -= change * x);
        }
        explained = unexplained.iter().all(|r| r.abs() <= tolerance_cp);
    }
    let mut suspects = Vec::new();
    for Taken { at, found_cp, .. } in taken {
        theta[at] = found_cp;
        if (found_cp - tuned[at]).abs() >= LEAST_CP {
            let is_start = start.is_some_and(|start| start[at] == found_cp);
            let name = parameter_name(set, at);
            suspects.push(Suspect::Value { name, found_cp, tuned_cp: tuned[at], is_start });
        }
    }
    Ok(suspects)
}

struct Taken {
    /// Its index in θ.
    at: usize,
    /// Derivative of the score of each position.
    column: Vec<f64>,
    /// The value that it seems to have, centipawns.
    found_cp: f64,
}

fn snapped(value: f64, whole: bool) -> f64 {
    let unit = if whole { 1.0 } else { 10.0 };
    (unit * value).round() / unit
}
