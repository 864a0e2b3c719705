use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::single_steps::interrupted;
use super::{ExactProblem, SingleSteps, Survey, Watch};
use gputexel_io::Result;
use gputexel_optim::Space;
use gputexel_optim::linalg::sorted_cholesky;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    #[default]
    None,
    Naive,
    /// To a point where no single step of any coordinate improves the exact loss.
    Local,
}

gputexel_io::names!(Rounding "rounding": None "none", Naive "naive", Local "local");

#[derive(Clone, Debug, PartialEq)]
pub struct Rounded {
    pub z: Vec<f64>,
    pub loss_real: f64,
    pub loss_naive: f64,
    /// Exact loss of successive rounding, if a matrix was available.
    pub loss_successive: Option<f64>,
    pub loss: f64,
    /// Single steps taken from the rounded point to the final one.
    pub steps: u64,
    /// All single steps from the point; `None` after naive rounding.
    pub survey: Option<Survey>,
}

/// Rounds each integer coordinate to the nearest whole number within its bounds, half away from zero.
pub fn round_naively(z: &[f64], space: &Space) -> Vec<f64> {
    let whole = |i: usize| nearest(z[i], i, space);
    (0..z.len()).map(whole).collect()
}

fn nearest(value: f64, i: usize, space: &Space) -> f64 {
    match space.integer[i] {
        // Adding 0 turns −0 into 0.
        true => value.round().max(space.lower[i].ceil()).min(space.upper[i].floor()) + 0.0,
        false => value.max(space.lower[i]).min(space.upper[i]),
    }
}

/// Rounds the integer coordinates one after another and re-solves for the others each time, so that (z − z*)ᵀ H (z −
/// z*) stays small; `matrix` is H, symmetric, row-major. `None` when cancelled.
pub fn round_successively(z: &[f64], matrix: &[f64], space: &Space, cancel: &AtomicBool) -> Option<Vec<f64>> {
    let n = z.len();
    assert_eq!(matrix.len(), n * n);
    let (order, rows) = sorted_cholesky(matrix, n, &space.integer, &|| cancel.load(Ordering::Relaxed))?;
    // The cost is Σ_k (Σ_{j ≥ k} R_kj e_j)² with e = z − z*, so the last coordinate is rounded first, and
    // each other one close to the value that makes its own square vanish.
    let mut branches = vec![Branch { errors: vec![0.0; n], cost: 0.0 }];
    for k in (0..n).rev() {
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
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
        // The sum may be off the whole number by an ulp.
        rounded[i] = nearest(z[i] + error, i, space);
    }
    Some(rounded)
}

/// A partial rounding: e = z − z* in elimination order, and its cost.
struct Branch {
    errors: Vec<f64>,
    cost: f64,
}

/// Number of partial roundings that are followed in parallel (a K-best search): on 736 piece-square values, 1 adds
/// 6.80e-6 to the loss, 16 6.68e-6, 128 6.64e-6, and 1,024 no less.
const BRANCHES: usize = 128;

pub fn round(
    problem: &ExactProblem<'_>,
    z: &[f64],
    rounding: Rounding,
    matrix: Option<&[f64]>,
    watch: &mut Watch<'_>,
) -> Result<Rounded> {
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
        return Ok(unrounded);
    }
    let naive = round_naively(z, problem.space);
    search.move_to(&naive)?;
    let loss_naive = search.loss();
    if rounding == Rounding::Naive {
        return Ok(Rounded { z: naive, loss_naive, loss: loss_naive, ..unrounded });
    }
    let mut loss_successive = None;
    if let Some(matrix) = matrix {
        let rounded = round_successively(z, matrix, problem.space, watch.cancel).ok_or_else(interrupted)?;
        search.move_to(&rounded)?;
        loss_successive = Some(search.loss());
        if search.loss() > loss_naive {
            search.move_to(&naive)?; // z was not a minimum, or the matrix does not belong to it
        }
    }
    let survey = search.descend(watch)?;
    Ok(Rounded {
        z: search.z().to_vec(),
        loss_naive,
        loss_successive,
        loss: search.loss(),
        steps: search.taken(),
        survey: Some(survey),
        ..unrounded
    })
}
