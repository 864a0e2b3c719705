use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::zeros;

/// Number of rows in a strip: those that three vectors of the widest kind hold, a multiple for the others.
pub(super) const ROWS: usize = 24;
const VECTORS: usize = 3;
/// Number of columns that are filled at a time: a cache line of a row.
const LINE: usize = 8;
/// Minimum number of multiplications for dividing the strips below a pivot among threads.
const LARGE: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Column(pub [f64; ROWS]);

pub(super) fn fill(strip: usize, columns: &mut [Column], size: usize, row: impl Fn(usize, &mut [f64])) {
    let (first, width) = (strip * ROWS, columns.len());
    let mut rows = zeros(ROWS * width);
    for (i, values) in (first..first + ROWS).zip(rows.chunks_exact_mut(width)) {
        if i < size {
            row(i, &mut values[..=i]);
        } else {
            values[i] = 1.0;
        }
    }
    for first in (0..width).step_by(LINE) {
        let columns = &mut columns[first..first + LINE];
        for (i, values) in rows.chunks_exact(width).enumerate() {
            let values = &values[first..first + LINE];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.0[i] = *value);
        }
    }
}

/// Replaces the strips of a matrix by those of its Cholesky factor, whose values above the diagonal are arbitrary.
/// `None` if a pivot is not positive or not finite.
pub(super) fn factor(arch: Arch, strips: &mut [&mut [Column]]) -> Option<()> {
    for strip in 0..strips.len() {
        let (done, below) = strips.split_at_mut(strip + 1);
        let first = strip * ROWS;
        if !arch.dispatch(Forward { pivots: None, strip: &mut *done[strip], first }) {
            return None;
        }
        let pivots = Some(&*done[strip]);
        let solve = |strip: &mut &mut [Column]| {
            arch.dispatch(Forward { pivots, strip, first });
        };
        match below.len() * first * ROWS * ROWS >= LARGE {
            true => below.par_iter_mut().for_each(solve),
            false => below.iter_mut().for_each(solve),
        }
    }
    Some(())
}

/// Computes X ← X L⁻ᵀ for a strip X and the strips of L.
pub(super) fn forward(arch: Arch, strips: &[&[Column]], x: &mut [Column]) {
    for (strip, pivots) in strips.iter().enumerate() {
        arch.dispatch(Forward { pivots: Some(pivots), strip: x, first: strip * ROWS });
    }
}

/// Computes X ← X L⁻¹ for a strip X and the strips of L.
pub(super) fn backward(arch: Arch, strips: &[&[Column]], x: &mut [Column]) {
    for strip in (0..strips.len()).rev() {
        arch.dispatch(Backward { strips: &strips[strip..], x, first: strip * ROWS });
    }
}

/// Computes the columns of X L⁻ᵀ from `first`, as many as a strip has rows, in a strip X; all columns to the left are
/// known.
struct Forward<'a> {
    /// The rows of L with the diagonal; if `None`, the strip has them and is factored.
    pivots: Option<&'a [Column]>,
    strip: &'a mut [Column],
    first: usize,
}

impl WithSimd for Forward<'_> {
    /// False if a pivot is not positive or not finite.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> bool {
        match S::REGISTER_COUNT >= 32 {
            true => (0..ROWS).step_by(8).all(|row| self.group::<S, 8>(simd, row)),
            false => (0..ROWS).step_by(4).all(|row| self.group::<S, 4>(simd, row)),
        }
    }
}

impl Forward<'_> {
    #[inline(always)]
    fn group<S: Simd, const N: usize>(&mut self, simd: S, row: usize) -> bool {
        let first = self.first + row;
        let (before, columns) = self.strip.split_at_mut(first);
        let columns: &mut [Column; N] = (&mut columns[..N]).try_into().expect("a strip has whole groups");
        let pivots = self.pivots.map_or(&*before, |pivots| &pivots[..first]);
        for from in (0..ROWS).step_by(VECTORS * S::F64_LANES) {
            let mut sums = Sums::<S, N>::new(simd, from);
            for (left, pivots) in before.iter().zip(pivots) {
                sums.add(simd, left, |c| pivots.0[row + c]);
            }
            sums.subtract_from(simd, columns);
        }
        let diagonal = self.pivots.map_or(&columns[..], |pivots| &pivots[first..first + N]);
        let mut triangle: [[f64; N]; N] = triangle(diagonal, row);
        if self.pivots.is_none() && !factor_small(&mut triangle) {
            return false;
        }
        for from in (0..ROWS).step_by(S::F64_LANES) {
            let mut solved = [simd.splat_f64s(0.0); N];
            for c in 0..N {
                let values = &mut columns[c].0[from..from + S::F64_LANES];
                let mut value = load::<S>(values);
                for k in 0..c {
                    value = simd.negate_mul_add_e_f64s(simd.splat_f64s(triangle[k][c]), solved[k], value);
                }
                solved[c] = simd.div_f64s(value, simd.splat_f64s(triangle[c][c]));
                store::<S>(values, solved[c]);
            }
        }
        if self.pivots.is_none() {
            // Exactly, and what is left of the triangle is not needed.
            (0..N).for_each(|c| columns[c].0[row + c..row + N].copy_from_slice(&triangle[c][c..]));
        }
        true
    }
}

/// Computes the columns of X L⁻¹ from `first`, as many as a strip has rows, in a strip X; all columns to the right are
/// known.
struct Backward<'a> {
    strips: &'a [&'a [Column]],
    x: &'a mut [Column],
    first: usize,
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        match S::REGISTER_COUNT >= 32 {
            true => (0..ROWS).step_by(8).rev().for_each(|row| self.group::<S, 8>(simd, row)),
            false => (0..ROWS).step_by(4).rev().for_each(|row| self.group::<S, 4>(simd, row)),
        }
    }
}

impl Backward<'_> {
    #[inline(always)]
    fn group<S: Simd, const N: usize>(&mut self, simd: S, row: usize) {
        let first = self.first + row;
        let (columns, after) = self.x[first..].split_at_mut(N);
        let columns: &mut [Column; N] = columns.try_into().expect("a strip has whole groups");
        let (beside, below) = after.split_at(ROWS - row - N);
        for from in (0..ROWS).step_by(VECTORS * S::F64_LANES) {
            let mut sums = Sums::<S, N>::new(simd, from);
            let below = below.chunks_exact(ROWS).zip(&self.strips[1..]).map(|(x, strip)| (x, *strip, 0));
            for (x, strip, start) in std::iter::once((beside, self.strips[0], row + N)).chain(below) {
                let pivots: &[Column; N] = strip[first..].first_chunk().expect("columns up to its diagonal");
                for (x, i) in x.iter().zip(start..ROWS) {
                    sums.add(simd, x, |c| pivots[c].0[i]);
                }
            }
            sums.subtract_from(simd, columns);
        }
        let triangle: [[f64; N]; N] = triangle(&self.strips[0][first..first + N], row);
        for from in (0..ROWS).step_by(S::F64_LANES) {
            let mut solved = [simd.splat_f64s(0.0); N];
            for c in (0..N).rev() {
                let values = &mut columns[c].0[from..from + S::F64_LANES];
                let mut value = load::<S>(values);
                for k in c + 1..N {
                    value = simd.negate_mul_add_e_f64s(simd.splat_f64s(triangle[c][k]), solved[k], value);
                }
                solved[c] = simd.div_f64s(value, simd.splat_f64s(triangle[c][c]));
                store::<S>(values, solved[c]);
            }
        }
    }
}

/// Sums of products of columns with N factors each, for some of their rows.
struct Sums<S: Simd, const N: usize> {
    from: usize,
    sums: [[S::f64s; VECTORS]; N],
}

impl<S: Simd, const N: usize> Sums<S, N> {
    #[inline(always)]
    fn new(simd: S, from: usize) -> Self {
        Self { from, sums: [[simd.splat_f64s(0.0); VECTORS]; N] }
    }

    #[inline(always)]
    fn rows(&self, v: usize) -> std::ops::Range<usize> {
        self.from + v * S::F64_LANES..self.from + (v + 1) * S::F64_LANES
    }

    #[inline(always)]
    fn add(&mut self, simd: S, column: &Column, factor: impl Fn(usize) -> f64) {
        let vectors: [S::f64s; VECTORS] = std::array::from_fn(|v| load::<S>(&column.0[self.rows(v)]));
        for (c, sums) in self.sums.iter_mut().enumerate() {
            let factor = simd.splat_f64s(factor(c));
            (0..VECTORS).for_each(|v| sums[v] = simd.mul_add_e_f64s(vectors[v], factor, sums[v]));
        }
    }

    #[inline(always)]
    fn subtract_from(&self, simd: S, columns: &mut [Column; N]) {
        for (column, sums) in columns.iter_mut().zip(&self.sums) {
            for (v, &sum) in sums.iter().enumerate() {
                let values = &mut column.0[self.rows(v)];
                store::<S>(values, simd.sub_f64s(load::<S>(values), sum));
            }
        }
    }
}

#[inline(always)]
fn triangle<const N: usize>(columns: &[Column], row: usize) -> [[f64; N]; N] {
    std::array::from_fn(|c| std::array::from_fn(|i| columns[c].0[row + i]))
}

/// Factors the matrix whose columns are given from the diagonal on; false if a pivot is not positive or not finite.
#[inline(always)]
fn factor_small<const N: usize>(columns: &mut [[f64; N]; N]) -> bool {
    for c in 0..N {
        for k in 0..c {
            let by = columns[k][c];
            (c..N).for_each(|row| columns[c][row] -= by * columns[k][row]);
        }
        let pivot = columns[c][c];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        columns[c][c..].iter_mut().for_each(|value| *value /= root);
    }
    true
}

#[inline(always)]
fn load<S: Simd>(values: &[f64]) -> S::f64s {
    S::as_simd_f64s(values).0[0]
}

#[inline(always)]
fn store<S: Simd>(values: &mut [f64], vector: S::f64s) {
    S::as_mut_simd_f64s(values).0[0] = vector;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn architectures() -> Vec<Arch> {
        let mut all = vec![Arch::Scalar, Arch::new()];
        #[cfg(target_arch = "x86_64")]
        all.extend(pulp::x86::V3::try_new().map(Arch::V3));
        all
    }

    #[test]
    fn all_processors_solve_alike() {
        let size = 3 * ROWS;
        let entry = |i: usize, j: usize| match i == j {
            true => 3.0,
            false => f64::from((i * 31 + j * 17) as u32 % 64) / 64.0 / (i - j) as f64,
        };
        for arch in architectures() {
            let mut strips: Vec<Vec<Column>> =
                (1..=3).map(|strip| vec![Column::default(); strip * ROWS]).collect();
            for (strip, columns) in strips.iter_mut().enumerate() {
                let row = |i: usize, row: &mut [f64]| (0..=i).for_each(|j| row[j] = entry(i, j));
                fill(strip, columns, size, row);
            }
            let mut strips: Vec<&mut [Column]> = strips.iter_mut().map(Vec::as_mut_slice).collect();
            factor(arch, &mut strips).unwrap();
            let strips: Vec<&[Column]> = strips.iter().map(|strip| &**strip).collect();
            let number = |k: usize, row: usize| f64::from((k * 7 + row * 5) as u32 % 16) - 7.5;
            let wanted = |k: usize| Column(std::array::from_fn(|row| number(k, row)));
            // The product of each row with the symmetric matrix.
            let product = |i: usize, row: usize| -> f64 {
                (0..size).map(|j| entry(i.max(j), i.min(j)) * number(j, row)).sum()
            };
            let mut x: Vec<Column> =
                (0..size).map(|i| Column(std::array::from_fn(|row| product(i, row)))).collect();
            forward(arch, &strips, &mut x);
            backward(arch, &strips, &mut x);
            for (k, x) in x.iter().enumerate() {
                let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
                assert!(x.0.iter().zip(&wanted(k).0).all(close), "{arch:?} {k}: {x:?} {:?}", wanted(k));
            }
        }
    }
}
