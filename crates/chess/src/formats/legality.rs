//! Legality of moves, fast for the many that are obviously legal.

use shakmaty::{Bitboard, Chess, EnPassantMode, Move, Position, Rank, Role, Square, attacks};

/// Returns the squares to which a piece can go, ignoring checks and castling.
pub(crate) fn reach(position: &Chess, from: Square, role: Role) -> Bitboard {
    let board = position.board();
    let turn = position.turn();
    if role != Role::Pawn {
        return attacks::attacks(from, role.of(turn), board.occupied()) & !board.by_color(turn);
    }
    let en_passant = position.ep_square(EnPassantMode::Legal).map_or(Bitboard::EMPTY, Bitboard::from);
    let captures = attacks::pawn_attacks(turn, from) & (board.by_color(!turn) | en_passant);
    let step = turn.fold_wb(8, -8);
    let once = Bitboard::from(from).shift(step) & !board.occupied();
    let start = turn.fold_wb(Rank::Second, Rank::Seventh);
    let twice = if from.rank() == start { once.shift(step) & !board.occupied() } else { Bitboard::EMPTY };
    captures | once | twice
}

/// Returns true if a pawn's next step promotes it.
pub(crate) fn is_last_step(position: &Chess, from: Square) -> bool {
    from.rank() == position.turn().fold_wb(Rank::Seventh, Rank::Second)
}

/// Returns true if a move to a square within [`reach`], or castling, is legal. Only pieces on a line with
/// their king may be pinned, and only these pay for move generation.
pub(crate) fn is_legal_within_reach(position: &Chess, m: Move) -> bool {
    let simple = matches!(m, Move::Normal { role, .. } if role != Role::King);
    let free = m
        .from()
        .zip(position.board().king_of(position.turn()))
        .is_some_and(|(from, king)| !attacks::queen_attacks(king, Bitboard::EMPTY).contains(from));
    let takes_king = matches!(m, Move::Normal { capture: Some(Role::King), .. });
    if simple && free && !takes_king && !position.is_check() { true } else { position.is_legal(m) }
}

pub(crate) fn is_legal(position: &Chess, m: Move) -> bool {
    match m {
        Move::Normal { role, from, to, promotion, .. } => {
            let promotes = role == Role::Pawn && is_last_step(position, from);
            let wanted = match promotion {
                None => !promotes,
                Some(role) => promotes && !matches!(role, Role::Pawn | Role::King),
            };
            let en_passant =
                role == Role::Pawn && to.file() != from.file() && position.board().role_at(to).is_none();
            wanted
                && !en_passant
                && reach(position, from, role).contains(to)
                && is_legal_within_reach(position, m)
        }
        _ => position.is_legal(m),
    }
}

/// Returns a legal move that captures nothing if there is one, else any; `None` if there is none.
///
/// Nearly always a piece that is not on a line with its king has such a move. Only other positions pay for
/// move generation.
pub(crate) fn some_move(position: &Chess) -> Option<Move> {
    let board = position.board();
    let own = board.by_color(position.turn());
    let king = board.king_of(position.turn())?;
    if !position.is_check() {
        let free = own & !board.kings() & !attacks::queen_attacks(king, Bitboard::EMPTY);
        for from in free {
            let role = board.role_at(from)?;
            let to = (reach(position, from, role) & !board.occupied())
                .into_iter()
                .find(|to| role != Role::Pawn || (to.file() == from.file() && !is_last_step(position, from)));
            if let Some(to) = to {
                return Some(Move::Normal { role, from, capture: None, to, promotion: None });
            }
        }
    }
    let legal = position.legal_moves();
    legal.iter().find(|m| !m.is_capture() && !m.is_promotion()).or(legal.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_shakmaty_says(choices in proptest::collection::vec(any::<u16>(), 0..120)) {
            let mut position = Chess::default();
            for choice in choices {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    break;
                }
                let board = position.board();
                for from in board.by_color(position.turn()) {
                    for to in Square::ALL {
                        for promotion in [None, Some(Role::Queen), Some(Role::Pawn)] {
                            let Some(role) = board.role_at(from) else { continue };
                            let m = Move::Normal { role, from, capture: board.role_at(to), to, promotion };
                            prop_assert_eq!(is_legal(&position, m), legal.contains(&m));
                        }
                    }
                }
                prop_assert!(legal.iter().all(|m| is_legal(&position, *m)));
                let some = some_move(&position).unwrap();
                prop_assert!(legal.contains(&some));
                prop_assert!(!some.is_capture() || legal.iter().all(|m| m.is_capture() || m.is_promotion()));
                position.play_unchecked(legal[usize::from(choice) % legal.len()]);
            }
        }
    }
}
