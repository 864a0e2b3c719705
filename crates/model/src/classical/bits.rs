//! Sets of squares as 64 bits (a1 is bit 0, h8 bit 63), and the operations on them that all terms use.
//!
//! Everything is seen from a side whose pawns move up: for Black the board is flipped first.

/// The a file.
pub const FILE_A: u64 = 0x0101_0101_0101_0101;
/// The h file.
pub const FILE_H: u64 = FILE_A << 7;
/// The first rank.
pub const RANK_1: u64 = 0xff;
/// Ranks on which pawns can stand.
pub const PAWN_RANKS: u64 = 0x00ff_ffff_ffff_ff00;
/// The light squares.
pub const LIGHT: u64 = 0x55aa_55aa_55aa_55aa;

/// Shifts one step up.
pub const fn up(set: u64) -> u64 {
    set << 8
}

/// Shifts one step down.
pub const fn down(set: u64) -> u64 {
    set >> 8
}

/// Shifts one step toward the a file.
pub const fn left(set: u64) -> u64 {
    (set & !FILE_A) >> 1
}

/// Shifts one step toward the h file.
pub const fn right(set: u64) -> u64 {
    (set & !FILE_H) << 1
}

/// Returns the squares to the left and to the right.
pub const fn beside(set: u64) -> u64 {
    left(set) | right(set)
}

/// Returns the squares themselves and all above them.
pub const fn fill_up(mut set: u64) -> u64 {
    set |= set << 8;
    set |= set << 16;
    set | set << 32
}

/// Returns the squares themselves and all below them.
pub const fn fill_down(mut set: u64) -> u64 {
    set |= set >> 8;
    set |= set >> 16;
    set | set >> 32
}

/// Returns all squares of a file, 0 to 7.
pub const fn file(index: usize) -> u64 {
    FILE_A << index
}

/// Returns all squares of a rank, 0 to 7.
pub const fn rank(index: usize) -> u64 {
    RANK_1 << (8 * index)
}

/// Returns the number of squares.
pub const fn count(set: u64) -> usize {
    set.count_ones() as usize
}

/// Returns the distance of a square's file from the edge, 0 to 3.
pub const fn from_edge(square: usize) -> usize {
    let file = square % 8;
    if file < 4 { file } else { 7 - file }
}

/// Returns the number of king moves between two squares.
pub const fn distance(a: usize, b: usize) -> usize {
    let (files, ranks) = ((a % 8).abs_diff(b % 8), (a / 8).abs_diff(b / 8));
    if files > ranks { files } else { ranks }
}

/// Returns the squares of a set, lowest first.
pub const fn squares(set: u64) -> Squares {
    Squares(set)
}

/// See [`squares`].
pub struct Squares(u64);

impl Iterator for Squares {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let square = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(square)
    }
}
