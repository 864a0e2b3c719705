//! Positions without castling rights and en passant squares, which their boards alone decide on.
//!
//! Binary records of that kind come by the hundred million. Building a whole position for each would cost
//! more than everything else.

use std::num::NonZeroU32;

use shakmaty::{Bitboard, Board, CastlingMode, Color, Position, Setup};

use crate::fen::{FenError, has_free_move, legal_position};

/// Checks a board as [`legal_position`] does. Returns true if the side to move is in check.
///
/// # Errors
/// As [`legal_position`].
pub(crate) fn check_legal(board: &Board, turn: Color) -> Result<bool, FenError> {
    let kings = |color: Color| (board.kings() & board.by_color(color)).single_square();
    let (Some(own), Some(other)) = (kings(turn), kings(!turn)) else { return Err(FenError::Kings) };
    if (board.pawns() & Bitboard::BACKRANKS).any() {
        return Err(FenError::Pawns);
    }
    if is_attacked(board, other, turn) {
        return Err(FenError::OppositeCheck);
    }
    Ok(is_attacked(board, own, !turn))
}

fn is_attacked(board: &Board, square: shakmaty::Square, by: Color) -> bool {
    board.attacks_to(square, by, board.occupied()).any()
}

/// Returns true if the side to move of a legal position, in check or not, has no legal move.
pub(crate) fn has_no_move(board: &Board, turn: Color, in_check: bool) -> bool {
    if !in_check && has_free_move(board, turn) {
        return false;
    }
    legal_position(setup(board, turn), CastlingMode::Standard)
        .is_ok_and(|position| position.legal_moves().is_empty())
}

fn setup(board: &Board, turn: Color) -> Setup {
    Setup {
        board: board.clone(),
        promoted: Bitboard::EMPTY,
        pockets: None,
        turn,
        castling_rights: Bitboard::EMPTY,
        ep_square: None,
        remaining_checks: None,
        halfmoves: 0,
        fullmoves: NonZeroU32::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shakmaty::{Piece, Role, Square};

    proptest! {
        #[test]
        fn as_whole_positions(
            pieces in proptest::collection::vec((0u32..64, 0usize..5, any::<bool>()), 0..20),
            kings in (0u32..64, 0u32..64),
            white in any::<bool>(),
        ) {
            let mut board = Board::empty();
            for (square, role, white) in pieces {
                let piece = Piece { role: Role::ALL[role], color: Color::from_white(white) };
                board.set_piece_at(Square::new(square), piece);
            }
            for (square, color) in [(kings.0, Color::White), (kings.1, Color::Black)] {
                board.set_piece_at(Square::new(square), Piece { role: Role::King, color });
            }
            let turn = Color::from_white(white);
            match (check_legal(&board, turn), legal_position(setup(&board, turn), CastlingMode::Standard)) {
                (Ok(in_check), Ok(position)) => {
                    prop_assert_eq!(in_check, position.is_check());
                    prop_assert_eq!(has_no_move(&board, turn, in_check), position.legal_moves().is_empty());
                }
                (Err(one), Err(other)) => prop_assert_eq!(one, other),
                (one, other) => prop_assert!(false, "{:?} {:?}", one, other),
            }
        }
    }
}
