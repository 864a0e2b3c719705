//! Evaluation of the terms for play: fixed-point sums of values, both phases at once.

use shakmaty::{Board, Color};

use super::{COUNT, Collector, Passed, Side, pawn_structure, terms};

/// Pair of sums: the middlegame in the upper half, the endgame in the lower one. A side has fewer than 200
/// features at a time, and values are at most 30,000 centipawns of 256 units each, so sums fit in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tapered(i64);

impl Tapered {
    #[inline]
    pub fn new(mg: i32, eg: i32) -> Self {
        Self((i64::from(mg) << 32) + i64::from(eg))
    }

    #[inline]
    pub fn add(&mut self, other: Self) {
        self.0 += other.0;
    }

    #[inline]
    pub fn mg(self) -> i32 {
        // A negative lower half has borrowed from the upper half.
        ((self.0 + 0x8000_0000) >> 32) as i32
    }

    #[inline]
    pub fn eg(self) -> i32 {
        self.0 as i32
    }
}

struct Sum<'a> {
    values: &'a [Tapered; COUNT],
    total: i64,
}

impl Collector for Sum<'_> {
    #[inline]
    fn add(&mut self, id: usize) {
        self.total += self.values[id].0;
    }
}

#[derive(Clone, Debug)]
pub struct Values(Box<[Tapered; COUNT]>);

#[derive(Clone, Copy, Debug, Default)]
struct Structure {
    white: u64,
    black: u64,
    value: i64,
    passed: Passed,
}

#[derive(Clone, Debug, Default)]
pub struct PawnCache(Vec<Structure>);

const STRUCTURES: usize = 1 << 13;

impl Values {
    /// Creates the values from one value per feature, by id.
    pub fn new(values: Vec<Tapered>) -> Self {
        Self(values.into_boxed_slice().try_into().expect("one value a feature"))
    }

    fn sums(&self) -> [Sum<'_>; 2] {
        [(); 2].map(|()| Sum { values: &self.0, total: 0 })
    }

    fn structure(&self, board: &Board) -> Structure {
        let [mut white, mut black] = self.sums();
        let passed = pawn_structure(board, &mut white, &mut black);
        let pawns = |color| (board.pawns() & board.by_color(color)).0;
        Structure {
            white: pawns(Color::White),
            black: pawns(Color::Black),
            value: white.total - black.total,
            passed,
        }
    }

    /// The sum over all features except pieces on squares, White − Black. A cache of pawn structures must
    /// belong to these values; `further` receives the intermediate results.
    #[inline]
    pub fn total(
        &self,
        board: &Board,
        turn: Color,
        cache: Option<&mut PawnCache>,
        further: impl FnOnce(&[Side<'_>; 2]),
    ) -> Tapered {
        let structure = match cache {
            Some(cache) => self.cached_structure(board, cache),
            None => self.structure(board),
        };
        let [mut white, mut black] = self.sums();
        terms(board, turn, structure.passed, &mut white, &mut black, |sides, _| further(sides));
        Tapered(structure.value + white.total - black.total)
    }

    #[inline]
    fn cached_structure(&self, board: &Board, cache: &mut PawnCache) -> Structure {
        if cache.0.is_empty() {
            // Zero entries are valid: without pawns, the structure is worth 0.
            cache.0.resize(STRUCTURES, Structure::default());
        }
        let white = (board.pawns() & board.white()).0;
        let black = (board.pawns() & board.black()).0;
        let mixed = (white ^ black.rotate_left(27)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entry = &mut cache.0[(mixed >> 51) as usize % STRUCTURES];
        if (entry.white, entry.black) != (white, black) {
            *entry = self.structure(board);
        }
        *entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_keep_their_signs() {
        for mg in [0, 1, -1, 7_680_000, -7_680_000] {
            for eg in [0, 1, -1, 1_500_000_000, -1_500_000_000] {
                let tapered = Tapered::new(mg, eg);
                assert_eq!((tapered.mg(), tapered.eg()), (mg, eg));
            }
        }
        let sum = Tapered(Tapered::new(5, -3).0 - Tapered::new(-8, 9).0);
        assert_eq!((sum.mg(), sum.eg()), (13, -12));
    }
}
