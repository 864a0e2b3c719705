//! Legal captures, promotions and evasions, and the order in which they are tried.

use shakmaty::{Bitboard, Board, Chess, Move, Piece, Position as _, Role, Square, attacks};

/// Move with its place in the order of its node; the smallest comes first.
#[derive(Clone, Copy, Debug)]
pub struct Ranked {
    rank: u32,
    m: Move,
}

#[inline]
fn value(role: Role) -> u32 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 0,
    }
}

/// Returns the sort key of a move as the [module](super) defines it: smaller is earlier, and no two moves of
/// a position have the same.
#[inline]
pub fn rank(m: Move) -> u32 {
    let promotion = m.promotion();
    let gain = m.capture().map_or(0, value) + promotion.map_or(0, |role| value(role) - 1);
    let piece = m.role() as u32;
    let from = m.from().map_or(0, u32::from);
    // From queen (0) to knight (3); without a promotion it is alone.
    let new = promotion.map_or(0, |role| Role::Queen as u32 - role as u32);
    (31 - gain) << 18 | piece << 15 | from << 9 | u32::from(m.to()) << 3 | new
}

/// Moves the first of the remaining moves to the front.
#[inline]
pub fn next(moves: &mut [Ranked]) -> Move {
    let mut first = 0;
    for (i, candidate) in moves.iter().enumerate() {
        if candidate.rank < moves[first].rank {
            first = i;
        }
    }
    moves.swap(0, first);
    moves[0].m
}

pub fn push_evasions(position: &Chess, moves: &mut Vec<Ranked>) {
    moves.extend(position.legal_moves().into_iter().map(|m| Ranked { rank: rank(m), m }));
}

/// Pushes all legal captures and promotions of a position that is not in check.
///
/// `shakmaty` would generate all moves and discard most of them.
pub fn push_tactical(position: &Chess, moves: &mut Vec<Ranked>) {
    let board = position.board();
    let turn = position.turn();
    let (us, them, occupied) = (position.us(), position.them(), board.occupied());
    let Some(king) = board.king_of(turn) else { return };
    let first = moves.len();
    let mut push = |m: Move| moves.push(Ranked { rank: rank(m), m });

    let last = turn.fold_wb(Bitboard::NORTH, Bitboard::SOUTH) & Bitboard::BACKRANKS;
    let pawns = us & board.pawns();
    for from in pawns {
        let mut targets = attacks::pawn_attacks(turn, from) & them;
        let ahead = from.offset(turn.fold_wb(8, -8)).map_or(Bitboard::EMPTY, Bitboard::from_square);
        targets |= ahead & last & !occupied;
        for to in targets {
            let capture = board.role_at(to);
            if last.contains(to) {
                for promotion in [Role::Queen, Role::Rook, Role::Bishop, Role::Knight] {
                    let promotion = Some(promotion);
                    push(Move::Normal { role: Role::Pawn, from, capture, to, promotion });
                }
            } else {
                push(Move::Normal { role: Role::Pawn, from, capture, to, promotion: None });
            }
        }
    }
    let mut pieces = |role, from, targets: Bitboard| {
        for to in targets {
            push(Move::Normal { role, from, capture: board.role_at(to), to, promotion: None });
        }
    };
    for from in us & board.knights() {
        pieces(Role::Knight, from, attacks::knight_attacks(from) & them);
    }
    for from in us & board.bishops() {
        pieces(Role::Bishop, from, attacks::bishop_attacks(from, occupied) & them);
    }
    for from in us & board.rooks() {
        pieces(Role::Rook, from, attacks::rook_attacks(from, occupied) & them);
    }
    for from in us & board.queens() {
        pieces(Role::Queen, from, attacks::queen_attacks(from, occupied) & them);
    }

    if moves.len() > first {
        let pinned = blockers(board, them, king) & us;
        if pinned.any() {
            let mut kept = first;
            for i in first..moves.len() {
                let m = moves[i].m;
                let safe = m
                    .from()
                    .is_none_or(|from| !pinned.contains(from) || attacks::aligned(from, m.to(), king));
                if safe {
                    moves[kept] = moves[i];
                    kept += 1;
                }
            }
            moves.truncate(kept);
        }
    }
    for to in attacks::king_attacks(king) & them {
        if board.attacks_to(to, !turn, occupied).is_empty() {
            let capture = board.role_at(to);
            let m = Move::Normal { role: Role::King, from: king, capture, to, promotion: None };
            moves.push(Ranked { rank: rank(m), m });
        }
    }
    if position.maybe_ep_square().is_some() {
        moves.extend(position.en_passant_moves().into_iter().map(|m| Ranked { rank: rank(m), m }));
    }
}

fn blockers(board: &Board, them: Bitboard, king: Square) -> Bitboard {
    let snipers = (attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens())
        | (attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens());
    let mut blockers = Bitboard::EMPTY;
    for sniper in snipers & them {
        let between = attacks::between(king, sniper) & board.occupied();
        if !between.more_than_one() {
            blockers |= between;
        }
    }
    blockers
}

pub fn gives_check(position: &Chess, m: Move) -> bool {
    let (board, turn) = (position.board(), position.turn());
    let (Move::Normal { role, from, to, promotion, .. }, Some(king)) = (m, board.king_of(!turn)) else {
        // Two pieces come or go.
        let mut next = position.clone();
        next.play_unchecked(m);
        return next.is_check();
    };
    let occupied = board.occupied().without(from).with(to);
    let piece = Piece { color: turn, role: promotion.unwrap_or(role) };
    if attacks::attacks(to, piece, occupied).contains(king) {
        return true;
    }
    // Otherwise a piece behind it may.
    let behind = position.us().without(from);
    attacks::queen_attacks(king, Bitboard::EMPTY).contains(from)
        && ((attacks::rook_attacks(king, occupied) & board.rooks_and_queens() & behind).any()
            || (attacks::bishop_attacks(king, occupied) & board.bishops_and_queens() & behind).any())
}

/// Estimates what the opponent wins by capturing the piece that is moved, centipawns.
pub fn hanging_cp(position: &Chess, m: Move) -> i32 {
    let (Some(from), false) = (m.from(), m.is_castle()) else { return 0 };
    let (board, turn) = (position.board(), position.turn());
    let role = m.promotion().unwrap_or(m.role());
    if role == Role::King {
        return 0;
    }
    let to = m.to();
    let moved = 100 * value(role) as i32;
    let taken = match m {
        Move::EnPassant { .. } => Bitboard::from_square(Square::from_coords(to.file(), from.rank())),
        _ => Bitboard::from_square(to),
    };
    let occupied = (board.occupied() & !taken).without(from).with(to);
    let attackers = board.attacks_to(to, !turn, occupied) & !taken;
    if attackers.is_empty() {
        return 0;
    }
    let least = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen]
        .into_iter()
        .find(|&role| (attackers & board.by_role(role)).any());
    let protected = board.attacks_to(to, turn, occupied).without(from).any();
    match least {
        // The king can capture only unprotected pieces.
        None if protected => 0,
        Some(attacker) if protected => (moved - 100 * value(attacker) as i32).max(0),
        _ => moved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directly(next: &Chess, m: Move) -> (bool, i32) {
        let (board, to) = (next.board(), m.to());
        let role = m.promotion().unwrap_or(m.role());
        let attackers = board.attacks_to(to, next.turn(), board.occupied());
        if m.is_castle() || role == Role::King || attackers.is_empty() {
            return (next.is_check(), 0);
        }
        let protected = board.attacks_to(to, !next.turn(), board.occupied()).any();
        let least = attackers.into_iter().filter_map(|from| board.role_at(from)).min();
        let moved = 100 * value(role) as i32;
        let lost = match least {
            Some(Role::King) if protected => 0,
            Some(attacker) if attacker != Role::King && protected => {
                (moved - 100 * value(attacker) as i32).max(0)
            }
            _ => moved,
        };
        (next.is_check(), lost)
    }

    #[test]
    fn moves_are_judged_as_on_the_board_after_them() {
        let mut state = 5u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut checks, mut promotions, mut en_passant) = (0, 0, 0);
        for _ in 0..1000 {
            let mut position = Chess::default();
            for _ in 0..150 {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    break;
                }
                for &m in &legal {
                    let mut after = position.clone();
                    after.play_unchecked(m);
                    let found = (gives_check(&position, m), hanging_cp(&position, m));
                    assert_eq!(found, directly(&after, m), "{m:?} in {:?}", position.board());
                    checks += usize::from(found.0);
                    promotions += usize::from(m.is_promotion());
                    en_passant += usize::from(m.is_en_passant());
                }
                let m = legal[next(legal.len())];
                position.play_unchecked(m);
            }
        }
        assert!(checks > 1000 && promotions > 100 && en_passant > 100, "{checks} {promotions} {en_passant}");
    }
}
