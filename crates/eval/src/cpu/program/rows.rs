//! Common parts of the kernels of programs: sums of rows by slot, and their derivatives.

use std::ops::Range;

use crate::Population;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};
use gputexel_model::program::{CompiledProgram, MAX_SLOTS, Scalar, Taper};

#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub layout: &'a Layout,
    pub program: &'a CompiledProgram,
}

/// A row: its entries with coefficient +1, or all of them if there are coefficients, and those with −1.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    plus: &'a [u16],
    minus: &'a [u16],
    /// Parallel to `plus`; empty if all are 1.
    coefficients: &'a [f32],
}

pub(super) type Sums<T> = [[T; 2]; MAX_SLOTS];

impl<'a> Rows<'a> {
    #[inline(always)]
    pub fn visit(self, positions: Range<usize>, mut visit: impl FnMut(&Bucket, usize, Row<'a>)) {
        for (bucket, positions) in self.layout.buckets_in(positions) {
            for shape in self.layout.shapes_in(positions) {
                for (i, position) in shape.positions.clone().enumerate() {
                    visit(bucket, position, self.row(&shape, i));
                }
            }
        }
    }

    #[inline(always)]
    pub fn row(self, shape: &Shape, i: usize) -> Row<'a> {
        let length = shape.row_length();
        let start = shape.first_entry + i * length;
        let (plus, minus) = self.layout.ids()[start..start + length].split_at(shape.plus);
        let coefficients = match self.layout.unit_rows() {
            true => &[],
            false => &self.layout.coefficients()[start..start + length],
        };
        Row { plus, minus, coefficients }
    }

    #[inline(always)]
    pub fn taper(self, bucket: &Bucket) -> Taper {
        let whole = f64::from(self.layout.phase_max());
        Taper { mg: f64::from(bucket.mg_units) / whole, eg: f64::from(bucket.eg_units) / whole }
    }

    /// Sums up a row by slot, from a table of (mg, eg) by column; returns a bit for each slot with entries.
    #[inline(always)]
    pub fn sums<T: Scalar>(self, row: Row<'_>, table: &[[T; 2]], sums: &mut Sums<T>) -> u32 {
        sums[..self.program.slots()].fill([T::zero(); 2]);
        // The sum of the slot at hand is not in memory, where each addition would wait for the one before.
        let mut present = 0;
        let mut at_hand = (0, [T::zero(); 2]);
        let mut enter = |(last, sum): &mut (usize, [T; 2]), slot: usize| {
            sums[*last] = *sum;
            (*last, *sum) = (slot, sums[slot]);
            present |= 1 << slot;
        };
        match row.coefficients.is_empty() {
            true => self.by_slot(row.plus, &mut at_hand, &mut enter, |(_, sum), _, column| {
                let value = table[usize::from(column)];
                *sum = [sum[0] + value[0], sum[1] + value[1]];
            }),
            false => self.by_slot(row.plus, &mut at_hand, &mut enter, |(_, sum), entry, column| {
                let value = table[usize::from(column)];
                let c = T::constant(f64::from(row.coefficients[entry]));
                *sum = [sum[0] + value[0] * c, sum[1] + value[1] * c];
            }),
        }
        self.by_slot(row.minus, &mut at_hand, &mut enter, |(_, sum), _, column| {
            let value = table[usize::from(column)];
            *sum = [sum[0] - value[0], sum[1] - value[1]];
        });
        sums[at_hand.0] = at_hand.1;
        present
    }

    #[inline(always)]
    pub fn scatter<T: Scalar>(self, row: Row<'_>, slopes: &Sums<T>, gradient: &mut [[T; 2]]) {
        let mut slope = [T::zero(); 2];
        let enter = |slope: &mut [T; 2], slot: usize| *slope = slopes[slot];
        match row.coefficients.is_empty() {
            true => self.by_slot(row.plus, &mut slope, enter, |[mg, eg], _, column| {
                let sum = &mut gradient[usize::from(column)];
                *sum = [sum[0] + *mg, sum[1] + *eg];
            }),
            false => self.by_slot(row.plus, &mut slope, enter, |[mg, eg], entry, column| {
                let sum = &mut gradient[usize::from(column)];
                let c = T::constant(f64::from(row.coefficients[entry]));
                *sum = [sum[0] + *mg * c, sum[1] + *eg * c];
            }),
        }
        self.by_slot(row.minus, &mut slope, enter, |[mg, eg], _, column| {
            let sum = &mut gradient[usize::from(column)];
            *sum = [sum[0] - *mg, sum[1] - *eg];
        });
    }

    /// Calls `each` with the derivatives of a row's score by the values of its columns: column, mg, eg.
    #[inline(always)]
    pub fn derivatives(self, row: Row<'_>, slopes: &Sums<f64>, mut each: impl FnMut(u16, f64, f64)) {
        let mut slope = [0.0; 2];
        for (columns, sign) in [(row.plus, 1.0), (row.minus, -1.0)] {
            let enter = |slope: &mut [f64; 2], slot: usize| *slope = slopes[slot];
            self.by_slot(columns, &mut slope, enter, |&mut [mg, eg], entry, column| {
                if mg != 0.0 || eg != 0.0 {
                    let c = row.coefficients.get(entry).map_or(sign, |&c| f64::from(c));
                    each(column, c * mg, c * eg);
                }
            });
        }
    }

    #[inline(always)]
    fn by_slot<A>(
        self,
        columns: &[u16],
        state: &mut A,
        mut enter: impl FnMut(&mut A, usize),
        mut each: impl FnMut(&mut A, usize, u16),
    ) {
        let starts = self.program.slot_starts();
        let (mut slot, mut end) = (0, 0);
        for (entry, &column) in columns.iter().enumerate() {
            if u32::from(column) >= end {
                while u32::from(column) >= starts[slot + 1] {
                    slot += 1;
                }
                end = starts[slot + 1];
                enter(state, slot);
            }
            each(state, entry, column);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Target {
    pub x_per_cp: f64,
    pub loss: LossKind,
    blend: f32,
    seed: Option<u32>,
}

impl Target {
    pub fn of(population: &Population, member: usize, loss: LossKind) -> Self {
        Self {
            x_per_cp: x_per_cp(population.k[member]),
            loss,
            blend: population.blends.get(member).copied().unwrap_or(0.0),
            seed: population.resamples.get(member).copied(),
        }
    }

    #[inline(always)]
    pub fn of_position(&self, layout: &Layout, position: usize) -> (f64, f64) {
        let mut weight = layout.weights().get(position).copied().unwrap_or(1.0);
        if let Some(seed) = self.seed {
            weight *= poisson_weight(layout.game(position), seed) as f32;
        }
        let mut target = layout.targets()[position];
        if let Some(search) = layout.search().get(position) {
            target += self.blend * (search - target);
        }
        (f64::from(target), f64::from(weight))
    }
}
