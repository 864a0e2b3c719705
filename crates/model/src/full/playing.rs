//! The sums as part of an evaluation for play: fixed-point numbers, like those of `classical`, which the
//! program then converts.

use shakmaty::Color;

use super::catalog::{COUNT, FURTHER};
use super::{SUMS, SumCollector, program, sums};
use crate::classical::{COUNT as CLASSICAL, Collector, Side, Tapered};
use crate::program::{CompiledProgram, Taper};

/// Values of the features after those of `classical`, and the program that uses them.
#[derive(Clone, Debug)]
pub struct FurtherValues {
    values: Box<[Tapered; FURTHER]>,
    program: CompiledProgram,
}

#[derive(Clone, Copy, Debug)]
pub struct Sums {
    totals: [Tapered; SUMS],
    /// Bits as in [`CompiledProgram::score`].
    present: u32,
}

struct SumUp<'a> {
    values: &'a [Tapered; FURTHER],
    sum: usize,
    sums: Sums,
}

impl Collector for SumUp<'_> {
    #[inline]
    fn add(&mut self, id: usize) {
        self.sums.totals[self.sum].add(self.values[id - CLASSICAL]);
        self.sums.present |= 2 << self.sum;
    }
}

impl SumCollector for SumUp<'_> {
    #[inline]
    fn begin(&mut self, sum: usize) {
        self.sum = sum;
    }
}

impl FurtherValues {
    pub fn new(values: Vec<Tapered>) -> Self {
        Self {
            values: values.into_boxed_slice().try_into().expect("one value per feature"),
            program: CompiledProgram::try_new(program(), COUNT).expect("the program fits its features"),
        }
    }

    #[inline]
    pub fn sums(&self, sides: &[Side<'_>; 2], turn: Color) -> Sums {
        let sums_of = Sums { totals: [Tapered::default(); SUMS], present: 1 };
        let mut out = SumUp { values: &self.values, sum: 0, sums: sums_of };
        sums(sides, turn, &mut out);
        out.sums
    }

    /// The score, centipawns, White's view. `linear` has the middlegame and the endgame value of the linear
    /// part; a centipawn is 1 / `unit` of the sums.
    pub fn score(&self, linear: [f64; 2], sums: &Sums, unit: f64, taper: Taper) -> f64 {
        let mut values = [[0.0; 2]; 1 + SUMS];
        values[0] = linear;
        for (value, total) in values[1..].iter_mut().zip(&sums.totals) {
            *value = [f64::from(total.mg()) * unit, f64::from(total.eg()) * unit];
        }
        self.program.score(&values, sums.present, taper)
    }
}
