//! The feature set `full`.

use shakmaty::{Board, Color};

use super::pst::Pst;
use super::{FeatureKind, Features, Terms};
use crate::KingBuckets;
use crate::classical::catalog::features_of;
use crate::classical::{self, Tapered, Values};
use crate::feature::{Arrangement, Feature, FeatureRow};
use crate::full::{self, FurtherValues, GROUPS};
use crate::program::Program;

/// The features of `classical`, and those of a program.
pub(super) struct Full;

impl Features for Full {
    fn about(&self) -> &'static str {
        "classical plus king danger, complexity and an endgame factor, which are not linear"
    }

    fn features(&self, _: Option<&KingBuckets>) -> Vec<Feature> {
        [classical::GROUPS, GROUPS].into_iter().flat_map(features_of).collect()
    }

    fn program(&self) -> Option<Program> {
        Some(full::program())
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        let own = GROUPS.iter().find(|known| known.name == group).map(|known| known.about);
        own.or_else(|| classical::definition(group))
    }

    fn arrangement(&self, group: &str, ids: &[u32]) -> Arrangement {
        match GROUPS.iter().find(|known| known.name == group).zip(ids.first()) {
            Some((group, &first)) => group.arrangement(first),
            None => classical::arrangement(group, ids),
        }
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn used(&self, id: usize) -> [bool; 2] {
        full::used(id)
    }

    fn base(&self) -> Option<FeatureKind> {
        Some(FeatureKind::Classical)
    }

    fn fill_start(&self, theta: &mut [f64]) {
        full::fill_start(theta);
    }

    fn compute(&self, buckets: Option<&KingBuckets>, board: &Board, turn: Color, row: &mut FeatureRow) {
        Pst.compute(buckets, board, turn, row);
        full::compute(board, turn, &mut row.plus, &mut row.minus);
    }

    fn terms(&self, _: Option<&KingBuckets>, mut values: Vec<Tapered>) -> Terms {
        let further = FurtherValues::new(values.split_off(classical::COUNT));
        Terms::Full(Values::new(values), further)
    }
}
