//! The feature set `pst`: pieces on squares, 64 ids per piece, pawn to king.

use shakmaty::{Bitboard, Board, Color, Role, Square};

use super::Features;
use crate::KingBuckets;
use crate::classical;
use crate::feature::Arrangement;
use crate::feature::{Feature, FeatureRow, ROLE_NAMES};

/// Pieces by type and square.
pub(super) struct Pst;

impl Features for Pst {
    fn about(&self) -> &'static str {
        "a parameter for each piece on each square"
    }

    fn features(&self, _: Option<&KingBuckets>) -> Vec<Feature> {
        let table = |role: &'static str| {
            Square::ALL
                .iter()
                .map(move |square| Feature { name: format!("{role}_{square}"), group: role.to_string() })
        };
        ROLE_NAMES.into_iter().flat_map(table).collect()
    }

    fn definition(&self, group: &str) -> Option<&'static str> {
        // `classical` has the same piece-square tables.
        classical::definition(group)
    }

    fn arrangement(&self, _: &str, ids: &[u32]) -> Arrangement {
        Arrangement::Board(ids.iter().copied().map(Some).collect())
    }

    fn has_boards(&self) -> bool {
        true
    }

    fn compute(&self, _: Option<&KingBuckets>, board: &Board, _: Color, row: &mut FeatureRow) {
        let white = board.by_color(Color::White);
        append_squares(board, white, 0, &mut row.plus);
        append_squares(board, !white, 56, &mut row.minus);
    }
}

/// Appends the pieces on `side`, their squares combined with `flip`. They are collected in an array first,
/// since growing a list id by id takes longer than finding the ids.
fn append_squares(board: &Board, side: Bitboard, flip: u16, ids: &mut Vec<u16>) {
    let mut found = [0; 64];
    let mut count = 0;
    for (index, role) in Role::ALL.into_iter().enumerate() {
        let base = 64 * index as u16;
        let mut rest = (board.by_role(role) & side).0;
        while rest != 0 {
            // A board has at most 64 squares; the mask avoids the bounds check.
            found[count & 63] = base + (rest.trailing_zeros() as u16 ^ flip);
            count += 1;
            rest &= rest - 1;
        }
    }
    ids.extend_from_slice(&found[..count.min(64)]);
}
