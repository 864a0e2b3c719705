//! Whole tables with other values than the tuned ones: those from before, or the tuned ones in a different order.

use gputexel_io::Result;
use gputexel_model::{Arrangement, Part};
use rayon::prelude::*;
use serde::Serialize;

use super::Compared;

/// Numbers of positions on which guesses are tested: those that differ, and others.
const DIFFERING: usize = 2000;
const OTHERS: usize = 500;
/// Larger differences are clamped to this, centipawns: a few large ones should not hide the many.
const LARGE_CP: f64 = 200.0;
/// Maximum share of the misfit that may remain for a guess to be accepted.
const LEFT: f64 = 0.95;

/// A deviation of the engine from the tuned values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Suspect {
    /// A table with other values.
    Table {
        /// Its name.
        name: String,
        /// The values it has.
        order: SuspectedOrder,
    },
    /// A single value.
    Value {
        /// Name of the parameter, with its phase.
        name: String,
        /// The value that the engine seems to use, centipawns.
        found_cp: f64,
        /// The tuned value, centipawns.
        tuned_cp: f64,
        /// True if it is the previous value.
        is_start: bool,
    },
}

/// The values that a table seems to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SuspectedOrder {
    /// The previous ones, in both phases.
    Start,
    /// The previous ones in the middlegame.
    StartMg,
    /// The previous ones in the endgame.
    StartEg,
    /// The tuned ones with middlegame and endgame exchanged.
    PhasesSwapped,
    /// The tuned ones with the opposite sign.
    Negated,
    /// The tuned ones with the ranks in the opposite order.
    RanksMirrored,
    /// The tuned ones with the files in the opposite order.
    FilesMirrored,
    /// The tuned ones with all squares in the opposite order.
    Reversed,
}

impl SuspectedOrder {
    const ALL: [Self; 8] = [
        Self::Start,
        Self::StartMg,
        Self::StartEg,
        Self::PhasesSwapped,
        Self::Negated,
        Self::RanksMirrored,
        Self::FilesMirrored,
        Self::Reversed,
    ];

    /// Describes the order in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Start => "still has the values from before",
            Self::StartMg => "still has the middlegame values from before",
            Self::StartEg => "still has the endgame values from before",
            Self::PhasesSwapped => "has middlegame and endgame exchanged",
            Self::Negated => "has the opposite sign",
            Self::RanksMirrored => "has its ranks in the opposite order",
            Self::FilesMirrored => "has its files in the opposite order",
            Self::Reversed => "has its squares in the opposite order",
        }
    }

    /// Returns the values of a table in this order, in place of the tuned ones; `None` if it has no such order, or if
    /// nothing changes.
    pub(in crate::check) fn apply(
        self,
        part: &Part,
        values: &[f64],
        tuned: &[f64],
        start: Option<&[f64]>,
    ) -> Option<Vec<f64>> {
        let features = tuned.len() / 2;
        let mut out = values.to_vec();
        let ids = || part.features.iter().map(|&(id, _)| id as usize);
        let copy = |out: &mut Vec<f64>, phases: &[usize]| {
            let start = start?;
            let places = phases.iter().flat_map(|phase| ids().map(move |id| id + phase * features));
            places.for_each(|at| out[at] = start[at]);
            Some(())
        };
        let mirror = |out: &mut Vec<f64>, by: usize| {
            let squares = board(part)?;
            for (square, id) in squares.iter().enumerate() {
                let other = squares.get(square ^ by).copied().flatten();
                if let (Some(id), Some(other)) = (id, other) {
                    for phase in [0, features] {
                        out[*id as usize + phase] = tuned[other as usize + phase];
                    }
                }
            }
            Some(())
        };
        match self {
            Self::Start => copy(&mut out, &[0, 1])?,
            Self::StartMg => copy(&mut out, &[0])?,
            Self::StartEg => copy(&mut out, &[1])?,
            Self::PhasesSwapped => ids().for_each(|id| {
                (out[id], out[id + features]) = (tuned[id + features], tuned[id]);
            }),
            Self::Negated => ids().for_each(|id| {
                (out[id], out[id + features]) = (-tuned[id], -tuned[id + features]);
            }),
            Self::RanksMirrored => mirror(&mut out, 56)?,
            Self::FilesMirrored => mirror(&mut out, 7)?,
            Self::Reversed => mirror(&mut out, 63)?,
        }
        (out != values).then_some(out)
    }
}

/// Returns the features of a table by square; `None` if it is not a board. Any table of 64 may be a board, starting in
/// any corner, even if not declared as one.
pub(in crate::check) fn board(part: &Part) -> Option<Vec<Option<u32>>> {
    match &part.layout {
        Arrangement::Board(squares) => Some(squares.clone()),
        Arrangement::None if part.features.len() == 64 => {
            Some(part.features.iter().map(|&(id, _)| Some(id)).collect())
        }
        _ => None,
    }
}

/// Finds the tables that seem to have other values, one by one, each time the one that explains most; returns them and
/// θ with these values.
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
            let difference = (reference.score_of(compared.data, n as usize).0 - printed).abs();
            (difference - compared.tolerance_cp).clamp(0.0, LARGE_CP)
        };
        Ok(sample.iter().map(of).sum())
    };
    let mut parts = compared.set.structure().parts;
    let mut values = tuned.to_vec();
    let mut suspects = Vec::new();
    let mut least = misfit(&values)?;
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
        suspects.push(Suspect::Table { name: parts.remove(at).name, order });
        values = theta;
    }
    Ok((values, suspects))
}
