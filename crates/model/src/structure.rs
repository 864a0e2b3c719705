//! The structure of a feature set: which features stand on a board, which on a line, and which belong together.
//!
//! Owns what neighbors what. What follows from it is left to [penalties](super::penalties).

use crate::arrangement::Arrangement;
use crate::{FeatureKind, FeatureSet, classical};

/// The structure of a feature set.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Groups, boards and lines, in the order of their first features.
    pub parts: Vec<Part>,
}

/// A group of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// All of its features, by their ids, each with whether its middlegame and endgame values are tuned.
    pub features: Vec<(u32, [bool; 2])>,
    /// What neighbors what.
    pub layout: Arrangement,
}

impl FeatureSet {
    /// Which features stand on a board or a line, and which belong together.
    pub fn structure(&self) -> Structure {
        let mut parts = Vec::new();
        for name in self.group_names() {
            let ids: Vec<u32> = (0..self.features.len() as u32)
                .filter(|&id| self.features[id as usize].group == name)
                .collect();
            let layout = match self.kind {
                FeatureKind::Material => Arrangement::None,
                FeatureKind::Pst => Arrangement::Board(ids.iter().copied().map(Some).collect()),
                FeatureKind::Classical => classical::arrangement(name, &ids),
                FeatureKind::Imported => self.imported_arrangement(&ids),
            };
            // Pawns never stand on the first and last rank: what neighbors say of them would mean nothing.
            let possible =
                |id: u32| !(name == "pawn" && self.has_boards() && matches!(id % 64, 0..8 | 56..64));
            let tuned = |&id: &u32| match &self.imported {
                None => (id, [possible(id); 2]),
                Some(imported) => {
                    let parameter = &imported.parameters[id as usize];
                    (id, [parameter.moves(0), parameter.moves(1)])
                }
            };
            parts.push(Part { name: name.to_string(), features: ids.iter().map(tuned).collect(), layout });
        }
        Structure { parts }
    }

    /// Whether its first features are the piece-square tables of all pieces, pawns first.
    fn has_boards(&self) -> bool {
        matches!(self.kind, FeatureKind::Pst | FeatureKind::Classical)
    }

    fn imported_arrangement(&self, _ids: &[u32]) -> Arrangement {
        Arrangement::None
    }
}
