//! Whole tables with other values than the tuned ones: those from before, or the tuned ones in a different
//! order.

use gputexel_io::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::Compared;
use crate::order::SuspectedOrder;

/// Numbers of positions on which guesses are tested: those that differ, and others.
const DIFFERING: usize = 2000;
const OTHERS: usize = 500;
/// Larger differences are clamped to this, centipawns: a few large ones should not hide the many.
const LARGE_CP: f64 = 200.0;
/// Maximum share of the misfit that may remain for a guess to be accepted.
const LEFT: f64 = 0.95;

/// Maximum share of the misfit that may remain for anything to be concluded: what explains less may do so by chance.
const EXPLAINED: f64 = 0.5;

/// A table that seems to have other values than the tuned ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suspect {
    pub name: String,
    pub order: SuspectedOrder,
}

/// Finds the tables that seem to have other values, one by one, each time the one that explains most; returns
/// them and θ with these values.
pub(super) fn tables(
    compared: &Compared<'_>,
    tuned: &[f64],
    start: Option<&[f64]>,
) -> Result<(Vec<f64>, Vec<Suspect>)> {
    let sample = compared.sample(tuned, DIFFERING, OTHERS)?;
    let misfit = |theta: &[f64]| -> Result<f64> {
        let reference = compared.reference(theta)?;
        let of = |&n: &u32| {
            let printed = f64::from(compared.printed[n as usize]);
            let difference = (reference.score_of(compared.data, n as usize) - printed).abs();
            (difference - compared.tolerance_cp).clamp(0.0, LARGE_CP)
        };
        Ok(sample.iter().map(of).sum())
    };
    let mut parts = compared.set.structure().parts;
    let mut values = tuned.to_vec();
    let mut suspects = Vec::new();
    let all = misfit(&values)?;
    let mut least = all;
    while least > 0.0 {
        let guesses: Vec<(usize, SuspectedOrder, Vec<f64>)> = parts
            .iter()
            .enumerate()
            .flat_map(|(at, part)| {
                let (values, tuned) = (&values, tuned);
                let of = move |order: SuspectedOrder| {
                    order.apply(part, values, tuned, start).map(|theta| (at, order, theta))
                };
                SuspectedOrder::ALL.into_iter().filter_map(of)
            })
            .collect();
        let tried: Result<Vec<f64>> = guesses.par_iter().map(|(_, _, theta)| misfit(theta)).collect();
        let tried = tried?;
        // Among equals, the first, which is the simplest.
        let Some(best) = (0..tried.len()).min_by(|&a, &b| tried[a].total_cmp(&tried[b])) else { break };
        if tried[best] > LEFT * least {
            break;
        }
        least = tried[best];
        let (at, order, theta) = guesses.into_iter().nth(best).expect("an index of it");
        suspects.push(Suspect { name: parts.remove(at).name, order });
        values = theta;
    }
    if least > EXPLAINED * all {
        suspects.clear();
    }
    Ok((values, suspects))
}
