//! Tables and parameters with their values in another order, or in one phase only.

use std::collections::HashSet;

use super::values::slopes;
use super::views::grows_with_pieces;
use super::{Guess, Rows};
use crate::order::SuspectedOrder;
use gputexel_io::Result;
use gputexel_model::Part;

const ORDERS: [SuspectedOrder; 7] = [
    SuspectedOrder::RanksMirrored,
    SuspectedOrder::FilesMirrored,
    SuspectedOrder::Reversed,
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
    SuspectedOrder::MgInBoth,
    SuspectedOrder::EgInBoth,
];

const MOST_LEFT_OUT: usize = 12;
/// Share of the squared differences that leaving out a phase of a table must remove.
const NOTABLE: f64 = 0.05;

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let parts = rows.set.structure().parts;
    let mut seen = HashSet::new();
    let mut single = parts.clone();
    single.extend(rows.set.tables());
    single.retain(|part| seen.insert(part.features.iter().map(|one| one.0).collect::<Vec<u32>>()));
    let mut out = Vec::new();
    for order in ORDERS {
        out.extend(throughout(rows, order, &parts)?);
        for part in single.iter().filter(|_| parts.len() > 1) {
            if let Some(theta) = order.apply(part, rows.theta, rows.theta, None) {
                let text = format!("'{}' {} in the trace, or in its prior", part.name, order.words());
                out.push(rows.with_values(&theta, 0, text)?);
            }
        }
    }
    out.extend(in_one_phase(rows, &single)?);
    Ok(out)
}

/// Leaves out the values of one phase of tables, one after the other, as long as differences shrink.
fn in_one_phase(rows: &Rows<'_>, parts: &[Part]) -> Result<Option<Guess>> {
    let features = rows.set.features.len();
    let mut owners = vec![Vec::new(); features];
    for (part, own) in parts.iter().enumerate() {
        own.features.iter().for_each(|one| owners[one.0 as usize].push(part));
    }
    let mut theta = rows.theta.to_vec();
    let mut left_out: Vec<(usize, usize)> = Vec::new();
    while left_out.len() < MOST_LEFT_OUT && rows.set.has_phases() {
        let reference = rows.compared.reference(&theta)?;
        // By how much the sum of squared differences becomes smaller.
        let (mut total, mut gains) = (0.0, vec![[0.0; 2]; parts.len()]);
        for row in &rows.rows {
            let left = row.printed - reference.score_of_row(&row.row, &[]);
            let mut values = vec![[0.0; 2]; parts.len()];
            for (at, slope) in slopes(rows, &theta, row) {
                owners[at % features].iter().for_each(|&own| values[own][at / features] += slope * theta[at]);
            }
            total += left * left;
            for (gain, value) in gains.iter_mut().flatten().zip(values.iter().flatten()) {
                *gain -= value * (2.0 * left + value);
            }
        }
        let all = (0..parts.len()).flat_map(|part| [(part, 0), (part, 1)]);
        let other = all.filter(|&(part, phase)| !left_out.contains(&(part, 1 - phase)));
        let best = other.max_by(|a, b| gains[a.0][a.1].total_cmp(&gains[b.0][b.1]));
        let Some((part, phase)) = best.filter(|&(part, phase)| gains[part][phase] > NOTABLE * total) else {
            break;
        };
        parts[part].features.iter().for_each(|one| theta[phase * features + one.0 as usize] = 0.0);
        left_out.push((part, phase));
    }
    left_out.sort_unstable();
    let clause = |&(part, phase): &(usize, usize)| {
        format!("'{}' in the {} only", parts[part].name, ["endgame", "middlegame"][phase])
    };
    let clauses: Vec<String> = left_out.iter().map(clause).collect();
    let words =
        [(1, "mg"), (0, "eg")].into_iter().filter(|(phase, _)| left_out.iter().any(|one| one.1 == *phase));
    let words: Vec<&str> = words.map(|(_, word)| word).collect();
    let text = format!("the engine counts {}: phases {}", clauses.join(", "), words.join(" / "));
    (!clauses.is_empty()).then(|| rows.with_values(&theta, 0, text)).transpose()
}

fn throughout(rows: &Rows<'_>, order: SuspectedOrder, parts: &[Part]) -> Result<Option<Guess>> {
    let mut all = rows.theta.to_vec();
    let mut changed = 0;
    for part in parts {
        if let Some(theta) = order.apply(part, &all, rows.theta, None) {
            (all, changed) = (theta, changed + 1);
        }
    }
    if changed == 0 || changed == 1 && parts.len() > 1 {
        return Ok(None);
    }
    let text = match order {
        // The opposite sign of everything is that of "eval".
        SuspectedOrder::Negated => return Ok(None),
        SuspectedOrder::PhasesSwapped if grows_with_pieces(rows) == Some(false) => return Ok(None),
        SuspectedOrder::PhasesSwapped => {
            "middlegame and endgame are exchanged throughout, in the trace or in the priors".to_string()
        }
        _ => format!("every table {} in the trace, or in the priors", order.words()),
    };
    rows.with_values(&all, 0, text).map(Some)
}
