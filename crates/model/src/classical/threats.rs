//! Threats: enemy pieces that are attacked.

use super::Collector;
use super::bits::{beside, rank, squares, up};
use super::catalog::{
    BISHOP_THREAT, KING_THREAT, KNIGHT_THREAT, PAWN_THREAT, PUSH_THREAT, QUEEN_THREAT, ROOK_THREAT, Span,
};
use super::view::{AttackMap, SidePieces, View};

/// The kind of a piece: pawn 0, knight 1, bishop 2, rook 3, queen 4.
fn kind(side: &SidePieces, square: usize) -> usize {
    let on = |set: u64| (set >> square & 1) as usize;
    on(side.knights) + 2 * on(side.bishops) + 3 * on(side.rooks) + 4 * on(side.queens)
}

#[inline(always)]
pub fn threats(view: &View, own: &AttackMap, their: &AttackMap, out: &mut impl Collector) {
    let side = &view.their;
    let pieces = side.knights | side.bishops | side.rooks | side.queens;
    for square in squares(view.pawn_attacks & pieces) {
        out.add(PAWN_THREAT.id(kind(side, square) - 1));
    }
    let free = !view.occupied;
    let once = up(view.own.pawns) & free;
    let steps = once | up(once & rank(2)) & free;
    let safe = steps & !their.pawn & (own.all | !their.all);
    for square in squares(up(beside(safe)) & pieces & !view.pawn_attacks) {
        out.add(PUSH_THREAT.id(kind(side, square) - 1));
    }
    let victims = side.pawns | pieces;
    let attackers: [(u64, Span); 4] = [
        (own.knight, KNIGHT_THREAT),
        (own.bishop, BISHOP_THREAT),
        (own.rook, ROOK_THREAT),
        (own.queen, QUEEN_THREAT),
    ];
    for (attacks, span) in attackers {
        for square in squares(attacks & victims) {
            let undefended = usize::from(their.all >> square & 1 == 0);
            out.add(span.id(5 * undefended + kind(side, square)));
        }
    }
    for square in squares(own.king & victims & !their.all) {
        out.add(KING_THREAT.id(kind(side, square)));
    }
}
