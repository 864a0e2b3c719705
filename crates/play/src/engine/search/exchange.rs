//! Static exchange evaluation.

use shakmaty::{Chess, Color, Move, Position, Role, Square, attacks};

/// Pawn to king. Those of the evaluation may be anything, even 0 for a piece.
pub(super) const VALUES: [i32; 6] = [100, 320, 330, 500, 950, 20_000];

pub(super) fn value(role: Role) -> i32 {
    VALUES[usize::from(role) - 1]
}

/// Whether captures on the target of `m` win at least `threshold` centipawns, both sides taking with their least
/// valuable piece as long as it pays. Pins are ignored.
pub(super) fn wins_at_least(position: &Chess, m: Move, threshold: i32) -> bool {
    let (role, from, to) = match m {
        Move::Normal { role, from, to, .. } => (role, from, to),
        Move::EnPassant { from, to } => (Role::Pawn, from, to),
        Move::Castle { .. } | Move::Put { .. } => return threshold <= 0,
    };
    let board = position.board();
    // The balance from the view of the side that has just moved, if the exchange ended here.
    let mut balance = m.capture().map_or(0, value) - threshold;
    let mut standing = value(role);
    if let Some(promotion) = m.promotion() {
        balance += value(promotion) - value(Role::Pawn);
        standing = value(promotion);
    }
    if balance < 0 {
        return false;
    }
    balance -= standing;
    if balance >= 0 {
        return true;
    }
    let mut occupied = board.occupied().without(from).with(to);
    if m.is_en_passant() {
        occupied.discard(Square::from_coords(to.file(), from.rank()));
    }
    let diagonal = board.bishops_and_queens();
    let straight = board.rooks_and_queens();
    let by = |color| board.attacks_to(to, color, occupied);
    let mut attackers = by(Color::White) | by(Color::Black);
    let mut turn = !position.turn();
    loop {
        attackers &= occupied;
        let own = attackers & board.by_color(turn);
        if own.is_empty() {
            break;
        }
        let Some(next) = Role::ALL.into_iter().find(|role| (own & board.by_role(*role)).any()) else { break };
        let Some(square) = (own & board.by_role(next)).first() else { break };
        turn = !turn;
        balance = -balance - 1 - value(next);
        if balance >= 0 {
            // A king cannot take what is still defended.
            if next == Role::King && (attackers & board.by_color(turn)).any() {
                turn = !turn;
            }
            break;
        }
        occupied.discard(square);
        if matches!(next, Role::Pawn | Role::Bishop | Role::Queen) {
            attackers |= attacks::bishop_attacks(to, occupied) & diagonal;
        }
        if matches!(next, Role::Rook | Role::Queen) {
            attackers |= attacks::rook_attacks(to, occupied) & straight;
        }
    }
    turn != position.turn()
}
