//! Pawn structure, which depends on pawns alone, and passed pawns, which depend on everything.

use super::bits::{beside, count, distance, down, file, fill_down, fill_up, from_edge, rank, squares, up};
use super::catalog::{
    BACKWARD, DOUBLED, ISOLATED, PASSED_BLOCKED, PASSED_FREE, PASSED_OWN_KING, PASSED_SAFE_PATH,
    PASSED_THEIR_KING, PHALANX, SUPPORTED,
};
use super::view::{AttackMap, View};
use super::{Collector, catalog::Span};

/// Adds the structure of the own pawns and returns the passed ones.
pub fn structure(own: u64, their: u64, out: &mut impl Collector) -> u64 {
    let (attacks, their_attacks) = (up(beside(own)), down(beside(their)));
    let neighbors = fill_up(fill_down(beside(own)));
    let isolated = own & !neighbors;
    let doubled = own & fill_down(down(own));
    let backward = own & down(their_attacks & !fill_up(attacks)) & !isolated;
    for square in squares(isolated) {
        out.add(ISOLATED.id(from_edge(square)));
    }
    for square in squares(doubled) {
        out.add(DOUBLED.id(from_edge(square)));
    }
    by_rank(BACKWARD, 1, backward, out);
    by_rank(PHALANX, 1, own & beside(own), out);
    by_rank(SUPPORTED, 2, own & attacks, out);
    own & !fill_down(down(their) | their_attacks) & !doubled
}

fn by_rank(span: Span, first: usize, pawns: u64, out: &mut impl Collector) {
    for square in squares(pawns) {
        out.add(span.id(square / 8 - first));
    }
}

/// Adds the features of passed pawns that depend on other pieces.
#[inline(always)]
pub fn passed(view: &View, their_attack_map: &AttackMap, pawns: u64, out: &mut impl Collector) {
    let (king, their_king) = (view.own.king_square(), view.their.king_square());
    for square in squares(pawns) {
        let index = square / 8 - 1;
        let stop = square + 8;
        let blocked = view.occupied >> stop & 1 == 1;
        out.add(if blocked { PASSED_BLOCKED } else { PASSED_FREE }.id(index));
        let path = fill_up(1 << stop);
        if path & (view.occupied | their_attack_map.all) == 0 {
            out.add(PASSED_SAFE_PATH.id(index));
        }
        if index >= 2 {
            let table = 8 * usize::from(index >= 4);
            out.add(PASSED_OWN_KING.id(table + distance(king, stop)));
            out.add(PASSED_THEIR_KING.id(table + distance(their_king, stop)));
        }
    }
}

pub fn on_color(view: &View, square: usize) -> usize {
    let light = super::bits::LIGHT;
    let color = if light >> square & 1 == 1 { light } else { !light };
    count(view.own.pawns & color)
}

/// The squares on the fourth to sixth rank that own pawns defend and that no enemy pawn can ever attack.
pub fn outposts(view: &View) -> u64 {
    view.pawn_attacks & !fill_down(view.their_pawn_attacks) & (rank(3) | rank(4) | rank(5))
}

pub fn on_file(view: &View, index: usize) -> (bool, bool) {
    (view.own.pawns & file(index) != 0, view.their.pawns & file(index) != 0)
}
