//! Functions that the engine computes otherwise than its trace says, such as by a lookup table.

use std::collections::BTreeSet;

use gputexel_io::Result;
use rayon::prelude::*;

use super::{Guess, Row, Rows, least_squares};

/// Number of knots of the function that is fitted to differences.
const KNOTS: usize = 40;

/// Straight lines between quantiles of what it is given, added to each function that is none itself.
pub(super) fn guesses(rows: &Rows<'_>) -> Result<Vec<Guess>> {
    let Some(program) = &rows.set.program else { return Ok(Vec::new()) };
    let calls: Vec<Vec<(usize, f64, f64)>> =
        rows.rows.par_iter().map(|row| rows.reference.functions_of_row(&row.row)).collect();
    let operators: BTreeSet<&str> = program.terms.iter().map(|term| term.operator.name()).collect();
    let mut out = Vec::new();
    for operator in operators {
        let is_own = |call: &&(usize, f64, f64)| program.terms[call.0].operator.name() == operator;
        let mut sums: Vec<f64> = calls.iter().flatten().filter(is_own).map(|call| call.1).collect();
        sums.sort_by(f64::total_cmp);
        sums.dedup();
        let Some(of) = program.terms.iter().find(|term| term.operator.name() == operator) else { continue };
        if operator == "identity" || sums.len() < 2 {
            continue;
        }
        let knots: [f64; KNOTS] = std::array::from_fn(|i| sums[i * (sums.len() - 1) / (KNOTS - 1)]);
        let columns = |calls: &[(usize, f64, f64)]| {
            let mut columns = [0.0; KNOTS];
            for (_, sum, weight) in calls.iter().filter(is_own) {
                let right = knots.partition_point(|knot| knot <= sum).clamp(1, KNOTS - 1);
                let (from, to) = (knots[right - 1], knots[right]);
                let share = if to > from { (sum - from) / (to - from) } else { 0.0 };
                columns[right - 1] += weight * (1.0 - share);
                columns[right] += weight * share;
            }
            columns
        };
        // A little of each, so that knots that are not reached are determined.
        let small = (0..KNOTS).map(|knot| (std::array::from_fn(|i| if i == knot { 1e-3 } else { 0.0 }), 0.0));
        let known = calls.iter().zip(&rows.rows).map(|(calls, row)| (columns(calls), row.difference()));
        let Some(values) = least_squares(known.chain(small)) else { continue };
        let name = &program.accumulators[of.input.accumulator].name;
        let text = match operator {
            "table" => format!("the engine computes '{name}' otherwise than by the knots of its table"),
            _ => format!(
                "the engine computes '{name}' otherwise than as a {operator}: by a lookup table, which can be recorded as a \
                 table, or with clamp where it ends early, or divided at another place"
            ),
        };
        let change = |row: &mut Row| {
            let own = columns(&rows.reference.functions_of_row(&row.row));
            row.row.offset_cp += own.iter().zip(values).map(|(column, value)| column * value).sum::<f64>();
        };
        out.push(rows.with_rows(KNOTS as u32, text, change));
    }
    Ok(out)
}
