#![allow(dead_code, unexpected_cfgs)]

/// A set of squares: a1 is bit 0, b1 bit 1, h8 bit 63.
pub type Bitboard = u64;

pub const WHITE: usize = 0;
pub const BLACK: usize = 1;
pub const PAWN: usize = 0;
pub const KNIGHT: usize = 1;
pub const BISHOP: usize = 2;
pub const ROOK: usize = 3;
pub const QUEEN: usize = 4;
pub const KING: usize = 5;

/// A position, with one king a side and no pawn on the first or last rank.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// By color and kind.
    pub pieces: [[Bitboard; 6]; 2],
    pub side_to_move: usize,
}

/// A middlegame and an endgame value in one number, so that one addition adds both.
type Score = i64;

const fn s(mg: i64, eg: i64) -> Score {
    mg * (1 << 32) + eg
}
