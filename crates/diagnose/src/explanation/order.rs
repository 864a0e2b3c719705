//! Orders in which the values of a table may have been written, and the values from before.

use gputexel_model::{Arrangement, Part};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Start,
    StartMg,
    StartEg,
    PhasesSwapped,
    MgInBoth,
    EgInBoth,
    Negated,
    RanksMirrored,
    FilesMirrored,
    Reversed,
}

impl Order {
    pub(super) const ALL: [Self; 10] = [
        Self::Start,
        Self::StartMg,
        Self::StartEg,
        Self::PhasesSwapped,
        Self::MgInBoth,
        Self::EgInBoth,
        Self::Negated,
        Self::RanksMirrored,
        Self::FilesMirrored,
        Self::Reversed,
    ];

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Start => "still has the values from before",
            Self::StartMg => "still has the middlegame values from before",
            Self::StartEg => "still has the endgame values from before",
            Self::PhasesSwapped => "has middlegame and endgame exchanged",
            Self::MgInBoth => "has its middlegame values in both phases",
            Self::EgInBoth => "has its endgame values in both phases",
            Self::Negated => "has the opposite sign",
            Self::RanksMirrored => "has its ranks in the opposite order",
            Self::FilesMirrored => "has its files in the opposite order",
            Self::Reversed => "has its squares in the opposite order",
        }
    }

    /// θ with the values of a table in this order; `None` if it has no such order, or if nothing changes.
    pub(super) fn apply(
        self,
        part: &Part,
        values: &[f64],
        tuned: &[f64],
        before: Option<&[f64]>,
    ) -> Option<Vec<f64>> {
        let features = tuned.len() / 2;
        let mut out = values.to_vec();
        let ids = || part.features.iter().map(|&(id, _)| id as usize);
        let copy = |out: &mut Vec<f64>, phases: &[usize]| {
            let before = before?;
            let places = phases.iter().flat_map(|phase| ids().map(move |id| id + phase * features));
            places.for_each(|at| out[at] = before[at]);
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
            Self::MgInBoth => ids().for_each(|id| out[id + features] = tuned[id]),
            Self::EgInBoth => ids().for_each(|id| out[id] = tuned[id + features]),
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

/// The features of a table by square; `None` if it is not a board.
fn board(part: &Part) -> Option<Vec<Option<u32>>> {
    match &part.layout {
        Arrangement::Board(squares) => Some(squares.clone()),
        Arrangement::None if part.features.len() == 64 => {
            Some(part.features.iter().map(|&(id, _)| Some(id)).collect())
        }
        _ => None,
    }
}
