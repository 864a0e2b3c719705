//! Evaluations from another point of view, in other units, or with a constant part that is not traced.

use gputexel_io::Result;
use shakmaty::Color;

use super::rows::{Fix, Row, Rows};
use super::{Guess, Rank};

/// Smallest change of the unit that is worth a word.
const MIN_UNIT: f64 = 0.005;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let text = "\"eval\" has the opposite sign throughout, as if it were Black's view: print it from White's";
    let mut out =
        vec![Guess::new(rows, Rank::Exact, Fix::row(|_, row| row.factor = -row.factor), text.to_string())?];
    let sides = rows.rows.iter().all(|row| row.facts.turn.is_some());
    out.push(if sides {
        let fix = Fix::row(|_, row| row.factor *= side(row));
        Guess::new(rows, Rank::Exact, fix, VIEW.to_string())?
    } else {
        // Without the side to move, the sign is free in each row.
        let nearest = |row: &Row, target: f64| row.score.abs().copysign(target);
        free(rows, VIEW.to_string(), nearest)
    });
    let (text, fix) = match rows.fit(|row| [row.score]) {
        Some([change]) if change.abs() >= MIN_UNIT && change > -1.0 => {
            let factor = 1.0 + change;
            let text = format!(
                "\"eval\" is in other units: {factor:.3} times the evaluation of the coefficients; print it in those of the \
                 parameters"
            );
            (text, Some(Fix::row(move |_, row| row.factor *= factor)))
        }
        _ => (String::new(), None),
    };
    out.extend(fix.map(|fix| Guess::new(rows, Rank::OneNumber, fix, text)).transpose()?);
    if let Some([change]) = rows.fit(|_| [1.0]).filter(|[change]| change.abs() > rows.tolerance_cp) {
        let text = format!(
            "\"eval\" has a constant part of {} cp that is not traced, the same for both sides to move: print it in the column \
             \"offset\"",
            shown(change)
        );
        out.push(Guess::new(rows, Rank::OneNumber, Fix::row(move |_, row| add(row, change)), text)?);
    }
    match sides {
        true => out.extend(tempo(rows)?),
        false => out.extend(tempo_of_unknown_side(rows)),
    }
    Ok(out)
}

/// Adds to the score of a row.
fn add(row: &mut Row, change: f64) {
    row.row.offset_cp += change / row.factor;
}

/// Makes a guess of which the sign is free in each row.
fn free(rows: &Rows<'_>, text: String, nearest: impl Fn(&Row, f64) -> f64 + Sync + Send) -> Guess {
    let scores = rows.scores(|row| (nearest(row, row.printed), false));
    Guess { chance: rows.chance(nearest), ..Guess::taken(Rank::Signs, scores, text) }
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

fn tempo(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let guess = |rank: Rank, value: String, bonus: Box<dyn Fn(&Row) -> f64 + Sync + Send>| {
        let text = format!(
            "a bonus of {value} cp for the side to move is in \"eval\", but not in the trace: trace it as a parameter, or in \
             the column \"offset\""
        );
        Guess::new(rows, rank, Fix::row(move |_, row| add(row, bonus(row))), text)
    };
    let one = rows
        .fit(|row| [side(row)])
        .map(|[value]| guess(Rank::OneNumber, shown(value), Box::new(move |row| side(row) * value)));
    let both = rows.fit(tapered).map(|[mg, eg]| {
        let value = format!("{} (middlegame) and {} (endgame)", shown(mg), shown(eg));
        let bonus = move |row: &Row| tapered(row)[0] * mg + tapered(row)[1] * eg;
        guess(Rank::TwoNumbers, value, Box::new(bonus))
    });
    one.into_iter().chain(both).collect()
}

/// Returns the shares of the middlegame and the endgame, negative if Black is to move.
fn tapered(row: &Row) -> [f64; 2] {
    let (mg, eg) = row.row.shares.pair();
    [side(row) * mg, side(row) * eg]
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
    vec![free(rows, text, nearest)]
}

/// Formats a number that was fitted to rounded evaluations.
pub(super) fn shown(value: f64) -> String {
    let whole = value.round();
    if (value - whole).abs() < 0.3 { format!("{:.0}", whole + 0.0) } else { format!("{value:.1}") }
}
