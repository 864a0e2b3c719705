//! Moves of a chain: the number of the piece among those of its side, then the number of the target among
//! those that the piece attacks or may step to. Both count squares from a1.
//!
//! The numbers ignore legality, with one exception: an en passant capture is counted only if it is legal.

use shakmaty::{Bitboard, Chess, EnPassantMode, Move, Position, Rank, Role, Square, attacks};

use super::bits::{BitReader, BitWriter, bits_for};

pub(super) const PROMOTIONS: [Role; 4] = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen];

/// Reads the move of the side to move; `None` if the numbers are not a legal move or the bits end.
pub(super) fn read_move(position: &Chess, bits: &mut BitReader<'_>) -> Option<Move> {
    let board = position.board();
    let own = board.by_color(position.turn());
    let from = nth(own, bits.take(bits_for(own.count() as u32))?)?;
    let role = board.role_at(from)?;
    let targets = reach(position, from, role);
    let m = match role {
        Role::Pawn if is_last_step(position, from) => {
            let number = bits.take(bits_for(4 * targets.count() as u32))?;
            let to = nth(targets, number / 4)?;
            let promotion = Some(PROMOTIONS[number as usize % 4]);
            Move::Normal { role, from, capture: board.role_at(to), to, promotion }
        }
        Role::King => {
            let rooks = castling_rooks(position);
            let steps = targets.count() as u32;
            let number = bits.take(bits_for(steps + rooks.count() as u32))?;
            match number.checked_sub(steps) {
                // Queenside comes first, and so does its rook.
                Some(side) => Move::Castle { king: from, rook: nth(rooks, side)? },
                None => normal(position, role, from, nth(targets, number)?),
            }
        }
        Role::Pawn => {
            let to = nth(targets, bits.take(bits_for(targets.count() as u32))?)?;
            if to.file() != from.file() && board.role_at(to).is_none() {
                Move::EnPassant { from, to }
            } else {
                normal(position, role, from, to)
            }
        }
        _ => normal(position, role, from, nth(targets, bits.take(bits_for(targets.count() as u32))?)?),
    };
    is_legal_within_reach(position, m).then_some(m)
}

pub(super) fn write_move(position: &Chess, m: Move, bits: &mut BitWriter) {
    let own = position.board().by_color(position.turn());
    let (Some(from), role) = (m.from(), m.role()) else { return };
    bits.push(rank_of(own, from), bits_for(own.count() as u32));
    let targets = reach(position, from, role);
    let mut count = targets.count() as u32;
    let mut number = rank_of(targets, m.to());
    if role == Role::Pawn && is_last_step(position, from) {
        let promotion = PROMOTIONS.iter().position(|role| Some(*role) == m.promotion()).unwrap_or(3);
        number = 4 * number + promotion as u32;
        count *= 4;
    } else if role == Role::King {
        let rooks = castling_rooks(position);
        if let Move::Castle { rook, .. } = m {
            number = count + rank_of(rooks, rook);
        }
        count += rooks.count() as u32;
    }
    bits.push(number, bits_for(count));
}

fn normal(position: &Chess, role: Role, from: Square, to: Square) -> Move {
    Move::Normal { role, from, capture: position.board().role_at(to), to, promotion: None }
}

fn castling_rooks(position: &Chess) -> Bitboard {
    position.castles().castling_rights() & Bitboard::from_rank(position.turn().backrank())
}

fn nth(squares: Bitboard, number: u32) -> Option<Square> {
    squares.into_iter().nth(number as usize)
}

fn rank_of(squares: Bitboard, square: Square) -> u32 {
    (squares.0 & ((1 << u32::from(square)) - 1)).count_ones()
}

fn reach(position: &Chess, from: Square, role: Role) -> Bitboard {
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

fn is_last_step(position: &Chess, from: Square) -> bool {
    from.rank() == position.turn().fold_wb(Rank::Seventh, Rank::Second)
}

/// Returns true if a move to a square within [`reach`], or castling, is legal.
fn is_legal_within_reach(position: &Chess, m: Move) -> bool {
    let simple = matches!(m, Move::Normal { role, .. } if role != Role::King);
    let free = m
        .from()
        .zip(position.board().king_of(position.turn()))
        .is_some_and(|(from, king)| !attacks::queen_attacks(king, Bitboard::EMPTY).contains(from));
    let takes_king = matches!(m, Move::Normal { capture: Some(Role::King), .. });
    if simple && free && !takes_king && !position.is_check() { true } else { position.is_legal(m) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_legal_move_comes_back(choices in proptest::collection::vec(any::<u16>(), 0..120)) {
            let mut position = Chess::default();
            let mut bits = BitWriter::default();
            for choice in choices {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    break;
                }
                for &m in &legal {
                    bits.clear();
                    write_move(&position, m, &mut bits);
                    prop_assert_eq!(read_move(&position, &mut BitReader::new(bits.bytes())), Some(m));
                }
                position.play_unchecked(legal[usize::from(choice) % legal.len()]);
            }
        }
    }
}
