//! Parameters of a group that a penalty ties together.

use super::{Form, PenaltyKind};
use crate::feature::Arrangement;
use crate::structure::Part;

/// Largest number of features of groups with a common mean: beyond it, their matrix would not be sparse.
const LARGEST_MEAN: usize = 512;

impl Part {
    fn id_is_tuned(&self, id: u32, phase: usize) -> bool {
        let found = self.features.binary_search_by_key(&id, |&(own, _)| own);
        found.is_ok_and(|at| self.features[at].1[phase])
    }

    /// The parameters that a penalty of a kind ties together in the phase whose values begin at `offset`;
    /// `None` if there are none.
    pub(super) fn form(&self, kind: PenaltyKind, offset: u32, count: u32) -> Option<Form> {
        let phase = usize::from(offset > 0);
        let tuned = |&(id, tuned): &(u32, [bool; 2])| tuned[phase].then_some(id + offset);
        let index = |id: u32| self.id_is_tuned(id, phase).then_some(id + offset);
        let set: Vec<u32> = self.features.iter().filter_map(tuned).collect();
        match (kind, &self.layout) {
            (PenaltyKind::Ridge, _) => (!set.is_empty()).then_some(Form::Set(set)),
            (PenaltyKind::Level | PenaltyKind::Mean, _) => {
                ((2..=LARGEST_MEAN).contains(&set.len())).then_some(Form::Set(set))
            }
            (PenaltyKind::Phases, _) => {
                // The values of an untapered feature never differ, which is no evidence about the others.
                let both = self
                    .features
                    .iter()
                    .filter(|(id, tuned)| *tuned == [true; 2] && self.untapered.binary_search(id).is_err());
                let pairs: Vec<(u32, u32)> = both.map(|&(id, _)| (id, id + count)).collect();
                ((2..=LARGEST_MEAN).contains(&pairs.len())).then_some(Form::Pairs(pairs))
            }
            (PenaltyKind::Smooth | PenaltyKind::Bend, Arrangement::Lines(lines)) => {
                let least = if kind == PenaltyKind::Smooth { 2 } else { 3 };
                let lines = lines.iter().flat_map(|line| {
                    let tuned: Vec<Option<u32>> = line.iter().map(|&id| index(id)).collect();
                    // A feature that is not tuned divides a line.
                    let pieces =
                        tuned.split(Option::is_none).map(|piece| piece.iter().flatten().copied().collect());
                    pieces.filter(|piece: &Vec<u32>| piece.len() >= least).collect::<Vec<_>>()
                });
                let lines: Vec<Vec<u32>> = lines.collect();
                (!lines.is_empty()).then_some(Form::Lines(lines))
            }
            (_, Arrangement::Board(squares)) => {
                let squares: Vec<Option<u32>> = squares.iter().map(|id| id.and_then(index)).collect();
                let form = Form::Board(squares);
                (!form.terms(kind).is_empty()).then_some(form)
            }
            _ => None,
        }
    }
}
