//! Kings: the pawns in front of the own king, and the attack on the enemy king.

use super::Collector;
use super::bits::{count, down, file, fill_up, from_edge, rank};
use super::catalog::{KING_ATTACK, KING_FILE, KING_SHIELD, KING_STORM, SAFE_CHECK};
use super::pawns::on_file;
use super::view::{AttackMap, View, bishop_attacks, king_attacks, knight_attacks, rook_attacks};

/// Pieces that attack squares around the enemy king.
#[derive(Clone, Copy, Debug)]
pub struct KingAttack {
    /// The king's square, the adjacent ones, and those in front of them.
    pub zone: u64,
    /// Sum of the [`KingAttacker`]s that attack the zone.
    total: u64,
}

/// Contribution of a piece to an attack on a king: its attack units in the lowest byte, and 1 in the byte of
/// its kind, so that one addition counts both. No board has enough pieces for a byte to overflow.
#[derive(Clone, Copy, Debug)]
pub struct KingAttacker(u64);

impl KingAttacker {
    pub const KNIGHT: Self = Self::new(0, 2);
    pub const BISHOP: Self = Self::new(1, 2);
    pub const ROOK: Self = Self::new(2, 3);
    pub const QUEEN: Self = Self::new(3, 4);

    const fn new(kind: usize, units: u64) -> Self {
        Self(units | 1 << (8 * (kind + 1)))
    }
}

impl KingAttack {
    pub fn new(view: &View) -> Self {
        let near = view.their.king | king_attacks(view.their.king_square());
        Self { zone: near | down(near), total: 0 }
    }

    #[inline]
    pub fn add(&mut self, attacks: u64, attacker: KingAttacker) {
        if attacks & self.zone != 0 {
            self.total += attacker.0;
        }
    }

    fn units(&self) -> usize {
        (self.total & 0xff) as usize
    }

    /// The number of pieces of a kind, knight 0 to queen 3, that attack the zone.
    #[inline]
    pub fn attackers(&self, kind: usize) -> usize {
        (self.total >> (8 * (kind + 1)) & 0xff) as usize
    }
}

/// For each of three files at the own king the index of the rearmost own pawn and that of the rearmost enemy
/// pawn in tables of 28: seven entries for each distance of a file from the edge, the first of them for no
/// pawn.
#[inline]
pub fn shelter_files(view: &View) -> [[usize; 2]; 3] {
    let king = view.own.king_square();
    let above = fill_up(rank(king / 8));
    let middle = (king % 8).clamp(1, 6);
    let lowest = |pawns: u64| if pawns == 0 { 0 } else { pawns.trailing_zeros() as usize / 8 };
    [middle - 1, middle, middle + 1].map(|index| {
        let table = 7 * from_edge(index);
        let squares = file(index) & above;
        [table + lowest(view.own.pawns & squares), table + lowest(view.their.pawns & squares)]
    })
}

/// Adds the features of pawns around the own king and of open files next to it.
#[inline(always)]
pub fn shelter(view: &View, out: &mut impl Collector) {
    let king = view.own.king_square();
    for [shield, storm] in shelter_files(view) {
        out.add(KING_SHIELD.id(shield));
        out.add(KING_STORM.id(storm));
    }
    for index in (king % 8).saturating_sub(1)..=(king % 8 + 1).min(7) {
        let beside = 2 * usize::from(index != king % 8);
        match on_file(view, index) {
            (false, false) => out.add(KING_FILE.id(beside)),
            (false, true) => out.add(KING_FILE.id(beside + 1)),
            _ => {}
        }
    }
}

/// Adds the attack on the enemy king: safe checks, and attack units.
#[inline(always)]
pub fn attack(
    view: &View,
    own: &AttackMap,
    their: &AttackMap,
    king_attack: &KingAttack,
    out: &mut impl Collector,
) {
    let king = view.their.king_square();
    let free = !(view.own.all | their.all);
    let diagonals = bishop_attacks(king, view.occupied) & free;
    let lines = rook_attacks(king, view.occupied) & free;
    let checks = [
        knight_attacks(king) & free & own.knight,
        diagonals & own.bishop,
        lines & own.rook,
        (diagonals | lines) & own.queen,
    ];
    let mut units = king_attack.units();
    for (index, squares) in checks.into_iter().enumerate() {
        if squares != 0 {
            out.add(SAFE_CHECK.id(index));
            units += 3;
        }
    }
    if king_attack.total > 0 {
        units += count(their.king & own.all & !their.twice);
        // Every piece counts at least 2.
        out.add(KING_ATTACK.id_or_last(units - 2));
    }
}
