//! The feature set `classical`: the usual terms of a hand-written evaluation, all of them linear in their
//! parameters.

pub(crate) mod bits;
pub(crate) mod catalog;
pub(crate) mod king;
mod pawns;
mod pieces;
mod playing;
mod threats;
pub(crate) mod view;

use shakmaty::{Board, Color};

use crate::feature::Arrangement;
pub use catalog::{COUNT, GROUPS, Group};
use king::KingAttack;
pub use playing::PawnCache;
pub(super) use playing::{Tapered, Values};
use view::{AttackMap, View};

/// The definition of the features of a group, for one side; `None` for unknown groups.
pub(crate) fn definition(group: &str) -> Option<&'static str> {
    GROUPS.iter().find(|known| known.name == group).map(|known| known.about)
}

pub(crate) fn arrangement(group: &str, ids: &[u32]) -> Arrangement {
    let known = GROUPS.iter().find(|known| known.name == group).zip(ids.first());
    known.map_or(Arrangement::None, |(group, &first)| group.arrangement(first))
}

pub(super) trait Collector {
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

pub(super) fn pawn_structure<C: Collector>(board: &Board, white: &mut C, black: &mut C) -> Passed {
    let pawns = |color| (board.pawns() & board.by_color(color)).0 & bits::PAWN_RANKS;
    let (own, their) = (pawns(Color::White), pawns(Color::Black));
    Passed {
        white: pawns::structure(own, their, white),
        black: pawns::structure(their.swap_bytes(), own.swap_bytes(), black),
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    /// The board as the side sees it.
    pub view: &'a View,
    pub own: &'a AttackMap,
    pub their: &'a AttackMap,
    pub king_attack: &'a KingAttack,
    pub passed: u64,
}

/// Adds all other features except pieces on squares. `further` receives the intermediate results, White's
/// first, so that a feature set with more features computes attacks once.
#[inline]
pub(super) fn terms<C: Collector>(
    board: &Board,
    turn: Color,
    passed: Passed,
    white: &mut C,
    black: &mut C,
    further: impl FnOnce(&[Side<'_>; 2], &mut C),
) {
    let (own, their) = (View::new(board, Color::White), View::new(board, Color::Black));
    let (attack_map, king_attack) = pieces::pieces(&own, passed.white, white);
    let (their_attack_map, their_king_attack) = pieces::pieces(&their, passed.black, black);
    let sides = [
        Side {
            view: &own,
            own: &attack_map,
            their: &their_attack_map.flipped(),
            king_attack: &king_attack,
            passed: passed.white,
        },
        Side {
            view: &their,
            own: &their_attack_map,
            their: &attack_map.flipped(),
            king_attack: &their_king_attack,
            passed: passed.black,
        },
    ];
    for (side, out) in sides.iter().zip([&mut *white, &mut *black]) {
        pawns::passed(side.view, side.their, side.passed, out);
        king::shelter(side.view, out);
        king::attack(side.view, side.own, side.their, side.king_attack, out);
        threats::threats(side.view, side.own, side.their, out);
    }
    if turn.is_white() { &mut *white } else { black }.add(catalog::TEMPO.id(0));
    further(&sides, white);
}
