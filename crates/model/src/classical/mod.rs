//! The feature set `classical`: the usual terms of a hand-written evaluation, all of them linear in their
//! parameters.
//!
//! Owns the definition and the names of the features. One function finds them, for datasets and for playing
//! alike, so that what is played is what was tuned. Each side has its own view of the board (`view`) in which
//! its pawns move up, so that every term is written once. Values, tuning and search are left to others.

mod bits;
mod catalog;
mod king;
mod pawns;
mod pieces;
mod playing;
mod threats;
mod view;

use shakmaty::{Board, Color};

use crate::arrangement::Arrangement;
pub use catalog::{COUNT, GROUPS, Group, features};
pub use playing::PawnCache;
pub(super) use playing::{Tapered, Values};
use view::View;

/// What the features of a group count, for one side; `None` for unknown groups.
pub fn definition(group: &str) -> Option<&'static str> {
    GROUPS.iter().find(|known| known.name == group).map(|known| known.about)
}

/// What neighbors what among the features of a group.
pub(crate) fn arrangement(group: &str, ids: &[u32]) -> Arrangement {
    let known = GROUPS.iter().find(|known| known.name == group).zip(ids.first());
    known.map_or(Arrangement::None, |(group, &first)| group.arrangement(first))
}

/// Receives the features of a side, by id.
pub(super) trait Collector {
    /// One occurrence of a feature.
    fn add(&mut self, id: usize);
}

impl Collector for Vec<u16> {
    #[inline]
    fn add(&mut self, id: usize) {
        self.push(id as u16);
    }
}

/// Pawns of both sides as seen by White, and the passed ones, each as seen by their own side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    pub white: u64,
    pub black: u64,
}

/// Adds the pawn structure of both sides: all features that depend on pawns alone.
pub(super) fn pawn_structure<C: Collector>(board: &Board, white: &mut C, black: &mut C) -> Passed {
    let pawns = |color| (board.pawns() & board.by_color(color)).0 & bits::PAWN_RANKS;
    let (own, their) = (pawns(Color::White), pawns(Color::Black));
    Passed {
        white: pawns::structure(own, their, white),
        black: pawns::structure(their.swap_bytes(), own.swap_bytes(), black),
    }
}

/// Adds all other features except pieces on squares.
pub(super) fn terms<C: Collector>(board: &Board, turn: Color, passed: Passed, white: &mut C, black: &mut C) {
    let (own, their) = (View::new(board, Color::White), View::new(board, Color::Black));
    let (attack_map, king_attack) = pieces::pieces(&own, passed.white, white);
    let (their_attack_map, their_king_attack) = pieces::pieces(&their, passed.black, black);
    for (view, own, other, king_attack, passed, out) in [
        (&own, &attack_map, &their_attack_map.flipped(), &king_attack, passed.white, &mut *white),
        (&their, &their_attack_map, &attack_map.flipped(), &their_king_attack, passed.black, &mut *black),
    ] {
        pawns::passed(view, other, passed, out);
        king::shelter(view, out);
        king::attack(view, own, other, king_attack, out);
        threats::threats(view, own, other, out);
    }
    if turn.is_white() { white } else { black }.add(catalog::TEMPO.id(0));
}
