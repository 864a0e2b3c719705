//! Tables and parameters with their values in another order, or in one phase only.

use std::collections::HashSet;

use super::order::Order;
use super::values::slopes;
use super::views::grows_with_pieces;
use super::{Guess, Row, Rows};
use gputexel_io::{Result, some_of};
use gputexel_model::Part;
use rayon::prelude::*;

/// Rows on which orders of single tables are tried.
const TRIED: usize = 2500;
/// Larger differences are clamped to this, centipawns: a few large ones should not hide the many.
const LARGE_CP: f64 = 200.0;
/// Maximum share of the misfit that may remain for a table to be added.
const LEFT: f64 = 0.95;
/// Maximum share that may remain after all: what explains less may do so by chance.
const EXPLAINED: f64 = 0.5;
/// Number of tables that are named together.
const NAMED: usize = 24;
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
    for order in Order::ALL {
        out.extend(throughout(rows, order, &parts)?);
    }
    if parts.len() > 1 {
        out.extend(by_table(rows, single.clone())?);
    }
    out.extend(in_one_phase(rows, &single)?);
    Ok(out)
}

/// Tables in other orders, one by one, each time the one that explains most.
fn by_table(rows: &Rows<'_>, mut parts: Vec<Part>) -> Result<Option<Guess>> {
    let every = rows.rows.len().div_ceil(TRIED).max(1);
    let misfit = |theta: &[f64]| -> Result<f64> {
        let reference = rows.compared.reference(theta)?;
        let of = |row: &Row| {
            let difference = (reference.score_of_row(&row.row, &[]) - row.printed).abs();
            (difference - rows.tolerance_cp).clamp(0.0, LARGE_CP)
        };
        Ok(rows.rows.iter().step_by(every).map(of).sum())
    };
    let mut theta = rows.theta.to_vec();
    let all = misfit(&theta)?;
    let mut least = all;
    let mut found: Vec<(Order, Vec<String>)> = Vec::new();
    let mut fitted = 0;
    while least > 0.0 {
        let orders = parts.iter().flat_map(|part| Order::ALL.map(|order| (part, order)));
        let changes: Vec<(&Part, Order, Vec<f64>)> = orders
            .filter_map(|(part, order)| {
                Some((part, order, order.apply(part, &theta, rows.theta, rows.before)?))
            })
            .collect();
        let tried: Result<Vec<f64>> = changes.par_iter().map(|change| misfit(&change.2)).collect();
        // Among equals, the first, which is the simplest.
        let best = tried?.into_iter().zip(changes).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((left, (part, order, changed))) = best.filter(|best| best.0 <= LEFT * least) else { break };
        (least, theta, fitted) = (left, changed, fitted + 1);
        let name = format!("'{}'", part.name);
        match found.iter_mut().find(|one| one.0 == order) {
            Some((_, names)) => names.push(name),
            None => found.push((order, vec![name])),
        }
        let ids: HashSet<u32> = part.features.iter().map(|one| one.0).collect();
        parts.retain(|part| part.features.iter().all(|one| !ids.contains(&one.0)));
    }
    if found.is_empty() || least > EXPLAINED * all {
        return Ok(None);
    }
    let clause = |(order, names): &(Order, Vec<String>)| match &names[..] {
        [name] => format!("{name} {}", order.words()),
        more => format!("each of {} {}", some_of(more, NAMED), order.words()),
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    let text =
        clauses.join(", ") + place(rows, found.iter().map(|one| one.0), " in the trace, or in its prior");
    // A choice of one more table explains as easily as a number that is fitted.
    rows.with_values(&theta, fitted - 1, text).map(Some)
}

/// Where tables may have another order: in an engine into which values were written, or in what it traces.
fn place<'t>(rows: &Rows<'_>, mut orders: impl Iterator<Item = Order>, traced: &'t str) -> &'t str {
    match rows.before {
        None => traced,
        Some(_) if orders.any(|order| matches!(order, Order::RanksMirrored | Order::FilesMirrored)) => {
            ": the marker of a table names its first square (docs/patch.md, \"Tables\")"
        }
        Some(_) => "",
    }
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

fn throughout(rows: &Rows<'_>, order: Order, parts: &[Part]) -> Result<Option<Guess>> {
    let mut all = rows.theta.to_vec();
    let mut changed = 0;
    for part in parts {
        if let Some(theta) = order.apply(part, &all, rows.theta, rows.before) {
            (all, changed) = (theta, changed + 1);
        }
    }
    if changed == 0 || changed == 1 && parts.len() > 1 {
        return Ok(None);
    }
    let place = place(rows, std::iter::once(order), " in the trace, or in the priors");
    let text = match order {
        // The opposite sign of everything is that of "eval".
        Order::Negated => return Ok(None),
        Order::PhasesSwapped if grows_with_pieces(rows) == Some(false) => return Ok(None),
        Order::PhasesSwapped => format!("middlegame and endgame are exchanged throughout{place}"),
        _ => format!("every table {}{place}", order.words()),
    };
    rows.with_values(&all, 0, text).map(Some)
}
