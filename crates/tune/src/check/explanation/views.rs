//! Evaluations from another point of view, in other units, or with a constant part that is not traced.

use gputexel_io::Result;
use shakmaty::Color;

use super::rows::{Row, Rows};
use super::{Guess, Rank};

/// Smallest change of the unit that is worth a word.
const MIN_UNIT: f64 = 0.005;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let mut out = vec![Guess::new(
        Rank::Exact,
        rows.scores(|row| (-row.score, false)),
        "\"eval\" has the opposite sign throughout, as if it were Black's view: print it from White's"
            .to_string(),
    )];
    let sides = rows.rows.iter().all(|row| row.facts.turn.is_some());
    out.extend(if sides { vec![turned(rows)] } else { turned_somewhere(rows) });
    out.extend(unit(rows));
    out.extend(constant(rows));
    out.extend(if sides { tempo(rows) } else { tempo_of_unknown_side(rows) });
    Ok(out)
}

/// Returns 1 if White is to move, −1 if Black is, 0 if that is unknown.
fn side(row: &Row) -> f64 {
    match row.facts.turn {
        Some(Color::White) => 1.0,
        Some(Color::Black) => -1.0,
        None => 0.0,
    }
}

const VIEW: &str = "\"eval\" and the coefficients take different points of view, White's and that of the side to move: print both \
                    from White's, or correct \"point_of_view\" in the schema";

fn turned(rows: &Rows<'_>) -> Guess {
    Guess::new(Rank::Exact, rows.scores(|row| (side(row) * row.score, false)), VIEW.to_string())
}

/// Without the side to move, the sign is free in each row.
fn turned_somewhere(rows: &Rows<'_>) -> Vec<Guess> {
    let nearest = |row: &Row, target: f64| row.score.abs().copysign(target);
    let scores = rows.scores(|row| (nearest(row, row.printed), false));
    let chance = rows.chance(nearest);
    vec![Guess { text: VIEW.to_string(), rank: Rank::Signs, scores, chance }]
}

fn unit(rows: &Rows<'_>) -> Option<Guess> {
    let [change] = rows.fit(|row| [row.score])?;
    let factor = 1.0 + change;
    let text = format!(
        "\"eval\" is in other units: {factor:.3} times the evaluation of the coefficients; print it in those of the parameters"
    );
    let changed = change.abs() >= MIN_UNIT && factor > 0.0;
    changed.then(|| Guess::new(Rank::OneNumber, rows.scores(|row| (factor * row.score, false)), text))
}

fn constant(rows: &Rows<'_>) -> Option<Guess> {
    let [change] = rows.fit(|_| [1.0])?;
    let text = format!(
        "\"eval\" has a constant part of {} cp that is not traced, the same for both sides to move: print it in the column \
         \"offset\"",
        shown(change)
    );
    let scores = rows.scores(|row| (row.score + change, false));
    (change.abs() > rows.tolerance_cp).then(|| Guess::new(Rank::OneNumber, scores, text))
}

fn tempo(rows: &Rows<'_>) -> Vec<Guess> {
    let text = |value: String| {
        format!(
            "a bonus of {value} cp for the side to move is in \"eval\", but not in the trace: trace it as a parameter, or in the column \"offset\""
        )
    };
    let one = rows.fit(|row| [side(row)]).map(|[value]| {
        let scores = rows.scores(|row| (row.score + side(row) * value, false));
        Guess::new(Rank::OneNumber, scores, text(shown(value)))
    });
    let tapered = |row: &Row| row.shares().map(|share| side(row) * share);
    let both = rows.fit(tapered).map(|[mg, eg]| {
        let scores = rows.scores(|row| {
            let [a, b] = tapered(row);
            (row.score + a * mg + b * eg, false)
        });
        Guess::new(
            Rank::TwoNumbers,
            scores,
            text(format!("{} (middlegame) and {} (endgame)", shown(mg), shown(eg))),
        )
    });
    one.into_iter().chain(both).collect()
}

fn tempo_of_unknown_side(rows: &Rows<'_>) -> Vec<Guess> {
    let mut sizes: Vec<f64> = rows.rows.iter().map(|row| row.difference().abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let Some(&value) = sizes.get(sizes.len() / 2) else { return Vec::new() };
    let nearest = |row: &Row, target: f64| row.score + value.copysign(target - row.score);
    let text = format!(
        "\"eval\" is {} cp more or less than the trace says in every position: is a bonus for the side to move not traced?",
        shown(value)
    );
    let scores = rows.scores(|row| (nearest(row, row.printed), false));
    vec![Guess { text, rank: Rank::Signs, scores, chance: rows.chance(nearest) }]
}

/// Formats a number that was fitted to rounded evaluations.
pub(super) fn shown(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() < 0.3 { format!("{:.0}", whole + 0.0) } else { format!("{value:.1}") }
}
