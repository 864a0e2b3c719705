//! Sets of squares as 64 bits (a1 is bit 0, h8 bit 63), and the operations on them that all terms use.

pub const FILE_A: u64 = 0x0101_0101_0101_0101;
pub const FILE_H: u64 = FILE_A << 7;
pub const RANK_1: u64 = 0xff;
pub const PAWN_RANKS: u64 = 0x00ff_ffff_ffff_ff00;
pub const LIGHT: u64 = 0x55aa_55aa_55aa_55aa;

pub const fn up(set: u64) -> u64 {
    set << 8
}

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

/// The squares to the left and to the right.
pub const fn beside(set: u64) -> u64 {
    left(set) | right(set)
}

/// The squares themselves and all above them.
pub const fn fill_up(mut set: u64) -> u64 {
    set |= set << 8;
    set |= set << 16;
    set | set << 32
}

/// The squares themselves and all below them.
pub const fn fill_down(mut set: u64) -> u64 {
    set |= set >> 8;
    set |= set >> 16;
    set | set >> 32
}

pub const fn file(index: usize) -> u64 {
    FILE_A << index
}

pub const fn rank(index: usize) -> u64 {
    RANK_1 << (8 * index)
}

pub const fn count(set: u64) -> usize {
    set.count_ones() as usize
}

pub const fn from_edge(square: usize) -> usize {
    let file = square % 8;
    if file < 4 { file } else { 7 - file }
}

/// The number of king moves between two squares.
pub const fn distance(a: usize, b: usize) -> usize {
    let (files, ranks) = ((a % 8).abs_diff(b % 8), (a / 8).abs_diff(b / 8));
    if files > ranks { files } else { ranks }
}

pub const fn squares(set: u64) -> Squares {
    Squares(set)
}

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
