//! The feature set `king-pst`.

use shakmaty::{Board, Color};

use super::{Features, Terms};
use crate::KingBuckets;
use crate::classical::Tapered;
use crate::feature::{Arrangement, Feature, FeatureRow};

/// Piece-square tables by the squares of kings.
pub(super) struct KingPst;

impl Features for KingPst {
    fn is_computed(&self) -> bool {
        false
    }

    fn features(&self, king_buckets: Option<&KingBuckets>) -> Vec<Feature> {
        king_buckets.map(KingBuckets::features).unwrap_or_default()
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        Some(match group.starts_with("enemy_") {
            true => {
                "The opponent's pieces by square, as long as the own king is in the bucket of this number."
            }
            false => "Pieces by square, as long as their own king is in the bucket of this number.",
        })
    }

    fn arrangement(&self, _: &str, ids: &[u32]) -> Arrangement {
        Arrangement::Board(ids.iter().copied().map(Some).collect())
    }

    fn compute(&self, buckets: Option<&KingBuckets>, board: &Board, _: Color, row: &mut FeatureRow) {
        if let Some(buckets) = buckets {
            buckets.visit(board, Color::White, |id| row.plus.push(id as u16));
            buckets.visit(board, Color::Black, |id| row.minus.push(id as u16));
        }
    }

    fn terms(&self, buckets: Option<&KingBuckets>, values: Vec<Tapered>) -> Terms {
        buckets.cloned().map_or(Terms::None, |buckets| Terms::Kings(buckets, values))
    }
}
