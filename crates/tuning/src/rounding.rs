//! Whole numbers for what was tuned as real numbers.
//!
//! Owns two ways of rounding, one by one and successively, and the way from there to a point
//! where no single step improves the exact loss. The sum of squares that rounding costs is
//! (z − z*)ᵀ H (z − z*) / 2 with the Gauss–Newton matrix H at the optimum z*: finding its minimum
//! on whole numbers is the closest-vector problem. Successive rounding is Babai's nearest plane
//! ("On Lovász' lattice reduction and the nearest lattice point problem", 1986; known from the
//! compression of neural networks, too): one coordinate after another is rounded, and the
//! others, which are still free, are solved for again, all by one Cholesky factorisation. Several
//! roundings are followed up side by side.

use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::{ExactProblem, SingleSteps, Survey};
use gputexel_files::{Error, Result};
use gputexel_optimizer::Space;

/// What is done to real results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// They stay real.
    #[default]
    None,
    /// Every coordinate to its nearest whole number.
    Naive,
    /// To a point where no single step of any coordinate improves the exact loss.
    Local,
}

impl FromStr for Rounding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::None),
            "naive" => Ok(Self::Naive),
            "local" => Ok(Self::Local),
            _ => Err(Error::Usage(format!("rounding '{text}': expected none, naive or local"))),
        }
    }
}

impl std::fmt::Display for Rounding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Naive => "naive",
            Self::Local => "local",
        })
    }
}

/// A rounded point and what became of the loss, regularisation included.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounded {
    /// The point.
    pub z: Vec<f64>,
    /// Exact loss of the real point.
    pub loss_real: f64,
    /// Exact loss of naive rounding.
    pub loss_naive: f64,
    /// Exact loss of successive rounding, where there was a matrix for it.
    pub loss_successive: Option<f64>,
    /// Exact loss of the point.
    pub loss: f64,
    /// Single steps from where rounding alone led to the point.
    pub steps: u64,
    /// All single steps from the point; `None` after naive rounding.
    pub survey: Option<Survey>,
}

/// Every whole coordinate to the nearest whole number within its bounds, half away from zero.
pub fn round_naively(z: &[f64], space: &Space) -> Vec<f64> {
    let whole = |i: usize| nearest(z[i], i, space);
    (0..z.len()).map(whole).collect()
}

/// The nearest value that a coordinate may have.
fn nearest(value: f64, i: usize, space: &Space) -> f64 {
    match space.integer[i] {
        // Adding 0 makes 0 of −0.
        true => value.round().max(space.lower[i].ceil()).min(space.upper[i].floor()) + 0.0,
        false => value.max(space.lower[i]).min(space.upper[i]),
    }
}

/// Rounds one whole coordinate after another and solves for the others each time, so that
/// (z − z*)ᵀ H (z − z*) stays small; `matrix` is H, symmetric, row-major. Coordinates without
/// curvature are rounded naively. Real coordinates take what the whole ones leave them.
///
/// # Panics
/// If the matrix does not belong to the point.
pub fn round_successively(z: &[f64], matrix: &[f64], space: &Space) -> Vec<f64> {
    let n = z.len();
    assert_eq!(matrix.len(), n * n);
    let (order, rows) = sorted_cholesky(matrix, n, &space.integer);
    // The cost is Σ_k (Σ_{j ≥ k} R_kj e_j)² with e = z − z*, so the last is rounded first, and each
    // other one close to what makes its own square vanish.
    let mut branches = vec![Branch { errors: vec![0.0; n], cost: 0.0 }];
    for k in (0..n).rev() {
        let (i, row) = (order[k], &rows[k * n..][..n]);
        let pivot = row[k];
        let mut next: Vec<(f64, usize, f64)> = Vec::new();
        for (from, branch) in branches.iter().enumerate() {
            let pull: f64 = row[k + 1..].iter().zip(&branch.errors[k + 1..]).map(|(r, e)| r * e).sum();
            let target = if pivot > 0.0 { z[i] - pull / pivot } else { z[i] };
            let mut add = |value: f64| {
                let square = (pivot * (value - target)).powi(2);
                next.push((branch.cost + square, from, value));
            };
            let first = nearest(target, i, space);
            add(first);
            if space.integer[i] && pivot > 0.0 {
                let others = [first - 1.0, first + 1.0].into_iter();
                others.filter(|value| (space.lower[i]..=space.upper[i]).contains(value)).for_each(&mut add);
            }
        }
        next.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: equal costs keep their order
        next.truncate(BRANCHES);
        let grow = |&(cost, from, value): &(f64, usize, f64)| {
            let mut errors = branches[from].errors.clone();
            errors[k] = value - z[i];
            Branch { errors, cost }
        };
        branches = next.iter().map(grow).collect();
    }
    let mut rounded = vec![0.0; n];
    for (&i, error) in order.iter().zip(&branches[0].errors) {
        // The sum may miss the whole number by an ulp.
        rounded[i] = nearest(z[i] + error, i, space);
    }
    rounded
}

/// Some coordinates rounded: e = z − z* in the order of elimination, and its cost.
struct Branch {
    errors: Vec<f64>,
    cost: f64,
}

/// Roundings of the first coordinates that are followed up side by side (a K-best search): on 736
/// piece-square values, 1 adds 6.80e-6 to the loss, 16 6.68e-6, 128 6.64e-6, and 1,024 no less.
const BRANCHES: usize = 128;

/// Share of the largest diagonal entry that is added to all: the matrix is of f32 products, and
/// directions without curvature must not decide.
const RIDGE: f64 = 1e-9;

/// Pivots below this share of their diagonal entry are rounding errors.
const MIN_PIVOT: f64 = 1e-6;

/// H = Rᵀ R with the smallest pivot first: row and column k belong to coordinate `order[k]`. Small pivots first make large ones last, which evens them out, and what rounding
/// costs on average is the sum of the squares of the pivots over 12. Real coordinates come before
/// whole ones, so that they are solved for last.
fn sorted_cholesky(matrix: &[f64], n: usize, integer: &[bool]) -> (Vec<usize>, Vec<f64>) {
    let mut rest = matrix.to_vec();
    let ridge = RIDGE * (0..n).map(|i| matrix[i * n + i]).fold(0.0, f64::max);
    for i in 0..n {
        rest[i * n + i] += if matrix[i * n + i] > 0.0 { ridge } else { 0.0 };
    }
    let mut left: Vec<usize> = (0..n).collect();
    let mut order = Vec::with_capacity(n);
    // With columns by coordinate at first.
    let mut rows = vec![0.0; n * n];
    for k in 0..n {
        let (at, &i) = left
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| {
                integer[**a].cmp(&integer[**b]).then(rest[**a * n + **a].total_cmp(&rest[**b * n + **b]))
            })
            .expect("n − k are left");
        left.remove(at);
        order.push(i);
        let square = rest[i * n + i];
        if square.is_nan() || square <= MIN_PIVOT * matrix[i * n + i] {
            continue; // without curvature of its own: a row of zeros
        }
        let pivot = square.sqrt();
        let row = &mut rows[k * n..][..n];
        row[i] = pivot;
        for &j in &left {
            row[j] = rest[i * n + j] / pivot;
        }
        for &a in &left {
            let factor = row[a];
            if factor != 0.0 {
                // Whole rows, chosen ones included: a loop without gaps is the faster one.
                rest[a * n..][..n].iter_mut().zip(&*row).for_each(|(rest, value)| *rest -= factor * value);
            }
        }
    }
    for row in rows.chunks_exact_mut(n) {
        let sorted: Vec<f64> = order.iter().map(|&i| row[i]).collect();
        row.copy_from_slice(&sorted);
    }
    (order, rows)
}

/// Rounds the whole coordinates of `z`, a minimum. `matrix` is the Gauss–Newton matrix there, with
/// respect to z; without it the local search starts from naive rounding.
///
/// `None` when cancelled.
///
/// # Errors
/// Those of [`SingleSteps::try_new`].
pub fn round(
    problem: &ExactProblem<'_>,
    z: &[f64],
    rounding: Rounding,
    matrix: Option<&[f64]>,
    cancel: &AtomicBool,
) -> Result<Option<Rounded>> {
    let mut search = SingleSteps::try_new(problem, z)?;
    let loss_real = search.loss();
    let unrounded = Rounded {
        z: z.to_vec(),
        loss_real,
        loss_naive: loss_real,
        loss_successive: None,
        loss: loss_real,
        steps: 0,
        survey: None,
    };
    if rounding == Rounding::None {
        return Ok(Some(unrounded));
    }
    let naive = round_naively(z, problem.space);
    search.move_to(&naive)?;
    let loss_naive = search.loss();
    if rounding == Rounding::Naive {
        return Ok(Some(Rounded { z: naive, loss_naive, loss: loss_naive, ..unrounded }));
    }
    let mut loss_successive = None;
    if let Some(matrix) = matrix {
        search.move_to(&round_successively(z, matrix, problem.space))?;
        loss_successive = Some(search.loss());
        if search.loss() > loss_naive {
            search.move_to(&naive)?; // the point was no minimum, or the matrix not of it
        }
    }
    let Some(survey) = search.descend(cancel) else { return Ok(None) };
    Ok(Some(Rounded {
        z: search.z().to_vec(),
        loss_naive,
        loss_successive,
        loss: search.loss(),
        steps: search.taken(),
        survey: Some(survey),
        ..unrounded
    }))
}
