//! Keys of positions, kept up to date move by move.

use shakmaty::zobrist::{Zobrist64, ZobristValue as _};
use shakmaty::{CastlingSide, Chess, Color, EnPassantMode, Move, Position, Role, Square};

/// From scratch: en passant counts if it can be played.
pub(super) fn key(position: &Chess) -> Zobrist64 {
    position.zobrist_hash(EnPassantMode::Legal)
}

/// Of `after`, which `m` leads to from `before` with `key`.
pub(super) fn key_after(mut key: Zobrist64, before: &Chess, m: Move, after: &Chess) -> Zobrist64 {
    let turn = before.turn();
    let mut toggle = |color: Color, role: Role, square: Square| {
        key ^= Zobrist64::zobrist_for_piece(square, role.of(color));
    };
    match m {
        Move::Normal { role, from, capture, to, promotion } => {
            toggle(turn, role, from);
            toggle(turn, promotion.unwrap_or(role), to);
            if let Some(captured) = capture {
                toggle(!turn, captured, to);
            }
        }
        Move::EnPassant { from, to } => {
            toggle(turn, Role::Pawn, from);
            toggle(turn, Role::Pawn, to);
            toggle(!turn, Role::Pawn, Square::from_coords(to.file(), from.rank()));
        }
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            toggle(turn, Role::King, king);
            toggle(turn, Role::Rook, rook);
            toggle(turn, Role::King, side.king_to(turn));
            toggle(turn, Role::Rook, side.rook_to(turn));
        }
        Move::Put { role, to } => toggle(turn, role, to),
    }
    if before.castles().castling_rights() != after.castles().castling_rights() {
        for color in Color::ALL {
            for side in CastlingSide::ALL {
                if before.castles().has(color, side) != after.castles().has(color, side) {
                    key ^= Zobrist64::zobrist_for_castling_right(color, side);
                }
            }
        }
    }
    toggle_turn(key, before, after)
}

pub(super) fn key_after_null(key: Zobrist64, before: &Chess, after: &Chess) -> Zobrist64 {
    toggle_turn(key, before, after)
}

fn toggle_turn(mut key: Zobrist64, before: &Chess, after: &Chess) -> Zobrist64 {
    key ^= Zobrist64::zobrist_for_white_turn();
    for position in [before, after] {
        if let Some(square) = position.legal_ep_square() {
            key ^= Zobrist64::zobrist_for_en_passant_file(square.file());
        }
    }
    key
}
