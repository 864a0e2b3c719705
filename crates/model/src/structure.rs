//! Structure of a feature set: the features on a board, those in lines, and the groups.

use std::collections::HashMap;

use crate::feature::Arrangement;
use crate::feature_set::FeatureSet;
use crate::imported::Phases;
use crate::places;

#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Groups, boards and lines, in the order of their first features.
    pub parts: Vec<Part>,
}

/// A group of features; if a group has boards and other features, a board, or all features on none.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name, which is unique: the group's, or `group/board` for a board that is not all of its group.
    pub name: String,
    /// All of its features in the order of their ids, each with true for the middlegame and the endgame value
    /// if that is tuned.
    pub features: Vec<(u32, [bool; 2])>,
    /// Features with one value for both phases, in the order of their ids.
    pub untapered: Vec<u32>,
    pub layout: Arrangement,
}

impl Structure {
    /// Makes features that no position has keep their start, unless their neighbors on a board determine them:
    /// squares of which half of the squares around occur, on a rank of which any square occurs.
    ///
    /// `occurrences` are numbers of positions by feature.
    #[must_use]
    pub fn supported_by(mut self, occurrences: &[u64]) -> Self {
        for part in &mut self.parts {
            let Part { features, layout, .. } = part;
            let occurs = |id: u32| occurrences[id as usize] > 0;
            let keeps = |id: u32| !occurs(id) && !is_surrounded(layout, id, &occurs);
            features.iter_mut().filter(|(id, _)| keeps(*id)).for_each(|(_, tuned)| *tuned = [false; 2]);
        }
        self
    }
}

fn is_surrounded(layout: &Arrangement, id: u32, occurs: &impl Fn(u32) -> bool) -> bool {
    let Arrangement::Board(squares) = layout else { return false };
    let Some(own) = squares.iter().position(|&other| other == Some(id)) else { return false };
    let (file, rank) = (own % 8, own / 8);
    let here = |square: &usize| squares[*square].is_some_and(occurs);
    let near = |square: &usize| (square % 8).abs_diff(file).max((square / 8).abs_diff(rank)) == 1;
    let around: Vec<usize> = (0..64).filter(|square| near(square) && squares[*square].is_some()).collect();
    let known = around.iter().copied().filter(|square| here(square)).count();
    known > 0 && 2 * known >= around.len() && (8 * rank..8 * rank + 8).any(|square| here(&square))
}

impl FeatureSet {
    /// Determines the features on boards and lines, and the groups.
    pub fn structure(&self) -> Structure {
        let groups = self.grouped();
        let pieces: Vec<(String, Vec<u32>, Arrangement)> = match &self.imported {
            Some(imported) => places::pieces(groups, &imported.parameters),
            None => groups
                .into_iter()
                .map(|(name, ids)| {
                    let layout = self.kind.arrangement(name, &ids);
                    (name.to_string(), ids, layout)
                })
                .collect(),
        };
        let parts = pieces.into_iter().map(|(name, ids, layout)| self.part(name, &ids, layout));
        Structure { parts: parts.collect() }
    }

    /// Divides the features into tables as they are declared: boards, and lists of neighbors in a group with
    /// names that only differ in what follows the last underscore.
    pub fn tables(&self) -> Vec<Part> {
        let stem = |id: u32| self.features[id as usize].name.rsplit_once('_').map(|(stem, _)| stem);
        let mut out = Vec::new();
        for part in self.structure().parts {
            let lists: Vec<_> = part
                .features
                .chunk_by(|a, b| stem(a.0).is_some() && stem(a.0) == stem(b.0))
                .map(<[_]>::to_vec)
                .collect();
            if lists.len() == 1 || matches!(part.layout, Arrangement::Board(_)) {
                out.push(part);
                continue;
            }
            for features in lists {
                let first = features[0].0;
                let name = if features.len() > 1 { stem(first) } else { None };
                let name = name.unwrap_or(&self.features[first as usize].name).to_string();
                let is_own = |id: &u32| features.iter().any(|one| one.0 == *id);
                let untapered = part.untapered.iter().copied().filter(is_own).collect();
                out.push(Part { name, features, untapered, layout: Arrangement::None });
            }
        }
        out
    }

    fn part(&self, name: String, ids: &[u32], layout: Arrangement) -> Part {
        let of = |id: u32| self.imported.as_ref().map(|imported| &imported.parameters[id as usize]);
        // Pawns never stand on the first and last rank, so values derived from neighbors would be meaningless.
        let pawns = name == "pawn" && self.kind.has_boards();
        let possible = |id: u32| !(pawns && matches!(id % 64, 0..8 | 56..64));
        let tuned = |&id: &u32| match of(id) {
            None => {
                let read = self.program.as_ref().and_then(|program| program.reads(id as u16));
                (id, read.unwrap_or([true; 2]).map(|read| read && possible(id)))
            }
            Some(parameter) => (id, [parameter.moves(0), parameter.moves(1)]),
        };
        let features = ids.iter().map(tuned).collect();
        let one_value = |id: &u32| of(*id).is_some_and(|parameter| parameter.phases == Phases::Untapered);
        let untapered = ids.iter().copied().filter(one_value).collect();
        Part { name, features, untapered, layout }
    }

    /// Describes the arrangements of each group, in the order of groups: `line of 9`, or `2 lines, board`.
    pub fn arrangements(&self) -> Vec<String> {
        let groups = self.grouped();
        let mut words = vec![Vec::new(); groups.len()];
        let places: HashMap<&str, usize> =
            groups.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect();
        for part in self.structure().parts {
            let Some(&(first, _)) = part.features.first() else { continue };
            words[places[self.features[first as usize].group.as_str()]].push(part.layout.summary());
        }
        let join = |mut words: Vec<String>| {
            words.retain(|word| !word.is_empty());
            words.join(", ")
        };
        words.into_iter().map(join).collect()
    }
}
