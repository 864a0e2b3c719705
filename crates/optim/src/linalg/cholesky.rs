use pulp::Arch;
use rayon::prelude::*;

use super::strips::{self, Column, ROWS};
use super::{dot, zeros};

/// The Cholesky factor L of a symmetric positive definite matrix L Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    size: usize,
    /// One strip after the other, each of which has columns up to the end of its diagonal.
    columns: Vec<Column>,
}

impl Cholesky {
    /// Factors the matrix with the given entries (i, j), of which only those with j ≤ i are used; `None` if a pivot is
    /// not positive or not finite.
    pub fn new(size: usize, entry: impl Fn(usize, usize) -> f64 + Sync) -> Option<Self> {
        let row = |i: usize, row: &mut [f64]| {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = entry(i, j));
        };
        Self::of_rows(size, row, None)
    }

    /// Factors the matrix of `size` rows whose row `i`, up to and with the diagonal, is written by `row`; otherwise as
    /// [`Cholesky::new`].
    pub fn of_rows(
        size: usize,
        row: impl Fn(usize, &mut [f64]) + Sync,
        memory: Option<Self>,
    ) -> Option<Self> {
        let strips = size.div_ceil(ROWS);
        let mut columns = memory.map_or(Vec::new(), |memory| memory.columns);
        columns.resize(ROWS * strips * (strips + 1) / 2, Column::default());
        let mut rest = &mut columns[..];
        let widths = (1..=strips).map(|strip| ROWS * strip);
        let mut strips: Vec<&mut [Column]> =
            widths.map(|width| rest.split_off_mut(..width).expect("there are as many")).collect();
        // Within the pool of threads, where no division of work waits for one of them to wake up.
        rayon::scope(|_| {
            let each = |(strip, columns): (usize, &mut &mut [Column])| {
                strips::fill(strip, columns, size, &row);
            };
            strips.par_iter_mut().enumerate().for_each(each);
            strips::factor(Arch::new(), &mut strips)
        })?;
        Some(Self { size, columns })
    }

    fn strip(&self, strip: usize) -> &[Column] {
        &self.columns[ROWS * strip * (strip + 1) / 2..][..ROWS * (strip + 1)]
    }

    pub fn solve(&self, right: &mut [f64]) {
        assert_eq!(right.len(), self.size);
        let mut x = right.to_vec();
        x.resize(self.size.next_multiple_of(ROWS), 0.0);
        for strip in 0..x.len() / ROWS {
            let (known, own) = x.split_at_mut(strip * ROWS);
            let (left, diagonal) = self.strip(strip).split_at(strip * ROWS);
            let own: &mut [f64; ROWS] = (&mut own[..ROWS]).try_into().expect("whole strips");
            let mut sums = [0.0; ROWS];
            for (Column(column), x) in left.iter().zip(known) {
                (0..ROWS).for_each(|row| sums[row] += *x * column[row]);
            }
            (0..ROWS).for_each(|row| own[row] -= sums[row]);
            for (c, Column(column)) in diagonal.iter().enumerate() {
                own[c] /= column[c];
                (c + 1..ROWS).for_each(|row| own[row] -= own[c] * column[row]);
            }
        }
        for strip in (0..x.len() / ROWS).rev() {
            let (rest, own) = x.split_at_mut(strip * ROWS);
            let (left, diagonal) = self.strip(strip).split_at(strip * ROWS);
            let own: &mut [f64; ROWS] = (&mut own[..ROWS]).try_into().expect("whole strips");
            for (c, Column(column)) in diagonal.iter().enumerate().rev() {
                let below: f64 = (c + 1..ROWS).map(|row| column[row] * own[row]).sum();
                own[c] = (own[c] - below) / column[c];
            }
            rest.iter_mut().zip(left).for_each(|(x, column)| *x -= dot(&column.0, own));
        }
        right.copy_from_slice(&x[..right.len()]);
    }

    /// Replaces `columns` right-hand sides, the columns of a row-major matrix, by their solutions.
    pub fn solve_columns(&self, right: &mut [f64], columns: usize) {
        assert_eq!(right.len(), self.size * columns);
        let starts = (0..columns).into_par_iter().step_by(ROWS);
        let solved = starts.map(|first| {
            let own = first..columns.min(first + ROWS);
            let mut x = vec![Column::default(); self.size.next_multiple_of(ROWS)];
            for (x, row) in x.iter_mut().zip(right.chunks_exact(columns)) {
                x.0[..own.len()].copy_from_slice(&row[own.clone()]);
            }
            self.solve_strip(&mut x, 0);
            (own, x)
        });
        for (own, x) in solved.collect::<Vec<_>>() {
            for (row, x) in right.chunks_exact_mut(columns).zip(x) {
                row[own.clone()].copy_from_slice(&x.0[..own.len()]);
            }
        }
    }

    /// Replaces right-hand sides by their solutions, given both from strip `start` on; what is before it is 0 in the
    /// right-hand sides and left out of the solutions.
    fn solve_strip(&self, x: &mut [Column], start: usize) {
        let strips: Vec<&[Column]> =
            (start..self.size.div_ceil(ROWS)).map(|strip| &self.strip(strip)[start * ROWS..]).collect();
        strips::forward(Arch::new(), &strips, x);
        strips::backward(Arch::new(), &strips, x);
    }

    pub fn inverse(&self) -> Vec<f64> {
        let size = self.size;
        let strips = (0..size.div_ceil(ROWS)).into_par_iter();
        let of_units = |strip: usize| {
            let mut x = vec![Column::default(); size.next_multiple_of(ROWS) - strip * ROWS];
            (0..ROWS).for_each(|i| x[i].0[i] = 1.0);
            self.solve_strip(&mut x, strip);
            x
        };
        let solved: Vec<Vec<Column>> = strips.map(of_units).collect();
        let mut inverse = zeros(size * size);
        for (strip, x) in solved.into_iter().enumerate() {
            let first = strip * ROWS;
            let width = ROWS.min(size - first);
            for (row, x) in inverse.chunks_exact_mut(size).skip(first).zip(x) {
                row[first..first + width].copy_from_slice(&x.0[..width]);
            }
        }
        super::mirror(&mut inverse, size);
        inverse
    }
}
