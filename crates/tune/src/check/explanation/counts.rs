//! Coefficients that the trace does not have as the engine does: terms that are not traced, and terms of which one color
//! has the wrong sign or is missing.
//!
//! What is missing is unknown in each row, but it is a whole multiple of the parameter.

use std::sync::Arc;

use gputexel_io::Result;

use super::rows::{More, Row, Rows};
use super::{FIRST, Guess, MIN_DIFFERING, MIN_ROWS, Rank};

/// Largest count that may be missing.
const MAX_COUNT: f64 = 16.0;
/// Largest count that may be missing beside another mistake.
const MAX_BESIDE: i32 = 4;
/// Smallest number of terms of which none may be negative before that is called a mistake.
const MIN_TERMS: usize = 4;

/// Counts that may be missing: of a coefficient c, true for m if c + m may be the right one.
type Allowed = fn(f64, f64) -> bool;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let features = rows.set.features.len();
    // Occurrences, negative and positive.
    let mut signs = vec![[0usize; 2]; features];
    for (id, coefficient) in rows.rows.iter().flat_map(|row| row.row.entries.iter().copied()) {
        if let Some(signs) = signs.get_mut(usize::from(id))
            && coefficient != 0.0
        {
            signs[usize::from(coefficient > 0.0)] += 1;
        }
    }
    let occurrences = rows.data.occurrences();
    let in_sums = rows.set.program.iter().flat_map(|program| &program.accumulators);
    let in_sums: Vec<u16> = in_sums.flat_map(|accumulator| accumulator.features.iter().copied()).collect();
    let mut out: Vec<Guess> = all_of_black(rows, &signs).into_iter().collect();
    for (id, &[negative, positive]) in signs.iter().enumerate() {
        let name = &rows.set.features[id].name;
        let seen = negative + positive;
        // Parameters of accumulators need not have a place in the linear part.
        if seen == 0 && in_sums.contains(&(id as u16)) {
            continue;
        }
        let mut tried: Vec<(Rank, Allowed, String)> = Vec::new();
        if seen >= MIN_ROWS && (negative == 0 || positive == 0) {
            let color = if negative == 0 { "Black" } else { "White" };
            let did =
                if negative == 0 { "added instead of subtracted" } else { "subtracted instead of added" };
            tried.push((Rank::Signs, turned, format!("{color}'s '{name}' is {did} in the trace")));
            let allowed: Allowed = if negative == 0 { fewer } else { more };
            tried.push((
                Rank::Untraced,
                allowed,
                format!("{color}'s '{name}' is not traced, only the other color's"),
            ));
        }
        if seen == 0 {
            let text = match occurrences[id] {
                0 => format!("'{name}' is evaluated, but not traced: it occurs in no position"),
                _ => format!("'{name}' is evaluated, but not traced where evaluations differ"),
            };
            tried.push((Rank::Untraced, any, text));
        } else if rows.more.is_none() {
            let text = format!(
                "'{name}' is not traced as often as it is evaluated: differences are whole multiples of it"
            );
            tried.push((Rank::Counts, any, text));
        }
        for (rank, allowed, text) in tried {
            out.extend(missing(rows, id as u16, allowed, rank, text));
        }
    }
    Ok(out)
}

fn any(_: f64, count: f64) -> bool {
    count.abs() <= MAX_COUNT
}

/// White's and Black's add up to c, instead of their difference.
fn turned(c: f64, count: f64) -> bool {
    (c + count).abs() <= c.abs() && count % 2.0 == 0.0
}

fn fewer(_: f64, count: f64) -> bool {
    (-MAX_COUNT..=0.0).contains(&count)
}

fn more(_: f64, count: f64) -> bool {
    (0.0..=MAX_COUNT).contains(&count)
}

/// Looks for whole numbers that, added to the coefficient of a feature, explain each row.
fn missing(rows: &Rows<'_>, id: u16, allowed: Allowed, rank: Rank, text: String) -> Option<Guess> {
    let nearest = |row: &Row, target: f64| {
        let scored = |count: f64| match count {
            0.0 => row.score,
            _ => rows.score_of(row, &[(id, count)]).0,
        };
        let unit = scored(1.0) - row.score;
        if unit == 0.0 {
            return row.score;
        }
        let about = ((target - row.score) / unit).round();
        let coefficient = row.coefficient(id);
        // Evaluations are rounded, so a neighbor may fit as well.
        let counts = [about, about - 1.0, about + 1.0, 0.0].into_iter();
        let most = if rows.more.is_some() { f64::from(MAX_BESIDE) } else { MAX_COUNT };
        let counts =
            counts.filter(|&count| count == 0.0 || allowed(coefficient, count) && count.abs() <= most);
        let scores = counts.map(scored);
        scores.min_by(|a, b| (a - target).abs().total_cmp(&(b - target).abs())).unwrap_or(row.score)
    };
    let more: More = Arc::new(move |row| {
        let coefficient = row.coefficient(id);
        let counts = (-MAX_BESIDE..=MAX_BESIDE).map(f64::from);
        counts.filter(|&n| n != 0.0 && allowed(coefficient, n)).map(|n| vec![(id, n)]).collect()
    });
    let more = (rank <= Rank::Untraced).then_some(more);
    let mut guess = Guess::by_row(rows, FIRST, (rank, text), more, nearest)?;
    if rank >= Rank::Untraced && !guess.scores.is_empty() {
        // Of round values, those of other parameters are multiples as well.
        guess.chance = guess.chance.max(rows.chance_of_others(id, nearest));
    }
    Some(guess)
}

/// With all of Black's terms added, no coefficient is negative, and the engine's evaluation is within what they can add
/// up to.
fn all_of_black(rows: &Rows<'_>, signs: &[[usize; 2]]) -> Option<Guess> {
    let judged: Vec<&[usize; 2]> = signs.iter().filter(|signs| signs[0] + signs[1] >= MIN_ROWS).collect();
    let lost = rows.differing().filter(|row| row.printed < 0.0).count();
    if judged.len() < MIN_TERMS || judged.iter().any(|signs| signs[0] > 0) || lost < MIN_DIFFERING {
        return None;
    }
    let nearest = |row: &Row| {
        let reach: f64 = rows.slopes(row).iter().map(|&(at, slope)| (slope * rows.theta[at]).abs()).sum();
        (row.printed.clamp(row.row.offset_cp - reach, row.row.offset_cp + reach), false)
    };
    let text = "no coefficient is ever negative: Black's terms are added in the trace instead of subtracted, or not traced at \
                all; coefficients are White's counts minus Black's";
    Some(Guess::taken(Rank::Signs, rows.scores(nearest), text.to_string()))
}
