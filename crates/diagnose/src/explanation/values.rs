//! Single values that the engine does not evaluate with.

use super::views::shown;
use super::{Guess, Row, Rows};
use gputexel_dataset::objective;
use gputexel_io::Result;
use gputexel_model::Phases;

/// Number of parameters that are looked into, those that fit best.
const TRIED: usize = 6;
/// Steps of Gauss–Newton toward a value; evaluations that are linear need one.
const STEPS: usize = 4;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let features = rows.set.features.len();
    // Σ x² and Σ x d of each slope x and the difference d.
    let mut sums = vec![[0.0; 2]; 2 * features];
    for row in &rows.rows {
        for (at, x) in slopes(rows, rows.theta, row) {
            sums[at] = [sums[at][0] + x * x, sums[at][1] + x * row.difference()];
        }
    }
    let gain = |at: usize| if sums[at][0] > 0.0 { sums[at][1] * sums[at][1] / sums[at][0] } else { 0.0 };
    let gain = |feature: usize| gain(feature).max(gain(feature + features));
    let mut best: Vec<usize> = (0..features).filter(|&feature| gain(feature) > 0.0).collect();
    best.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)));
    let mut out = Vec::new();
    let imported = rows.set.imported.as_ref();
    // Those of the trace itself, such as a 1, are frozen.
    best.retain(|&feature| {
        !rows.are_builds() || imported.is_none_or(|imported| !imported.parameters[feature].frozen)
    });
    for &feature in best.iter().take(TRIED) {
        let (mg, eg) = (feature, feature + features);
        let tries = match imported.map_or(Phases::Both, |imported| imported.parameters[feature].phases) {
            Phases::Untapered => vec![vec![vec![mg, eg]]],
            _ => vec![vec![vec![mg]], vec![vec![eg]], vec![vec![mg], vec![eg]]],
        };
        for groups in tries {
            out.extend(fitted(rows, &groups)?);
        }
    }
    Ok(out)
}

/// Fits one number, or two, each the value of some entries of θ.
fn fitted(rows: &Rows<'_>, groups: &[Vec<usize>]) -> Result<Option<Guess>> {
    let mut theta = rows.theta.to_vec();
    for _ in 0..if rows.set.program.is_some() { STEPS } else { 1 } {
        let reference = rows.compared.reference(&theta)?;
        let column = |row: &Row, group: &[usize]| -> f64 {
            slopes(rows, &theta, row)
                .iter()
                .filter(|slope| group.contains(&slope.0))
                .map(|slope| slope.1)
                .sum()
        };
        let left = |row: &Row| row.printed - reference.score_of_row(&row.row, &[]);
        let changes = match groups {
            [one] => super::least_squares(rows.rows.iter().map(|row| ([column(row, one)], left(row))))
                .map(Vec::from),
            [one, two] => super::least_squares(
                rows.rows.iter().map(|row| ([column(row, one), column(row, two)], left(row))),
            )
            .map(Vec::from),
            _ => None,
        };
        let Some(changes) = changes else { return Ok(None) };
        for (group, change) in groups.iter().zip(changes) {
            group.iter().for_each(|&at| theta[at] += change);
        }
    }
    let unit = if rows.theta.iter().all(|value| value.fract() == 0.0) { 1.0 } else { 10.0 };
    groups.iter().flatten().for_each(|&at| theta[at] = (unit * theta[at]).round() / unit);
    if theta == rows.theta || !theta.iter().all(|value| value.is_finite()) {
        return Ok(None);
    }
    let values = |theta: &[f64]| -> String {
        groups.iter().map(|group| shown(theta[group[0]])).collect::<Vec<_>>().join(" and ")
    };
    let name = match groups {
        [one] if one.len() == 1 => rows.set.parameter_name(one[0]),
        _ => rows.set.features[groups[0][0]].name.clone(),
    };
    let (played, known) = (values(&theta), values(rows.theta));
    let text = match rows.are_builds() {
        true => format!(
            "'{name}' does not count alike in both builds, such as twice in one: what is played is as if it were {played}, \
             not {known}"
        ),
        false => format!(
            "the engine plays with {played} for '{name}', not with {known}: correct its prior, or the engine"
        ),
    };
    rows.with_values(&theta, groups.len() as u32, text).map(Some)
}

/// Derivatives of a row's score by θ: indices and slopes.
pub(super) fn slopes(rows: &Rows<'_>, theta: &[f64], row: &Row) -> Vec<(usize, f64)> {
    let mut slopes = Vec::new();
    if rows.set.program.is_some() {
        objective::score_and_slopes(rows.data, theta, row.n, &mut slopes);
        return slopes;
    }
    let (mg, eg) = row.row.shares.pair();
    for &(id, c) in &row.row.entries {
        slopes.extend([(usize::from(id), c * mg), (usize::from(id) + rows.set.features.len(), c * eg)]);
    }
    slopes
}
