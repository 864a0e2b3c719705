//! Tables in another order, or with their two values exchanged, and squares that are mirrored for one color only.

use gputexel_ingest::trace::ReferenceRow;
use gputexel_io::Result;
use gputexel_model::Part;

use super::super::order::{SuspectedOrder, board};
use super::phases::grows_with_pieces;
use super::rows::{Row, Rows};
use super::{Guess, Rank};

/// Orders that a trace may have a table in.
const ORDERS: [SuspectedOrder; 5] = [
    SuspectedOrder::RanksMirrored,
    SuspectedOrder::FilesMirrored,
    SuspectedOrder::Reversed,
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
];

pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let parts = rows.set.structure().parts;
    let mut out = Vec::new();
    for order in ORDERS {
        let mut all = rows.theta.to_vec();
        let mut tables = 0;
        for part in &parts {
            // Single parameters are looked at by themselves.
            let Some(theta) = order.apply(part, rows.theta, rows.theta, None) else { continue };
            tables += usize::from(part.features.len() > 1);
            for (id, _) in &part.features {
                for at in [*id as usize, *id as usize + rows.set.features.len()] {
                    all[at] = theta[at];
                }
            }
            if part.features.len() > 1 && parts.len() > 1 {
                let text = format!("'{}' {} in the trace, or in its priors", part.name, order.words());
                out.push(Guess::new(Rank::Exact, rows.scores_with(theta)?, text));
            }
        }
        let text = match order {
            // The opposite sign of everything is another mistake.
            SuspectedOrder::Negated => continue,
            SuspectedOrder::PhasesSwapped => match grows_with_pieces(rows) {
                Some(false) => continue,
                _ => "middlegame and endgame are exchanged throughout, in the trace or in the priors"
                    .to_string(),
            },
            _ if tables < 2 && parts.len() > 1 => continue,
            _ => format!("every board {} in the trace, or in the priors", order.words()),
        };
        if all != rows.theta {
            out.push(Guess::new(Rank::Exact, rows.scores_with(all)?, text));
        }
    }
    out.extend(one_color(rows, &parts));
    Ok(out)
}

/// Mirrors the squares of one color, in each board and in all of them.
fn one_color(rows: &Rows<'_>, parts: &[Part]) -> Vec<Guess> {
    let features = rows.set.features.len();
    let mirrors: Vec<(&str, Vec<(u16, u16)>)> = parts
        .iter()
        .filter_map(|part| {
            let squares = board(part)?;
            let pairs = squares.iter().enumerate();
            let pairs = pairs.filter_map(|(at, id)| Some(((*id)? as u16, squares[at ^ 56]? as u16)));
            Some((part.name.as_str(), pairs.collect()))
        })
        .collect();
    let together: Vec<(u16, u16)> = mirrors.iter().flat_map(|(_, pairs)| pairs.iter().copied()).collect();
    let name = |name: &str| format!("the squares of '{name}'");
    let mut tables: Vec<(String, Vec<(u16, u16)>)> =
        mirrors.iter().map(|(table, pairs)| (name(table), pairs.clone())).collect();
    if tables.len() > 1 {
        tables.push(("the squares of all boards".to_string(), together));
    }
    let mut out = Vec::new();
    for (name, pairs) in tables {
        let mut mirror: Vec<u16> = (0..features as u16).collect();
        pairs.iter().for_each(|&(id, other)| mirror[usize::from(id)] = other);
        for (color, sign) in [("Black", -1.0), ("White", 1.0)] {
            let scored = |row: &Row| {
                let entries = row.row.entries.iter().map(|&(id, c)| match mirror.get(usize::from(id)) {
                    Some(&other) if c * sign > 0.0 => (other, c),
                    _ => (id, c),
                });
                rows.reference
                    .score_of_row(&ReferenceRow { entries: entries.collect(), ..row.row.clone() }, &[])
            };
            let text = format!(
                "{name} are mirrored for one color only: {color}'s index should be that of the square seen from the own side \
                 (square ^ 56)"
            );
            out.push(Guess::new(Rank::Exact, rows.scores(scored), text));
        }
    }
    out
}
