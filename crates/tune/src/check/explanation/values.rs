//! Single values that the engine does not evaluate with, and parameters with their two values exchanged or negated.

use gputexel_io::Result;
use gputexel_model::Phases;

use super::super::order::SuspectedOrder;
use super::blocks::plain;
use super::rows::{Fix, Row, Rows};
use super::tables::ordered_text;
use super::views::shown;
use super::{Guess, Rank};

/// Number of parameters that are looked into, those that fit best.
const TRIED: usize = 6;
/// Steps of Gauss–Newton toward a value; evaluations that are linear need one.
const STEPS: usize = 4;

/// Products of a parameter's two slopes with each other and with the differences.
#[derive(Clone, Copy, Default)]
struct Products {
    slopes: [f64; 2],
    cross: f64,
    differences: [f64; 2],
}

impl Products {
    /// Returns the sum of squares that both values together can explain.
    fn gain(&self) -> f64 {
        let [a, b] = self.slopes;
        let [x, y] = self.differences;
        let determinant = a * b - self.cross * self.cross;
        if determinant > 1e-9 * a * b {
            return (b * x * x - 2.0 * self.cross * x * y + a * y * y) / determinant;
        }
        [(x, a), (y, b)].iter().filter(|(_, a)| *a > 0.0).map(|(x, a)| x * x / a).fold(0.0, f64::max)
    }
}

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let features = rows.set.features.len();
    let mut products = vec![Products::default(); features];
    for row in &rows.rows {
        let mut slopes = rows.slopes(row);
        // A feature may be in several sums.
        slopes.sort_by_key(|&(at, _)| (at % features, at));
        for own in slopes.chunk_by(|a, b| a.0 % features == b.0 % features) {
            let sum = |phase: usize| own.iter().filter(|s| s.0 / features == phase).map(|s| s.1).sum::<f64>();
            let [mg, eg] = [sum(0), sum(1)];
            let of = &mut products[own[0].0 % features];
            of.slopes = [of.slopes[0] + mg * mg, of.slopes[1] + eg * eg];
            of.cross += mg * eg;
            let d = row.difference();
            of.differences = [of.differences[0] + mg * d, of.differences[1] + eg * d];
        }
    }
    let gains: Vec<f64> = products.iter().map(Products::gain).collect();
    let mut best: Vec<usize> = (0..features).filter(|&feature| gains[feature] > 0.0).collect();
    best.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
    best.truncate(TRIED);
    let mut out = Vec::new();
    for (at, &feature) in best.iter().enumerate() {
        out.extend(rearranged(rows, feature)?);
        out.extend(fitted(rows, feature)?);
        for &other in &best[at + 1..] {
            out.push(exchanged(rows, feature, other)?);
        }
    }
    Ok(out)
}

/// Orders of the two values of a parameter.
const ORDERS: [SuspectedOrder; 4] = [
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
    SuspectedOrder::MgInBoth,
    SuspectedOrder::EgInBoth,
];

/// Exchanges the two values of a parameter, negates them, and uses one in both phases.
fn rearranged(rows: &Rows<'_>, feature: usize) -> Result<Vec<Guess>> {
    let name = &rows.set.features[feature].name;
    let part = plain(name, vec![feature as u32]);
    let changed = ORDERS.into_iter().filter_map(|order| {
        let theta = order.apply(&part, &rows.theta, &rows.theta, None)?;
        Some(Guess::new(rows, Rank::Exact, Fix::Values(theta), ordered_text(&format!("'{name}'"), order)))
    });
    changed.collect()
}

/// Exchanges two parameters.
fn exchanged(rows: &Rows<'_>, one: usize, other: usize) -> Result<Guess> {
    let mut theta = rows.theta.clone();
    for phase in [0, rows.set.features.len()] {
        theta.swap(one + phase, other + phase);
    }
    let [one, other] = [one, other].map(|feature| &rows.set.features[feature].name);
    let text = format!("'{one}' and '{other}' are exchanged, in the trace or in their priors");
    Guess::new(rows, Rank::Exact, Fix::Values(theta), text)
}

/// Fits the values of a parameter, one of them or both.
fn fitted(rows: &Rows<'_>, feature: usize) -> Result<Vec<Guess>> {
    let features = rows.set.features.len();
    let (mg, eg) = (feature, feature + features);
    let name = &rows.set.features[feature].name;
    let phases =
        rows.set.imported.as_ref().map_or(Phases::Both, |imported| imported.parameters[feature].phases);
    let one = |at: usize| {
        let slope = move |rows: &Rows<'_>, row: &Row| [slope(rows, row, &[at])];
        follow(rows, |rows| Some(vec![(at, rows.fit(|row| slope(rows, row))?[0])]))
    };
    let said = |at: usize, theta: &[f64]| {
        let (value, prior) = (shown(theta[at]), shown(rows.theta[at]));
        format!(
            "the engine plays with {value} for '{}', not with {prior}: correct its prior, or the engine",
            rows.set.parameter_name(at)
        )
    };
    let mut out = Vec::new();
    if phases == Phases::Untapered {
        let both = |rows: &Rows<'_>| {
            let change = rows.fit(|row| [slope(rows, row, &[mg, eg])])?[0];
            Some(vec![(mg, change), (eg, change)])
        };
        if let Some(theta) = follow(rows, both)? {
            let (value, prior) = (shown(theta[mg]), shown(rows.theta[mg]));
            let text = format!(
                "the engine plays with {value} for '{name}', not with {prior}: correct its prior, or the engine"
            );
            out.push(Guess::new(rows, Rank::OneNumber, Fix::Values(theta), text)?);
        }
        return Ok(out);
    }
    for at in [mg, eg] {
        if let Some(theta) = one(at)? {
            let text = said(at, &theta);
            out.push(Guess::new(rows, Rank::OneNumber, Fix::Values(theta), text)?);
        }
    }
    let pair = |rows: &Rows<'_>| {
        let [a, b] = rows.fit(|row| [slope(rows, row, &[mg]), slope(rows, row, &[eg])])?;
        Some(vec![(mg, a), (eg, b)])
    };
    if let Some(theta) = follow(rows, pair)? {
        let text = format!(
            "the engine plays with {} and {} for '{name}', not with {} and {}: correct its prior, or the engine",
            shown(theta[mg]),
            shown(theta[eg]),
            shown(rows.theta[mg]),
            shown(rows.theta[eg])
        );
        out.push(Guess::new(rows, Rank::TwoNumbers, Fix::Values(theta), text)?);
    }
    Ok(out)
}

/// Returns the derivative of a row's score by some entries of θ together.
fn slope(rows: &Rows<'_>, row: &Row, of: &[usize]) -> f64 {
    rows.slopes(row).iter().filter(|slope| of.contains(&slope.0)).map(|slope| slope.1).sum()
}

/// Follows the changes of θ that `step` finds, and rounds them as the other values are; `None` if nothing changes.
fn follow(
    rows: &Rows<'_>,
    step: impl Fn(&Rows<'_>) -> Option<Vec<(usize, f64)>>,
) -> Result<Option<Vec<f64>>> {
    let unit = if rows.is_whole() { 1.0 } else { 10.0 };
    let mut theta = rows.theta.clone();
    let mut changed = Vec::new();
    for _ in 0..if rows.set.program.is_some() { STEPS } else { 1 } {
        let Some(changes) = step(&rows.after(&Fix::Values(theta.clone()))?) else { return Ok(None) };
        changed = changes.iter().map(|&(at, _)| at).collect();
        changes.iter().for_each(|&(at, change)| theta[at] += change);
    }
    changed.iter().for_each(|&at| theta[at] = (unit * theta[at]).round() / unit);
    Ok((theta != rows.theta && theta.iter().all(|value| value.is_finite())).then_some(theta))
}
