//! Board as one side sees it: its own pieces move up, whatever their color.

use shakmaty::{Bitboard, Board, Color, Square, attacks};

use super::bits::{PAWN_RANKS, beside, down, up};

#[derive(Clone, Copy, Debug)]
pub struct SidePieces {
    pub pawns: u64,
    pub knights: u64,
    pub bishops: u64,
    pub rooks: u64,
    pub queens: u64,
    pub king: u64,
    pub all: u64,
}

impl SidePieces {
    fn new(board: &Board, color: Color, flip: bool) -> Self {
        let all = board.by_color(color).0;
        let turned = |set: Bitboard| {
            let set = set.0 & all;
            if flip { set.swap_bytes() } else { set }
        };
        Self {
            pawns: turned(board.pawns()) & PAWN_RANKS,
            knights: turned(board.knights()),
            bishops: turned(board.bishops()),
            rooks: turned(board.rooks()),
            queens: turned(board.queens()),
            king: turned(board.kings()),
            all: turned(Bitboard(all)),
        }
    }

    /// The king's square; a1 on boards without a king, which do not occur in games.
    pub fn king_square(&self) -> usize {
        (self.king.trailing_zeros() & 63) as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub struct View {
    pub own: SidePieces,
    pub their: SidePieces,
    pub occupied: u64,
    pub pawn_attacks: u64,
    pub their_pawn_attacks: u64,
}

impl View {
    pub fn new(board: &Board, color: Color) -> Self {
        let flip = color.is_black();
        let own = SidePieces::new(board, color, flip);
        let their = SidePieces::new(board, !color, flip);
        Self {
            own,
            their,
            occupied: own.all | their.all,
            pawn_attacks: up(beside(own.pawns)),
            their_pawn_attacks: down(beside(their.pawns)),
        }
    }
}

/// Squares attacked by a side, by kind of piece, including squares of own pieces that are defended.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttackMap {
    pub pawn: u64,
    pub knight: u64,
    pub bishop: u64,
    pub rook: u64,
    pub queen: u64,
    pub king: u64,
    pub all: u64,
    /// Attacked by at least two pieces, each pawn counting separately.
    pub twice: u64,
}

impl AttackMap {
    pub fn add(&mut self, attacks: u64) {
        self.twice |= self.all & attacks;
        self.all |= attacks;
    }

    /// The same from the other side's view.
    pub fn flipped(&self) -> Self {
        Self {
            pawn: self.pawn.swap_bytes(),
            knight: self.knight.swap_bytes(),
            bishop: self.bishop.swap_bytes(),
            rook: self.rook.swap_bytes(),
            queen: self.queen.swap_bytes(),
            king: self.king.swap_bytes(),
            all: self.all.swap_bytes(),
            twice: self.twice.swap_bytes(),
        }
    }
}

fn at(square: usize) -> Square {
    Square::new((square & 63) as u32)
}

pub fn knight_attacks(square: usize) -> u64 {
    attacks::knight_attacks(at(square)).0
}

pub fn king_attacks(square: usize) -> u64 {
    attacks::king_attacks(at(square)).0
}

pub fn bishop_attacks(square: usize, occupied: u64) -> u64 {
    attacks::bishop_attacks(at(square), Bitboard(occupied)).0
}

pub fn rook_attacks(square: usize, occupied: u64) -> u64 {
    attacks::rook_attacks(at(square), Bitboard(occupied)).0
}
