//! Knights, bishops, rooks and queens: mobility and placement.

use super::Collector;
use super::bits::{count, down, fill_down, left, rank, right, squares, up};
use super::catalog::{
    BISHOP_MOBILITY, BISHOP_PAIR, BISHOP_PAWNS, KNIGHT_MOBILITY, OUTPOST, QUEEN_MOBILITY, ROOK_FILE,
    ROOK_MOBILITY, Span,
};
use super::king::{KingAttack, KingAttacker};
use super::pawns::{on_color, on_file, outposts};
use super::view::{AttackMap, View, bishop_attacks, king_attacks, knight_attacks, rook_attacks};

pub fn pieces<C: Collector>(view: &View, passed: u64, out: &mut C) -> (AttackMap, KingAttack) {
    let king = king_attacks(view.own.king_square());
    let mut attack_map = AttackMap { pawn: view.pawn_attacks, king, ..AttackMap::default() };
    attack_map.add(view.pawn_attacks);
    attack_map.twice = up(left(view.own.pawns) & right(view.own.pawns));
    attack_map.add(king);
    let mut king_attack = KingAttack::new(view);
    // Squares count for mobility if they are neither attacked by enemy pawns nor occupied by own pawns or the king.
    let area = !(view.their_pawn_attacks | view.own.pawns | view.own.king);
    let queens = view.own.queens | view.their.queens;
    let outposts = outposts(view);
    let behind_pawns = down(view.own.pawns | view.their.pawns);

    let mut visit = |attacks: u64, span: Span, attacker: KingAttacker, out: &mut C| {
        attack_map.add(attacks);
        king_attack.add(attacks, attacker);
        out.add(span.id(count(attacks & area)));
    };
    let (mut knights, mut bishops, mut rooks, mut queens_reach) = (0, 0, 0, 0);
    for square in squares(view.own.knights) {
        let attacks = knight_attacks(square);
        knights |= attacks;
        visit(attacks, KNIGHT_MOBILITY, KingAttacker::KNIGHT, out);
        if outposts >> square & 1 == 1 {
            out.add(OUTPOST.id(0));
        } else if attacks & outposts & !view.own.all != 0 {
            out.add(OUTPOST.id(2));
        }
    }
    for square in squares(view.own.bishops) {
        let attacks = bishop_attacks(square, view.occupied & !queens);
        bishops |= attacks;
        visit(attacks, BISHOP_MOBILITY, KingAttacker::BISHOP, out);
        if outposts >> square & 1 == 1 {
            out.add(OUTPOST.id(1));
        }
        out.add(BISHOP_PAWNS.id_or_last(on_color(view, square)));
    }
    for _ in squares((view.own.knights | view.own.bishops) & behind_pawns) {
        out.add(OUTPOST.id(3));
    }
    if count(view.own.bishops) >= 2 {
        out.add(BISHOP_PAIR.id(0));
    }
    let see_through = queens | view.own.rooks;
    let seventh = view.their.king & rank(7) != 0 || view.their.pawns & rank(6) != 0;
    for square in squares(view.own.rooks) {
        let attacks = rook_attacks(square, view.occupied & !see_through);
        rooks |= attacks;
        visit(attacks, ROOK_MOBILITY, KingAttacker::ROOK, out);
        match on_file(view, square % 8) {
            (false, false) => out.add(ROOK_FILE.id(0)),
            (false, true) => out.add(ROOK_FILE.id(1)),
            _ => {}
        }
        if seventh && square / 8 == 6 {
            out.add(ROOK_FILE.id(2));
        }
        if fill_down(passed) >> square & 1 == 1 {
            out.add(ROOK_FILE.id(3));
        }
    }
    for square in squares(view.own.queens) {
        let attacks = bishop_attacks(square, view.occupied) | rook_attacks(square, view.occupied);
        queens_reach |= attacks;
        visit(attacks, QUEEN_MOBILITY, KingAttacker::QUEEN, out);
    }
    (attack_map.knight, attack_map.bishop, attack_map.rook, attack_map.queen) =
        (knights, bishops, rooks, queens_reach);
    (attack_map, king_attack)
}
