//! Sums of an evaluation that is not linear: parameters that are left out of a sum, and sums with the wrong sign.

use std::sync::Arc;

use gputexel_io::Result;
use gputexel_model::FeatureSet;

use super::rows::{Fix, Row, Rows};
use super::{Guess, Rank};

/// Largest count that may be missing on each side.
const MAX_COUNT: usize = 6;
/// Number of differing rows that decide whether it is worth looking at the others.
const FIRST: usize = 100;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let Some(program) = rows.data.program() else { return Ok(Vec::new()) };
    let mut seen = vec![false; program.columns()];
    rows.rows.iter().flat_map(|row| &row.row.entries).for_each(|entry| seen[usize::from(entry.0)] = true);
    let mut out = Vec::new();
    for (at, accumulator) in program.program().accumulators.iter().enumerate() {
        out.extend(negated(rows, at)?);
        for place in 0..accumulator.features.len() {
            let columns: Vec<u16> =
                program.slots_of(at).map(|slot| (program.slot_columns(slot).start + place) as u16).collect();
            let unseen: Vec<u16> =
                columns.iter().copied().filter(|&column| !seen[usize::from(column)]).collect();
            let feature = &rows.set.features[usize::from(accumulator.features[place])].name;
            let whose = match (unseen.len(), columns.len()) {
                (0, _) => continue,
                (1, 2) if unseen[0] == columns[0] => "White's ",
                (1, 2) => "Black's ",
                _ => "",
            };
            let text = format!(
                "{whose}'{feature}' is left out of '{}' in the trace, but the engine counts it there",
                accumulator.name
            );
            out.extend(left_out(rows, &unseen, text));
        }
    }
    Ok(out)
}

/// Looks for counts of the columns that explain each row.
fn left_out(rows: &Rows<'_>, columns: &[u16], text: String) -> Option<Guess> {
    let counts: Vec<Vec<(u16, f64)>> = match *columns {
        [one] => (0..=MAX_COUNT).map(|count| vec![(one, count as f64)]).collect(),
        [white, black] => (0..=MAX_COUNT)
            .flat_map(|a| (0..=MAX_COUNT).map(move |b| vec![(white, a as f64), (black, b as f64)]))
            .collect(),
        _ => return None,
    };
    let nearest = |row: &Row, target: f64| {
        // Coefficients of 0 are no entries.
        let scores = counts.iter().map(|more| rows.score_of(row, more).0);
        scores.min_by(|a, b| (a - target).abs().total_cmp(&(b - target).abs())).unwrap_or(row.score)
    };
    Guess::by_row(rows, FIRST, (Rank::Untraced, text), None, nearest)
}

/// Negates the terms of an accumulator.
fn negated(rows: &Rows<'_>, accumulator: usize) -> Result<Option<Guess>> {
    let mut set = FeatureSet::clone(&rows.set);
    let Some(program) = &mut set.program else { return Ok(None) };
    let name = program.accumulators[accumulator].name.clone();
    let mut terms = 0;
    for term in program.terms.iter_mut().filter(|term| term.input.accumulator == accumulator) {
        term.scale = -term.scale;
        terms += 1;
    }
    if terms == 0 {
        return Ok(None);
    }
    let text = format!(
        "'{name}' has the opposite sign: set its \"sign\" in the schema, or exchange the indices of its \"sides\""
    );
    Ok(Some(Guess::new(rows, Rank::Exact, Fix::Program(Arc::new(set)), text)?))
}
