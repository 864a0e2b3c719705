//! Share of an endgame advantage that remains with the material on the board, if the side is the stronger
//! one.

use super::catalog::{
    FACTOR_BISHOPS, FACTOR_ENDING, FACTOR_FLANK, FACTOR_MATERIAL, FACTOR_PASSED, FACTOR_PAWNS, FACTOR_ROOKS,
    FACTOR_THEIR_PAWNS,
};
use super::complexity::flanks;
use crate::classical::bits::{LIGHT, count};
use crate::classical::view::SidePieces;
use crate::classical::{Collector, Side};

/// Numbers of a side's pieces by kind.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Counts {
    knights: usize,
    bishops: usize,
    rooks: usize,
    queens: usize,
}

impl Counts {
    fn new(side: &SidePieces) -> Self {
        Self {
            knights: count(side.knights),
            bishops: count(side.bishops),
            rooks: count(side.rooks),
            queens: count(side.queens),
        }
    }

    fn minors(self) -> usize {
        self.knights + self.bishops
    }

    fn worth(self) -> usize {
        3 * self.minors() + 5 * self.rooks + 9 * self.queens
    }

    fn is(self, pieces: [usize; 4]) -> bool {
        [self.knights, self.bishops, self.rooks, self.queens] == pieces
    }
}

/// Kind of ending, an index of its features; the two that have features of their own are named.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ending(usize);

impl Ending {
    const OPPOSITE_BISHOPS: Self = Self(3);
    const ROOKS: Self = Self(6);

    fn new(own: Counts, their: Counts, opposite: bool) -> Self {
        let both = |pieces| own.is(pieces) && their.is(pieces);
        let like = (own.rooks, own.queens) == (their.rooks, their.queens);
        let minors = own.minors() == 1 && their.minors() == 1;
        Self(match (own.rooks, own.queens) {
            _ if !like => 13,
            (0, 0) if both([0; 4]) => 0,
            (0, 0) if both([1, 0, 0, 0]) => 1,
            (0, 0) if both([0, 1, 0, 0]) => 2 + usize::from(opposite),
            (0, 0) if minors => 4 + usize::from(own.knights == 1),
            (1, 0) if both([0, 0, 1, 0]) => 6,
            (1, 0) if minors => 7 + usize::from(opposite),
            (_, _) if opposite => 9,
            (2, 0) if both([0, 0, 2, 0]) => 10,
            (0, 1) if both([0, 0, 0, 1]) => 11,
            (_, 1) => 12,
            _ => 13,
        })
    }
}

#[inline]
pub fn factor(side: &Side<'_>, out: &mut impl Collector) {
    let view = side.view;
    let (pawns, their_pawns) = (count(view.own.pawns), count(view.their.pawns));
    out.add(FACTOR_PAWNS.id_or_last(pawns));
    out.add(FACTOR_THEIR_PAWNS.id_or_last(their_pawns));
    let (own, their) = (Counts::new(&view.own), Counts::new(&view.their));
    let ahead = match own.worth().checked_sub(their.worth()) {
        None => 0,
        Some(0) => 1,
        Some(1 | 2) => 2,
        Some(more) => more.min(6),
    };
    out.add(FACTOR_MATERIAL.id(7 * pawns.min(2) + ahead));
    let light = |side: &SidePieces| side.bishops & LIGHT != 0;
    let opposite = own.bishops == 1 && their.bishops == 1 && light(&view.own) != light(&view.their);
    let ending = Ending::new(own, their, opposite);
    out.add(FACTOR_ENDING.id(ending.0));
    let more = pawns.saturating_sub(their_pawns);
    match ending {
        Ending::OPPOSITE_BISHOPS => out.add(FACTOR_BISHOPS.id_or_last(more)),
        Ending::ROOKS => out.add(FACTOR_ROOKS.id_or_last(more)),
        _ => {}
    }
    out.add(FACTOR_PASSED.id_or_last(count(side.passed)));
    if flanks(view.own.pawns | view.their.pawns) != [true; 2] {
        out.add(FACTOR_FLANK.id(usize::from(ending == Ending::ROOKS)));
    }
}
