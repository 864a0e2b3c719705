//! Terms that the trace does not count as the engine does: differences are whole multiples of the parameter.

use std::collections::HashSet;

use super::{Guess, Row, Rows};
use gputexel_io::Result;

const MAX_COUNT: f64 = 16.0;
/// Smallest value, in tolerances: of smaller ones, nearly any difference is a multiple.
const MIN_TOLERANCES: f64 = 8.0;
/// Least evidence that differences are multiples not by chance, in natural logarithms of a probability, beside that
/// of finding one among all parameters.
const MIN_EVIDENCE: f64 = 5.0;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let occurrences = rows.data.occurrences();
    let features = rows.set.features.len();
    // Parameters of accumulators need not have a place in the linear part.
    let in_sums = |id: usize| {
        let mut sums = rows.set.program.iter().flat_map(|program| &program.accumulators);
        sums.any(|sum| sum.features.contains(&(id as u16)))
    };
    let mut out = Vec::new();
    for (id, feature) in rows.set.features.iter().enumerate().filter(|(id, _)| !in_sums(*id)) {
        if rows.theta[id].abs().max(rows.theta[id + features].abs())
            < MIN_TOLERANCES * rows.tolerance_cp.max(1.0)
        {
            continue;
        }
        let text = match occurrences[id] {
            0 => format!("'{}' is evaluated, but not traced: it occurs in no position", feature.name),
            _ => format!(
                "'{}' is not counted in the trace as in the engine: differences are whole multiples of it",
                feature.name
            ),
        };
        let nearest = |row: &Row| nearest(rows, row, id as u16);
        let first: Vec<&Row> = rows.differing().take(100).collect();
        let agreeing = first.iter().filter(|row| rows.agrees(nearest(row), row.printed)).count();
        // Differences that are alike are one observation, however many they are.
        let step = 2.0 * rows.tolerance_cp + 1.0;
        let sizes = |row: &Row| {
            [row.difference(), unit(rows, row, id as u16)].map(|cp| (cp.abs() / step).round() as u64)
        };
        let sizes: HashSet<[u64; 2]> = rows.differing().map(sizes).collect();
        let evidence: f64 = sizes.iter().map(|[_, unit]| (*unit as f64).max(1.0).ln()).sum();
        if 20 * agreeing >= 19 * first.len() && evidence >= MIN_EVIDENCE + (features as f64).ln() {
            out.push(rows.free(text, nearest));
        }
    }
    Ok(out)
}

/// By how much one more of a feature changes the score of a row.
fn unit(rows: &Rows<'_>, row: &Row, id: u16) -> f64 {
    rows.reference.score_of_row(&row.row, &[(id, 1.0)]) - row.score
}

/// The score nearest to the printed one that a row has with another whole count of a feature.
fn nearest(rows: &Rows<'_>, row: &Row, id: u16) -> f64 {
    let scored = |count: f64| rows.reference.score_of_row(&row.row, &[(id, count)]);
    let unit = unit(rows, row, id);
    if rows.agrees(row.score, row.printed) || unit == 0.0 {
        return row.score;
    }
    // Evaluations are rounded, so a neighbor may fit as well.
    let about = (row.difference() / unit).round().clamp(-MAX_COUNT, MAX_COUNT);
    let scores = [about, about - 1.0, about + 1.0].map(scored);
    let nearer = |a: &f64, b: &f64| (a - row.printed).abs().total_cmp(&(b - row.printed).abs());
    scores.into_iter().min_by(nearer).unwrap_or(row.score)
}
