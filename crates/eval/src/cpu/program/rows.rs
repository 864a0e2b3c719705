//! Common parts of the kernels of programs: sums of rows by slot, and their derivatives.

use std::ops::Range;

use crate::Population;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};
use gputexel_model::program::{CompiledProgram, MAX_SLOTS, Scalar, Taper};

/// The rows of a layout and the meaning of its columns.
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
    /// Calls `visit` with each position of a range: its bucket, index and row.
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
    fn row(self, shape: &Shape, i: usize) -> Row<'a> {
        let length = shape.row_length();
        let start = shape.first_entry + i * length;
        let (plus, minus) = self.layout.ids()[start..start + length].split_at(shape.plus);
        let coefficients = match self.layout.unit_rows() {
            true => &[],
            false => &self.layout.coefficients()[start..start + length],
        };
        Row { plus, minus, coefficients }
    }

    /// Returns the shares of the values of positions in a bucket.
    #[inline(always)]
    pub fn taper(self, bucket: &Bucket) -> Taper {
        let whole = f64::from(self.layout.phase_max());
        Taper { mg: f64::from(bucket.mg_units) / whole, eg: f64::from(bucket.eg_units) / whole }
    }

    /// Sums up a row by slot, from a table of (mg, eg) by column; returns a bit for each slot with entries.
    #[inline(always)]
    pub fn sums<T: Scalar>(self, row: Row<'_>, table: &[[T; 2]], sums: &mut Sums<T>) -> u32 {
        sums[..self.program.slots()].fill([T::zero(); 2]);
        let mut present = 0;
        self.by_slot(row.plus, |slot, entries| {
            let mut sum = [T::zero(); 2];
            if row.coefficients.is_empty() {
                for &column in &row.plus[entries] {
                    let value = table[usize::from(column)];
                    sum = [sum[0] + value[0], sum[1] + value[1]];
                }
            } else {
                let pairs = row.plus[entries.clone()].iter().zip(&row.coefficients[entries]);
                for (&column, &coefficient) in pairs {
                    let (value, c) = (table[usize::from(column)], T::constant(f64::from(coefficient)));
                    sum = [sum[0] + value[0] * c, sum[1] + value[1] * c];
                }
            }
            sums[slot] = sum;
            present |= 1 << slot;
        });
        self.by_slot(row.minus, |slot, entries| {
            let mut sum = sums[slot];
            for &column in &row.minus[entries] {
                let value = table[usize::from(column)];
                sum = [sum[0] - value[0], sum[1] - value[1]];
            }
            sums[slot] = sum;
            present |= 1 << slot;
        });
        present
    }

    /// Adds a row's slopes by slot to a gradient by column.
    #[inline(always)]
    pub fn scatter<T: Scalar>(self, row: Row<'_>, slopes: &Sums<T>, gradient: &mut [[T; 2]]) {
        self.by_slot(row.plus, |slot, entries| {
            let [mg, eg] = slopes[slot];
            if row.coefficients.is_empty() {
                for &column in &row.plus[entries] {
                    let sum = &mut gradient[usize::from(column)];
                    *sum = [sum[0] + mg, sum[1] + eg];
                }
            } else {
                let pairs = row.plus[entries.clone()].iter().zip(&row.coefficients[entries]);
                for (&column, &coefficient) in pairs {
                    let (sum, c) = (&mut gradient[usize::from(column)], T::constant(f64::from(coefficient)));
                    *sum = [sum[0] + mg * c, sum[1] + eg * c];
                }
            }
        });
        self.by_slot(row.minus, |slot, entries| {
            let [mg, eg] = slopes[slot];
            for &column in &row.minus[entries] {
                let sum = &mut gradient[usize::from(column)];
                *sum = [sum[0] - mg, sum[1] - eg];
            }
        });
    }

    /// Calls `each` with the derivatives of a row's score by the values of its columns: column, mg, eg.
    #[inline(always)]
    pub fn derivatives(self, row: Row<'_>, slopes: &Sums<f64>, mut each: impl FnMut(u16, f64, f64)) {
        for (columns, sign) in [(row.plus, 1.0), (row.minus, -1.0)] {
            self.by_slot(columns, |slot, entries| {
                let [mg, eg] = slopes[slot];
                if mg == 0.0 && eg == 0.0 {
                    return;
                }
                for entry in entries {
                    let c = row.coefficients.get(entry).map_or(sign, |&c| f64::from(c));
                    each(columns[entry], c * mg, c * eg);
                }
            });
        }
    }

    /// Calls `visit` with the entries of each slot, given ascending columns.
    #[inline(always)]
    fn by_slot(self, columns: &[u16], mut visit: impl FnMut(usize, Range<usize>)) {
        let starts = self.program.slot_starts();
        let (mut slot, mut from) = (0, 0);
        while from < columns.len() {
            while u32::from(columns[from]) >= starts[slot + 1] {
                slot += 1;
            }
            let end = starts[slot + 1];
            let mut to = from + 1;
            while to < columns.len() && u32::from(columns[to]) < end {
                to += 1;
            }
            visit(slot, from..to);
            from = to;
        }
    }
}

/// Targets of a member's scores, and the loss.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// x per centipawn.
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

    /// Returns the target and weight of a position.
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
