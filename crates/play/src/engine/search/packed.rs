//! Moves in two bytes, as the table stores them.

use shakmaty::{Chess, Move, Position, Role, Square};

/// Move in 16 bits: origin, target, promotion. Castling has the rook as its target. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(u16);

impl Packed {
    pub(super) fn new(m: Option<Move>) -> Self {
        let Some(m) = m else { return Self::default() };
        let from = m.from().map_or(0, u16::from);
        let promotion = m.promotion().map_or(0, |role| role as u16);
        Self(from | u16::from(m.to()) << 6 | promotion << 12)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the move as it would be in `position`; it may not be legal there.
    pub(super) fn unpack(self, position: &Chess) -> Option<Move> {
        if self.is_none() {
            return None;
        }
        let (from, to) = (Square::new(u32::from(self.0 & 63)), Square::new(u32::from(self.0 >> 6 & 63)));
        let promotion = match self.0 >> 12 {
            0 => None,
            number => Some(Role::try_from(number).ok()?),
        };
        let board = position.board();
        let role = board.role_at(from)?;
        let capture = board.role_at(to);
        Some(if role == Role::King && (position.us() & board.rooks()).contains(to) {
            Move::Castle { king: from, rook: to }
        } else if role == Role::Pawn && from.file() != to.file() && capture.is_none() {
            Move::EnPassant { from, to }
        } else {
            Move::Normal { role, from, capture, to, promotion }
        })
    }
}
