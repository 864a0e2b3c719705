//! Tables and parameters with their values in another order.

use std::collections::HashSet;

use gputexel_io::Result;
use gputexel_model::Part;

use super::views::grows_with_pieces;
use super::{Guess, Rows};
use crate::order::SuspectedOrder;

const ORDERS: [SuspectedOrder; 7] = [
    SuspectedOrder::RanksMirrored,
    SuspectedOrder::FilesMirrored,
    SuspectedOrder::Reversed,
    SuspectedOrder::PhasesSwapped,
    SuspectedOrder::Negated,
    SuspectedOrder::MgInBoth,
    SuspectedOrder::EgInBoth,
];

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
    Ok(out)
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
