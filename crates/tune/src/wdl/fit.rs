//! The fit: Newton's method with damping, and standard errors.

use serde::Serialize;

use crate::wdl::counts::{Cell, Counts};
use crate::wdl::likelihood::{Likelihood, Value, terms};
use crate::wdl::linear::{Cholesky, product, quadratic};
use crate::wdl::model::WdlModel;
use crate::wdl::variable::Variable;
use gputexel_io::{Advice, Error, Result};

/// Settings of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitSettings {
    /// Variable that a and b depend on.
    pub by: Variable,
    /// Value of the variable at which the coefficients add up to a and b.
    pub target: u16,
    /// Degree of the polynomials, 0 to 3.
    pub degree: usize,
}

/// Largest degree, that of Stockfish's model.
pub const MAX_DEGREE: usize = 3;
/// Minimum number of positions of each outcome.
pub const MIN_POSITIONS: u64 = 100;
/// Minimum number of games for standard errors by game.
pub const MIN_GAMES: u64 = 10;

/// Maximum number of steps in a fit; a handful is typical.
const STEPS: usize = 500;
/// The fit ends when the predicted gain of a Newton step is less than this, absolute or relative to the log likelihood.
const PRECISION: f64 = 1e-8;
const ROUNDING: f64 = 1e-13;

/// A fitted model with its statistics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The model.
    pub model: WdlModel,
    /// Mean log likelihood of a position, natural logarithm.
    pub mean_log_likelihood: f64,
    /// Newton steps.
    pub steps: usize,
    /// Standard errors, with games counted as independent (a sandwich estimate), or positions where `by_game` is false.
    pub errors: Errors,
    /// True if there were enough games to count games, not positions, as independent.
    pub by_game: bool,
    /// Standard errors if all positions were independent (the inverse of the information). They are not: positions of
    /// one game share its result.
    pub naive_errors: Errors,
}

/// Standard errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// Of the coefficients of a, ascending powers.
    pub a: Vec<f64>,
    /// Of the coefficients of b.
    pub b: Vec<f64>,
    /// Of a at the target.
    pub a_target: f64,
    /// Of b at the target.
    pub b_target: f64,
    /// Of the draw rate in even positions at the target.
    pub draw_rate: f64,
}

fn too_little(reason: String) -> Error {
    Error::Usage(format!("the model cannot be fitted: {reason}"))
}

/// Fits a model to counts by maximum likelihood.
///
/// # Errors
/// [`Error::Setting`] for settings out of their range; [`Error::Usage`] for counts that do not determine a model:
/// few positions of an outcome, too few values of the variable, scores that do not predict results.
pub fn fit(counts: &Counts, settings: FitSettings) -> Result<Fit> {
    let FitSettings { by, target, degree } = settings;
    if degree > MAX_DEGREE {
        return Err(Error::setting("degree", degree, format!("must be from 0 to {MAX_DEGREE}")));
    }
    if target == 0 {
        return Err(Error::setting("target", target, "must be at least 1"));
    }
    check_counts(counts)?;
    let rows = counts.rows();
    if rows.len() <= degree {
        let (n, values) = (rows.len(), if rows.len() == 1 { "value" } else { "values" });
        let advice = Advice::default().text("use ").setting("degree", (n - 1).to_string());
        let reason = format!("{n} {values} of {by} are too few for polynomials of degree {degree}");
        return Err(too_little(reason).advise(advice));
    }
    let range = (rows[0].0, rows[rows.len() - 1].0);
    if !(range.0..=range.1).contains(&target) {
        let reason = format!("the positions have a {by} of {} to {}, not of {target}", range.0, range.1);
        return Err(too_little(reason).advise(Advice::default().text("give another ").setting("target", "")));
    }
    let target_f64 = f64::from(target);
    // Constants first, then polynomials from there.
    let spread = typical_score(&rows);
    let constant = Likelihood { rows: &rows, degree: 0, target: target_f64 };
    let begin = minimize(&constant, vec![spread, 0.5 * spread])?.coefficients;
    let likelihood = Likelihood { rows: &rows, degree, target: target_f64 };
    let mut start = vec![0.0; 2 * (degree + 1)];
    (start[0], start[degree + 1]) = (begin[0], begin[1]);
    let found = minimize(&likelihood, start)?;
    let (a, b) = found.coefficients.split_at(degree + 1);
    let model = WdlModel { by, range, target, a: a.to_vec(), b: b.to_vec() };
    for m in range.0..=range.1 {
        let (a, b) = model.curves(f64::from(m));
        if a <= 0.0 || b <= 0.0 {
            let name = if a <= 0.0 { "a" } else { "b" };
            let reason = format!("{name} is not positive at {by} {m}, where there are no positions");
            return Err(too_little(reason).advise(narrower()));
        }
    }
    let n = found.coefficients.len();
    let information = found.factor.inverse();
    let at_target = model.curves(target_f64);
    let naive_errors = Errors::of(&information, degree, at_target, &likelihood.powers(target));
    let by_game = counts.games_kept() >= MIN_GAMES;
    let errors = match by_game {
        true => {
            let meat = scores_by_game(counts, &likelihood, &found.coefficients);
            let sandwich = product(&product(&information, &meat, n), &information, n);
            Errors::of(&sandwich, degree, at_target, &likelihood.powers(target))
        }
        false => naive_errors.clone(),
    };
    Ok(Fit {
        model,
        mean_log_likelihood: -found.value / counts.positions() as f64,
        steps: found.steps,
        errors,
        by_game,
        naive_errors,
    })
}

/// Fits a and b to the positions of single values of the variable that have enough of each outcome. These are the
/// points that the polynomials approximate.
pub(crate) fn local_fits(counts: &Counts) -> Vec<(u16, f64, f64)> {
    let rows = counts.rows();
    let fitted = rows.iter().filter_map(|row| {
        let total = |i: usize| row.1.iter().map(|cell| cell.counts[i]).sum::<f64>();
        if total(0) + total(2) < MIN_POSITIONS as f64 || total(1) < MIN_POSITIONS as f64 {
            return None;
        }
        let rows = std::slice::from_ref(row);
        let spread = typical_score(rows);
        let likelihood = Likelihood { rows, degree: 0, target: 1.0 };
        let found = minimize(&likelihood, vec![spread, 0.5 * spread]).ok()?;
        Some((row.0, found.coefficients[0], found.coefficients[1]))
    });
    fitted.collect()
}

/// Refuses counts without enough positions of each outcome.
fn check_counts(counts: &Counts) -> Result<()> {
    let [wins, draws, losses] = counts.totals();
    if counts.positions() == 0 {
        return Err(too_little("no position has a score within the limits".to_string()));
    }
    let decided = wins + losses;
    for (positions, what) in [(decided, "decided games"), (draws, "drawn games")] {
        if positions < MIN_POSITIONS {
            return Err(too_little(format!(
                "{positions} positions are of {what}, at least {MIN_POSITIONS} are needed"
            )));
        }
    }
    Ok(())
}

fn narrower() -> Advice {
    Advice::default().text("give a narrower ").setting("range", "").text(" or a lower ").setting("degree", "")
}

/// Root mean square of the scores.
fn typical_score(rows: &[(u16, Vec<Cell>)]) -> f64 {
    let cells = rows.iter().flat_map(|(_, cells)| cells);
    let (squares, count) = cells.fold((0.0, 0.0), |(squares, count), cell| {
        let n: f64 = cell.counts.iter().sum();
        (squares + n * cell.score * cell.score, count + n)
    });
    f64::max((squares / count).sqrt(), 1.0)
}

/// A minimum of the negative log likelihood.
struct Minimum {
    coefficients: Vec<f64>,
    value: f64,
    /// Cholesky factor of the Hessian.
    factor: Cholesky,
    steps: usize,
}

/// Newton's method. The diagonal of the Hessian is increased where the Hessian is not positive definite or a step does
/// not help (Levenberg 1944, Marquardt 1963). Steps that leave the region of positive a and b are rejected.
fn minimize(likelihood: &Likelihood<'_>, start: Vec<f64>) -> Result<Minimum> {
    let undetermined = || too_little("scores and results do not determine it".to_string()).advise(narrower());
    let n = start.len();
    let mut x = start;
    let mut here: Value = likelihood.at(&x).ok_or_else(undetermined)?;
    let mut damping = 0.0;
    for steps in 1..=STEPS {
        let mut damped = here.hessian.clone();
        for i in 0..n {
            // Where the diagonal itself is negative, its magnitude still gives the scale.
            let size = here.hessian[i * n + i].abs().max(f64::MIN_POSITIVE);
            damped[i * n + i] += damping * size;
        }
        let Some(factor) = Cholesky::new(&damped, n) else {
            damping = f64::max(10.0 * damping, 1e-3);
            if damping > 1e12 {
                return Err(undetermined());
            }
            continue;
        };
        let step = factor.solve(&here.gradient);
        let promised: f64 = step.iter().zip(&here.gradient).map(|(s, g)| s * g).sum();
        let next: Vec<f64> = x.iter().zip(&step).map(|(x, s)| x - s).collect();
        // Gains too small to be resolved by sums of this size are judged by the step alone.
        if promised < f64::max(PRECISION, ROUNDING * here.value) {
            if damping > 0.0 {
                damping = 0.0;
                continue;
            }
            let here = likelihood.at(&next).ok_or_else(undetermined)?;
            return Ok(Minimum { coefficients: next, value: here.value, factor, steps });
        }
        match likelihood.at(&next).filter(|value| value.value < here.value) {
            Some(value) => {
                (x, here) = (next, value);
                damping = if damping < 1e-6 { 0.0 } else { damping / 10.0 };
            }
            None if damping > 1e12 => return Err(undetermined()),
            None => damping = f64::max(4.0 * damping, 1e-3),
        }
    }
    Err(undetermined())
}

/// Returns Σ over games of the products of their gradients, extrapolated from the kept games to all, with the usual
/// correction for few games (Cameron and Miller, "A practitioner's guide to cluster-robust inference", 2015).
fn scores_by_game(counts: &Counts, likelihood: &Likelihood<'_>, coefficients: &[f64]) -> Vec<f64> {
    let n = coefficients.len();
    let mut meat = vec![0.0; n * n];
    let curves: std::collections::BTreeMap<u16, (Vec<f64>, f64, f64)> = likelihood
        .rows
        .iter()
        .filter_map(|(value, _)| {
            let powers = likelihood.powers(*value);
            let (a, b) = Likelihood::curves(&powers, coefficients)?;
            Some((*value, (powers, a, b)))
        })
        .collect();
    for game in counts.kept_games() {
        let mut gradient = vec![0.0; n];
        for entry in game {
            let Some((powers, a, b)) = curves.get(&entry.value) else { continue };
            let mut outcome = [0.0; 3];
            outcome[entry.outcome as usize] = 1.0;
            let of = terms(&Cell { score: f64::from(entry.score), counts: outcome }, *a, *b);
            for (i, power) in powers.iter().enumerate() {
                gradient[i] += of.a * power;
                gradient[n / 2 + i] += of.b * power;
            }
        }
        for i in 0..n {
            for j in 0..n {
                meat[i * n + j] += gradient[i] * gradient[j];
            }
        }
    }
    let kept = counts.games_kept() as f64;
    let factor = counts.games() as f64 / (kept - 1.0);
    meat.iter_mut().for_each(|value| *value *= factor);
    meat
}

impl Errors {
    /// Derives standard errors from a covariance matrix of the coefficients.
    fn of(covariance: &[f64], degree: usize, (a, b): (f64, f64), powers: &[f64]) -> Self {
        let (p, n) = (degree + 1, 2 * (degree + 1));
        let error = |i: usize| covariance[i * n + i].max(0.0).sqrt();
        let along = |of_a: f64, of_b: f64| {
            let x: Vec<f64> =
                (0..n).map(|i| if i < p { of_a * powers[i] } else { of_b * powers[i - p] }).collect();
            quadratic(covariance, &x).max(0.0).sqrt()
        };
        // D = tanh(a / 2b) at 0.
        let slope = 0.5 / (0.5 * a / b).cosh().powi(2);
        Self {
            a: (0..p).map(error).collect(),
            b: (p..n).map(error).collect(),
            a_target: along(1.0, 0.0),
            b_target: along(0.0, 1.0),
            draw_rate: along(slope / b, -slope * a / (b * b)),
        }
    }
}
