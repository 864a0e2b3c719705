//! Sixteen-byte boards: one bit for each occupied square and four bits for each piece, in the order of the
//! squares from a1 to h8, the low half of a byte first. Bulletformat and binpack have them; they differ in the
//! meaning of the sixteen codes and in the byte order of the occupancy.

use shakmaty::{Bitboard, Board, ByColor, ByRole};

pub(crate) const CODE_BYTES: usize = 16;

pub(crate) const MAX_PIECES: u32 = 32;

/// The squares of each code, as four bit planes: a square's code has bit `k` if plane `k` has the square.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planes {
    pub occupied: u64,
    planes: [u64; 4],
}

impl Planes {
    /// Spreads the codes over the occupied squares; `None` if there are more squares than codes.
    pub fn new(occupied: u64, codes: [u8; CODE_BYTES]) -> Option<Self> {
        if occupied.count_ones() > MAX_PIECES {
            return None;
        }
        let codes = u128::from_le_bytes(codes);
        let mut planes = [0u64; 4];
        let mut rest = occupied;
        // Nothing branches on a code, since the kind of a piece cannot be predicted.
        for mut half in [codes as u64, (codes >> 64) as u64] {
            let mut left = 16;
            while rest != 0 && left > 0 {
                let square = rest & rest.wrapping_neg();
                rest ^= square;
                planes[0] |= square & (half & 1).wrapping_neg();
                planes[1] |= square & (half >> 1 & 1).wrapping_neg();
                planes[2] |= square & (half >> 2 & 1).wrapping_neg();
                planes[3] |= square & (half >> 3 & 1).wrapping_neg();
                half >>= 4;
                left -= 1;
            }
        }
        Some(Self { occupied, planes })
    }

    /// Returns the squares of the codes 0 to 6, whatever their highest bit; squares with 7 are in none.
    #[inline]
    pub fn lower(&self) -> [u64; 7] {
        let [one, two, four, _] = self.planes;
        let low = self.occupied & !four;
        [
            low & !two & !one,
            low & !two & one,
            low & two & !one,
            low & two & one,
            four & !two & !one,
            four & !two & one,
            four & two & !one,
        ]
    }

    pub fn of(&self, code: u8) -> u64 {
        self.planes.iter().enumerate().fold(self.occupied, |squares, (bit, plane)| {
            squares & if code >> bit & 1 == 1 { *plane } else { !plane }
        })
    }

    #[inline]
    pub fn with_bit(&self, bit: usize) -> u64 {
        self.planes[bit]
    }
}

/// Creates a board from the bitboards of each role (pawn to king) and of White.
pub(crate) fn board(roles: [u64; 6], white: u64) -> Option<Board> {
    let [pawn, knight, bishop, rook, queen, king] = roles.map(Bitboard);
    let occupied = roles.into_iter().fold(0, |all, one| all | one);
    let colors = ByColor { black: Bitboard(occupied & !white), white: Bitboard(white) };
    Board::try_from_bitboards(ByRole { pawn, knight, bishop, rook, queen, king }, colors).ok()
}

pub(crate) fn roles(board: &Board) -> [u64; 6] {
    [board.pawns(), board.knights(), board.bishops(), board.rooks(), board.queens(), board.kings()]
        .map(|squares| squares.0)
}

pub(crate) fn codes(occupied: u64, planes: [u64; 4]) -> Option<[u8; CODE_BYTES]> {
    if occupied.count_ones() > MAX_PIECES {
        return None;
    }
    let mut codes = [0u64; 2];
    let mut rest = occupied;
    let mut shift = 0;
    while rest != 0 {
        let square = rest.trailing_zeros();
        rest &= rest - 1;
        let [one, two, four, eight] = planes.map(|plane| plane >> square & 1);
        let code = one | two << 1 | four << 2 | eight << 3;
        // Two halves, since shifts of 128-bit numbers are slow.
        codes[usize::from(shift >= 64)] |= code << (shift % 64);
        shift += 4;
    }
    let [low, high] = codes.map(u64::to_le_bytes);
    let mut bytes = [0; CODE_BYTES];
    bytes[..8].copy_from_slice(&low);
    bytes[8..].copy_from_slice(&high);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_come_back(occupied in any::<u64>(), more in any::<u64>(), bytes in any::<[u8; 16]>()) {
            let occupied = occupied & more;
            let Some(planes) = Planes::new(occupied, bytes) else {
                prop_assert!(occupied.count_ones() > 32);
                return Ok(());
            };
            let count = occupied.count_ones() as usize;
            let mut expected = bytes;
            for index in count..32 {
                expected[index / 2] &= if index % 2 == 0 { 0xf0 } else { 0x0f };
            }
            let squares: Vec<u64> = (0..16).map(|code| planes.of(code)).collect();
            prop_assert_eq!(squares.iter().fold(0, |all, one| all | one), occupied);
            prop_assert_eq!(squares.iter().map(|one| one.count_ones()).sum::<u32>(), count as u32);
            let lower: Vec<u64> = (0..7).map(|code| squares[code] | squares[code + 8]).collect();
            prop_assert_eq!(&planes.lower()[..], &lower[..]);
            let back = codes(occupied, [0, 1, 2, 3].map(|bit| planes.with_bit(bit)));
            prop_assert_eq!(back, Some(expected));
        }
    }
}
