//! Evaluations from another point of view, in other units, with a part that is not traced, or with another phase.

use gputexel_ingest::trace::{ReferenceRow, Shares};
use gputexel_io::Result;
use gputexel_model::Division;
use shakmaty::Color;

use super::{Guess, Row, Rows};

/// Smallest change of the unit that is worth a word.
const MIN_UNIT: f64 = 0.005;

const VIEW: &str = "\"eval\" and the coefficients take different points of view, White's and that of the side to move: print both \
                    from White's, or correct \"point_of_view\" in the schema";

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let opposite =
        "\"eval\" has the opposite sign throughout, as if it were Black's view: print it from White's";
    let mut out = vec![rows.with_rows(0, opposite.to_string(), |row| row.factor = -1.0)];
    if let Some([change]) = rows.fit(|row| [row.score]).filter(|[by]| by.abs() >= MIN_UNIT && *by > -1.0) {
        let factor = 1.0 + change;
        let text = format!(
            "\"eval\" is in other units: {factor:.3} times the evaluation of the coefficients; print it in those of the \
             parameters"
        );
        out.push(rows.with_rows(1, text, |row| row.factor = factor));
    }
    if let Some([change]) = rows.fit(|_| [1.0]).filter(|[change]| change.abs() > rows.tolerance_cp) {
        let text = format!(
            "\"eval\" has a constant part of {} cp that is not traced, the same for both sides to move: print it in the column \
             \"offset\"",
            shown(change)
        );
        out.push(rows.with_rows(1, text, |row| row.row.offset_cp += change));
    }
    if rows.rows.iter().all(|row| row.facts.turn.is_some()) {
        out.push(rows.with_rows(0, VIEW.to_string(), |row| row.factor = side(row)));
        out.extend(tempo(rows));
    } else {
        // Without the side to move, the sign is free in each row.
        out.push(rows.free(VIEW.to_string(), |row| row.score.abs().copysign(row.printed)));
        out.extend(tempo_of_unknown_side(rows));
    }
    out.extend(phases(rows));
    Ok(out)
}

/// 1 if White is to move, −1 if Black is.
fn side(row: &Row) -> f64 {
    if row.facts.turn == Some(Color::Black) { -1.0 } else { 1.0 }
}

fn tapered(row: &Row) -> [f64; 2] {
    let (mg, eg) = row.row.shares.pair();
    [side(row) * mg, side(row) * eg]
}

fn tempo(rows: &Rows<'_>) -> Vec<Guess> {
    let text = |value: String| {
        format!(
            "a bonus of {value} cp for the side to move is in \"eval\", but not in the trace: trace it as a parameter, or in \
             the column \"offset\""
        )
    };
    let one = rows
        .fit(|row| [side(row)])
        .map(|[value]| rows.with_rows(1, text(shown(value)), |row| row.row.offset_cp += side(row) * value));
    let both = rows.fit(tapered).map(|[mg, eg]| {
        let value = format!("{} (middlegame) and {} (endgame)", shown(mg), shown(eg));
        let add = |row: &mut Row| row.row.offset_cp += tapered(row)[0] * mg + tapered(row)[1] * eg;
        rows.with_rows(2, text(value), add)
    });
    one.into_iter().chain(both).collect()
}

fn tempo_of_unknown_side(rows: &Rows<'_>) -> Option<Guess> {
    let mut sizes: Vec<f64> = rows.rows.iter().map(|row| row.difference().abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let value = *sizes.get(sizes.len() / 2)?;
    let text = format!(
        "\"eval\" is {} cp more or less than the trace says in every position: is a bonus for the side to move not traced?",
        shown(value)
    );
    Some(rows.free(text, |row| row.score + value.copysign(row.difference())))
}

fn phases(rows: &Rows<'_>) -> Vec<Guess> {
    let max = rows.data.phase_max();
    if rows.rows.iter().all(|row| row.row.shares.phase == max) {
        return Vec::new();
    }
    let mut out = Vec::new();
    // With the ends exchanged, phase and values cannot be told apart unless boards are known.
    if grows_with_pieces(rows) != Some(true) {
        let text =
            "the phase is reversed: exchange \"middlegame\" and \"endgame\" of \"phase\" in the schema";
        out.push(rows.with_rows(0, text.to_string(), with_phase(f64::from(max), 0.0)));
    }
    let exact = rows.reference.clone().with_division(Division::Exact);
    let slope = |row: &Row| {
        let at = |phase: u16| {
            let shares = Shares { phase, ..row.row.shares };
            exact.score_of_row(&ReferenceRow { shares, ..row.row.clone() }, &[])
        };
        at(row.row.shares.max) - at(0)
    };
    let phi = |row: &Row| f64::from(row.row.shares.phase) / f64::from(max);
    let scale = rows.fit(|row| [phi(row) * slope(row)]).map(|[more]| (0.0, 1.0 + more));
    let both = rows.fit(|row| [slope(row), phi(row) * slope(row)]).map(|[at, more]| (at, 1.0 + more));
    for (fitted, found) in [(1, scale), (2, both)] {
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
        out.push(rows.with_rows(fitted, text, with_phase(endgame, middlegame)));
    }
    out
}

fn with_phase(endgame: f64, middlegame: f64) -> impl Fn(&mut Row) + Sync {
    let length = (middlegame - endgame).abs();
    move |row| {
        let phase = (f64::from(row.row.shares.phase) - endgame) * (middlegame - endgame).signum();
        row.row.shares.phase = phase.clamp(0.0, length) as u16;
        row.row.shares.max = length as u16;
    }
}

/// True if the phase grows with the number of pieces, as it should; `None` if boards are unknown.
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

pub(super) fn shown(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() < 0.3 { format!("{:.0}", whole + 0.0) } else { format!("{value:.1}") }
}
