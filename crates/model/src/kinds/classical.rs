//! The feature set `classical`.

use shakmaty::{Board, Color};

use super::pst::Pst;
use super::{Features, Terms};
use crate::KingBuckets;
use crate::classical::catalog::features_of;
use crate::classical::{self, GROUPS, Tapered, Values};
use crate::feature::{Arrangement, Feature, FeatureRow};

/// The usual terms of a hand-written evaluation.
pub(super) struct Classical;

impl Features for Classical {
    fn about(&self) -> &'static str {
        "the usual terms of a hand-crafted evaluation"
    }

    fn features(&self, _: Option<&KingBuckets>) -> Vec<Feature> {
        features_of(GROUPS)
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        classical::definition(group)
    }

    fn arrangement(&self, group: &str, ids: &[u32]) -> Arrangement {
        classical::arrangement(group, ids)
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn compute(&self, buckets: Option<&KingBuckets>, board: &Board, turn: Color, row: &mut FeatureRow) {
        // Its piece-square tables come first and have the same ids.
        Pst.compute(buckets, board, turn, row);
        let passed = classical::pawn_structure(board, &mut row.plus, &mut row.minus);
        classical::terms(board, turn, passed, &mut row.plus, &mut row.minus, |_, _| {});
    }

    fn terms(&self, _: Option<&KingBuckets>, values: Vec<Tapered>) -> Terms {
        Terms::Classical(Values::new(values))
    }
}
