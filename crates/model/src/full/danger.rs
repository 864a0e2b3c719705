//! Danger of a king, seen by the attacking side.

use super::catalog::{
    ALWAYS, ATTACKER, ATTACKERS, DEFENDER, ESCAPES, FLANK_ATTACKS, FLANK_DEFENSES, KING_RANK, LINES,
    NO_QUEEN, PAWN_ATTACKS, PAWNLESS, RING_ATTACKS, RING_TWICE, SAFE_CHECKS, SHIELD, STORM, TO_MOVE,
    UNSAFE_CHECK, WEAK,
};
use crate::classical::bits::{FILE_A, count, rank};
use crate::classical::king::shelter_files;
use crate::classical::view::{View, bishop_attacks, knight_attacks, rook_attacks};
use crate::classical::{Collector, Side};

const FOUR: u64 = FILE_A | FILE_A << 1 | FILE_A << 2 | FILE_A << 3;
/// The files of a king's flank, by the file of the king.
const FLANKS: [u64; 8] = [FOUR, FOUR, FOUR, FOUR << 2, FOUR << 2, FOUR << 4, FOUR << 4, FOUR << 4];

const CAMP: u64 = !(rank(0) | rank(1) | rank(2));

#[inline]
pub fn danger(side: &Side<'_>, defender: &View, to_move: bool, out: &mut impl Collector) {
    let Side { view, own, their, king_attack, .. } = *side;
    let attackers: usize = (0..4).map(|kind| king_attack.attackers(kind)).sum();
    if attackers + usize::from(view.own.queens != 0) < 2 || attackers == 0 {
        return;
    }
    out.add(ALWAYS.id(0));
    if to_move {
        out.add(TO_MOVE.id(0));
    }
    if view.own.queens == 0 {
        out.add(NO_QUEEN.id(0));
    }
    out.add(ATTACKERS.id_or_last(attackers - 1));
    for kind in 0..4 {
        for _ in 0..king_attack.attackers(kind) {
            out.add(ATTACKER.id(kind));
        }
    }

    let (king, ring, zone) = (view.their.king_square(), their.king, king_attack.zone);
    let kinds = [own.knight, own.bishop, own.rook, own.queen];
    out.add(RING_ATTACKS.id_or_last(kinds.iter().map(|attacks| count(attacks & ring)).sum()));
    out.add(RING_TWICE.id_or_last(count(own.twice & ring)));
    let hardly_defended = !their.all | their.king | their.queen;
    let weak = own.all & !their.twice & hardly_defended;
    out.add(WEAK.id_or_last(count(weak & zone)));
    for _ in 0..count(own.pawn & ring) {
        out.add(PAWN_ATTACKS.id(0));
    }
    let defenders = [their.knight, their.bishop, their.rook, their.queen];
    for (kind, defenses) in defenders.into_iter().enumerate() {
        if defenses & zone != 0 {
            out.add(DEFENDER.id(kind));
        }
    }
    out.add(ESCAPES.id(count(ring & !own.all & !view.their.all)));

    // Attacks of the king as if it were a piece; its own queen may move away.
    let occupied = view.occupied & !view.their.queens;
    let (diagonals, lines) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
    let safe = !view.own.all & (!their.all | weak & own.twice);
    let checks = [knight_attacks(king), diagonals, lines, diagonals | lines];
    for (kind, (squares, attacks)) in checks.into_iter().zip(kinds).enumerate() {
        let all = squares & attacks & !view.own.all;
        match count(all & safe) {
            0 if all != 0 => out.add(UNSAFE_CHECK.id(kind)),
            0 => {}
            1 => out.add(SAFE_CHECKS.id(kind)),
            _ => out.add(SAFE_CHECKS.id(4 + kind)),
        }
    }
    pins(view, king, out);

    let flank = FLANKS[king % 8];
    let area = flank & CAMP;
    let attacks = count(own.all & area) + count(own.twice & area);
    out.add(FLANK_ATTACKS.id_or_last(attacks / 2));
    out.add(FLANK_DEFENSES.id_or_last(count(their.all & area) / 2));
    if (view.own.pawns | view.their.pawns) & flank == 0 {
        out.add(PAWNLESS.id(0));
    }
    out.add(KING_RANK.id_or_last(7 - king / 8));
    for [shield, storm] in shelter_files(defender) {
        out.add(SHIELD.id(shield));
        out.add(STORM.id(storm));
    }
}

/// Adds pieces between the king and a piece that would otherwise attack it.
#[inline]
fn pins(view: &View, king: usize, out: &mut impl Collector) {
    type Attacks = fn(usize, u64) -> u64;
    let ways: [(Attacks, u64); 2] = [
        (bishop_attacks, view.own.bishops | view.own.queens),
        (rook_attacks, view.own.rooks | view.own.queens),
    ];
    for (attacks, pieces) in ways {
        if attacks(king, 0) & pieces == 0 {
            continue;
        }
        let near = attacks(king, view.occupied);
        for (index, side) in [view.their.all, view.own.all].into_iter().enumerate() {
            let behind = attacks(king, view.occupied & !(near & side)) & !near;
            for _ in 0..count(behind & pieces) {
                out.add(LINES.id(index));
            }
        }
    }
}
