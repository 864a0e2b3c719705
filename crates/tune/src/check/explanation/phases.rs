//! Another phase: reversed, or on another scale than the schema says.

use gputexel_ingest::trace::{Reference, ReferenceRow, Shares};
use gputexel_io::Result;
use gputexel_model::Division;

use super::rows::{Fix, Row, Rows};
use super::{Guess, Rank};

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let max = rows.data.phase_max();
    if rows.rows.iter().all(|row| row.row.shares.phase == max) {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    // With the ends exchanged, phase and values cannot be told apart unless boards are known.
    let text = match grows_with_pieces(rows) {
        Some(true) => None,
        Some(false) => {
            Some("the phase is reversed: exchange \"middlegame\" and \"endgame\" of \"phase\" in the schema")
        }
        None => {
            Some("the phase is reversed (exchange \"middlegame\" and \"endgame\" of \"phase\" in the schema)")
        }
    };
    if let Some(text) = text {
        out.push(Guess::new(rows, Rank::Exact, with_phase(f64::from(max), 0.0), text.to_string())?);
    }
    let exact = rows.reference.clone().with_division(Division::Exact);
    let slope = |row: &Row| slope(&exact, row);
    let phi = |row: &Row| f64::from(row.row.shares.phase) / f64::from(max);
    let scale = rows.fit(|row| [phi(row) * slope(row)]).map(|[more]| (0.0, 1.0 + more));
    let both = rows.fit(|row| [slope(row), phi(row) * slope(row)]).map(|[at, more]| (at, 1.0 + more));
    for (rank, found) in [(Rank::OneNumber, scale), (Rank::TwoNumbers, both)] {
        // φ' = at + by φ is 0 and 1 at these phases.
        let Some((at, by)) = found.filter(|(_, by)| by.abs() > 1e-3) else { continue };
        let ends = [-at / by, (1.0 - at) / by].map(|phi| (phi * f64::from(max)).round() + 0.0); // no −0
        let [endgame, middlegame] = ends;
        let plain = ends == [0.0, f64::from(max)] || ends == [f64::from(max), 0.0];
        if plain || endgame == middlegame || ends.iter().any(|end| end.abs() > 10_000.0) {
            continue;
        }
        let text = format!(
            "the phase is on another scale: of its {max} steps, {middlegame:.0} fits the middlegame and {endgame:.0} the endgame, \
             not {max} and 0; correct \"phase\" in the schema"
        );
        out.push(Guess::new(rows, rank, with_phase(endgame, middlegame), text)?);
    }
    Ok(out)
}

/// Lets phases count from `endgame` to `middlegame`.
fn with_phase(endgame: f64, middlegame: f64) -> Fix {
    let length = (middlegame - endgame).abs();
    Fix::row(move |_, row| {
        let phase = (f64::from(row.row.shares.phase) - endgame) * (middlegame - endgame).signum();
        row.row.shares.phase = phase.clamp(0.0, length) as u16;
        row.row.shares.max = length as u16;
    })
}

/// Returns the score in the middlegame less that in the endgame.
fn slope(exact: &Reference, row: &Row) -> f64 {
    let at = |phase: u16| {
        let shares = Shares { phase, ..row.row.shares };
        exact.score_of_row(&ReferenceRow { shares, ..row.row.clone() }, &[]).0
    };
    row.factor * (at(row.row.shares.max) - at(0))
}

/// Returns true if the phase grows with the number of pieces, as it should; `None` if boards are unknown.
pub(super) fn grows_with_pieces(rows: &Rows<'_>) -> Option<bool> {
    let known: Vec<[f64; 2]> = rows
        .rows
        .iter()
        .filter_map(|row| Some([f64::from(row.facts.pieces?), f64::from(row.row.shares.phase)]))
        .collect();
    let mean = |at: usize| known.iter().map(|pair| pair[at]).sum::<f64>() / known.len() as f64;
    let means = [mean(0), mean(1)];
    let product: f64 = known.iter().map(|pair| (pair[0] - means[0]) * (pair[1] - means[1])).sum();
    (2 * known.len() >= rows.rows.len()).then_some(product > 0.0)
}
