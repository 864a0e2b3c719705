//! Complexity: how easily an advantage can be used, the same for both sides.

use super::catalog::{BOTH_FLANKS, INFILTRATION, KINGS, OUTFLANKING, PASSED, PAWNS, PIECES};
use crate::classical::bits::{FILE_A, count};
use crate::classical::{Collector, Side};

const QUEENSIDE: u64 = FILE_A | FILE_A << 1 | FILE_A << 2 | FILE_A << 3;

pub fn flanks(pawns: u64) -> [bool; 2] {
    [pawns & QUEENSIDE != 0, pawns & !QUEENSIDE != 0]
}

/// Adds the features of both sides together; they are the same for both.
#[inline]
pub fn complexity(white: &Side<'_>, black: &Side<'_>, out: &mut impl Collector) {
    let view = white.view;
    let pawns = view.own.pawns | view.their.pawns;
    out.add(PAWNS.id_or_last(count(pawns)));
    if flanks(pawns) == [true; 2] {
        out.add(BOTH_FLANKS.id(0));
    }
    out.add(PASSED.id_or_last(count(white.passed) + count(black.passed)));
    let (king, other) = (view.own.king_square(), view.their.king_square());
    let (files, ranks) = ((king % 8).abs_diff(other % 8), (king / 8).abs_diff(other / 8));
    out.add(OUTFLANKING.id_or_last((4 + files).saturating_sub(ranks)));
    if king / 8 > 3 || other / 8 < 4 {
        out.add(INFILTRATION.id(0));
    }
    let pieces = count(view.occupied) - count(pawns) - count(view.own.king | view.their.king);
    if pieces == 0 {
        out.add(KINGS.id(0));
    }
    out.add(PIECES.id_or_last(pieces));
}
