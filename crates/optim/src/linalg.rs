//! Dense linear algebra in f64: products, Cholesky factors, linear systems.
//!
//! Matrices are row-major. Work is divided into tiles by the shapes of the matrices alone, so results have the same
//! bits for any number of threads; different processors may round differently, because products use the available
//! instructions.

use rayon::prelude::*;

/// Number of rows in a tile, the unit of parallel work.
const TILE: usize = 128;
/// Number of columns that are factored at a time.
const BLOCK: usize = 128;
/// Number of rows of a triangle that are solved one after another.
const SMALL: usize = 16;
/// Minimum number of multiplications for dividing a product among threads.
const LARGE: usize = 1 << 20;

/// A read-only matrix, with any strides.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    values: &'a [f64],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// Views a row-major matrix.
    ///
    /// # Panics
    /// If the number of values is not `rows` × `columns`.
    pub fn new(values: &'a [f64], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns);
        Self::strided(values, rows, columns, columns)
    }

    /// Views a part of a row-major matrix; the first value is the part's first.
    fn strided(values: &'a [f64], rows: usize, columns: usize, row_stride: usize) -> Self {
        Self { values, rows, columns, row_stride, column_stride: 1 }
    }

    /// Returns the transpose.
    #[must_use]
    pub fn transpose(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Returns the rows from `first`, at most `count`.
    fn rows(self, first: usize, count: usize) -> Self {
        let values = &self.values[(first * self.row_stride).min(self.values.len())..];
        Self { values, rows: count.min(self.rows - first), ..self }
    }

    /// Returns true if every entry is among the values.
    fn is_valid(&self) -> bool {
        let last = |count: usize, stride: usize| (count - 1).checked_mul(stride);
        let end = || last(self.rows, self.row_stride)?.checked_add(last(self.columns, self.column_stride)?);
        self.rows == 0 || self.columns == 0 || end().is_some_and(|end| end < self.values.len())
    }
}

/// Computes C ← factor · A B + keep · C on the calling thread, where the rows of C start `stride` values apart.
fn dgemm(factor: f64, a: View<'_>, b: View<'_>, keep: f64, c: &mut [f64], stride: usize) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    if m == 0 || n == 0 {
        return;
    }
    assert!(k == b.rows && a.is_valid() && b.is_valid() && n <= stride && (m - 1) * stride + n <= c.len());
    let strides = [a.row_stride, a.column_stride, b.row_stride, b.column_stride, stride];
    let [ra, ca, rb, cb, rc] = strides.map(|stride| stride.try_into().expect("within an allocation"));
    let (a, b, c) = (a.values.as_ptr(), b.values.as_ptr(), c.as_mut_ptr());
    // SAFETY: by the assertion the entries of A (m × k), B (k × n) and C (m × n) at these strides lie within the
    // slices, those of C at different addresses; C is borrowed exclusively, so it overlaps neither A nor B.
    unsafe { matrixmultiply::dgemm(m, k, n, factor, a, ra, ca, b, rb, cb, keep, c, rc, 1) }
}

/// Calls `work` with the number of the first row and the values of each tile of rows.
fn for_tiles(large: bool, c: &mut [f64], stride: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
    let size = (TILE * stride).max(1);
    match large {
        true => c.par_chunks_mut(size).enumerate().for_each(|(tile, c)| work(tile * TILE, c)),
        false => c.chunks_mut(size).enumerate().for_each(|(tile, c)| work(tile * TILE, c)),
    }
}

/// Computes C ← factor · A B + keep · C.
///
/// # Panics
/// If shapes do not match.
pub fn multiply(factor: f64, a: View<'_>, b: View<'_>, keep: f64, c: &mut [f64]) {
    assert_eq!((a.columns, a.rows * b.columns), (b.rows, c.len()));
    let large = a.rows * a.columns * b.columns >= LARGE;
    let stride = b.columns;
    for_tiles(large, c, stride, |first, c| dgemm(factor, a.rows(first, TILE), b, keep, c, stride));
}

/// Computes C ← C + factor · A Aᵀ on and below the diagonal; values above it are undefined afterwards. The rows of C
/// start `stride` values apart.
///
/// # Panics
/// If shapes do not match.
pub fn add_square(factor: f64, a: View<'_>, c: &mut [f64], stride: usize) {
    let large = a.rows * a.rows * a.columns >= 2 * LARGE;
    for_tiles(large, c, stride, |first, c| {
        let rows = a.rows(first, TILE);
        dgemm(factor, rows, a.rows(0, first + rows.rows).transpose(), 1.0, c, stride);
    });
}

/// Returns zeros that are written, for sums that are added to at once. Memory that the system only promises to be zero
/// is mapped when it is read, and again when it is written, which interrupts all threads.
pub fn zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    std::iter::repeat_n(T::default(), count).collect()
}

/// Copies the part below the diagonal of a matrix of `size` rows above it.
pub fn mirror(matrix: &mut [f64], size: usize) {
    // Few columns at a time, so that the cache lines of their rows are read once.
    for first in (0..size).step_by(SMALL) {
        for i in 0..size.min(first + SMALL) {
            for j in first.max(i + 1)..size.min(first + SMALL) {
                matrix[i * size + j] = matrix[j * size + i];
            }
        }
    }
}

/// Solves a system with an arbitrary matrix, by elimination with row pivots; the result is not finite if it is
/// singular.
pub fn solve_general(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for k in 0..n {
        let size = |i: usize| matrix[i * n + k].abs();
        let pivot = (k..n).fold(k, |best, i| if size(i) > size(best) { i } else { best });
        (0..n).for_each(|j| matrix.swap(k * n + j, pivot * n + j));
        right.swap(k, pivot);
        let (above, below) = matrix.split_at_mut((k + 1) * n);
        let row = &above[k * n..];
        for (i, other) in below.chunks_exact_mut(n).enumerate() {
            let factor = other[k] / row[k];
            add_scaled(&mut other[k..], -factor, &row[k..]);
            right[k + 1 + i] -= factor * right[k];
        }
    }
    for i in (0..n).rev() {
        right[i] = (right[i] - dot(&matrix[i * n..][i + 1..n], &right[i + 1..])) / matrix[i * n + i];
    }
    right
}

/// Computes the dot product, in an order that processors can vectorize.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.0.iter().zip(b.0) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    sums.iter().sum::<f64>() + a.1.iter().zip(b.1).map(|(a, b)| a * b).sum::<f64>()
}

/// Computes the product of a row-major matrix with a vector.
///
/// # Panics
/// If there are not as many columns as values.
pub fn times(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    let rows = || matrix.chunks_exact(vector.len().max(1)).map(|row| dot(row, vector)).collect();
    assert!(matrix.len().is_multiple_of(vector.len().max(1)));
    pulp::Arch::new().dispatch(rows)
}

/// Computes row ← row + factor · other.
#[inline(always)]
pub fn add_scaled(row: &mut [f64], factor: f64, other: &[f64]) {
    row.iter_mut().zip(other).for_each(|(row, other)| *row += factor * other);
}

/// The Cholesky factor L of a symmetric positive definite matrix L Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    size: usize,
    /// L on and below the diagonal; values above it are arbitrary.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors the matrix with the given entries (i, j), of which only those with j ≤ i are used; `None` if a pivot is
    /// not positive or not finite.
    pub fn new(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut lower = vec![0.0; size * size];
        for (i, row) in lower.chunks_exact_mut(size.max(1)).enumerate() {
            row[..=i].iter_mut().enumerate().for_each(|(j, value)| *value = entry(i, j));
        }
        Self::factor(lower, size)
    }

    /// Factors a row-major matrix in its own memory; otherwise as [`Cholesky::new`].
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn factor(mut lower: Vec<f64>, size: usize) -> Option<Self> {
        assert_eq!(lower.len(), size * size);
        let mut panel = Vec::new();
        for first in (0..size).step_by(BLOCK) {
            let next = size.min(first + BLOCK);
            let width = next - first;
            let (above, below) = lower.split_at_mut(next * size);
            let triangle = &mut above[first * size + first..];
            pulp::Arch::new().dispatch(|| factor_small(triangle, width, size))?;
            let triangle = &*triangle;
            // The rows of L below the triangle, then the remaining matrix.
            let rows = size - next;
            let large = rows > TILE && rows * rows * width >= LARGE;
            panel.resize(rows * width, 0.0);
            for_tiles(large, &mut panel, width, |start, tile| {
                let count = tile.len() / width;
                let mut transposed = vec![0.0; tile.len()];
                transpose(&below[start * size + first..], size, &mut transposed, count, width);
                forward(triangle, size, &mut transposed, width, count, None);
                transpose(&transposed, count, tile, width, count);
            });
            for (row, solved) in below.chunks_exact_mut(size).zip(panel.chunks_exact(width)) {
                row[first..next].copy_from_slice(solved);
            }
            if rows > 0 {
                add_square(-1.0, View::new(&panel, rows, width), &mut below[next..], size);
            }
        }
        Some(Self { size, lower })
    }

    /// Returns its memory, whose values are those of the factor.
    pub fn into_memory(self) -> Vec<f64> {
        self.lower
    }

    /// Replaces the right-hand side of a linear system by its solution.
    ///
    /// # Panics
    /// If its length is not the matrix's.
    pub fn solve(&self, right: &mut [f64]) {
        assert_eq!(right.len(), self.size);
        let row = |i: usize| &self.lower[i * self.size..];
        pulp::Arch::new().dispatch(|| {
            for i in 0..self.size {
                right[i] = (right[i] - dot(&row(i)[..i], &right[..i])) / row(i)[i];
            }
            for i in (0..self.size).rev() {
                let value = right[i] / row(i)[i];
                right[i] = value;
                add_scaled(&mut right[..i], -value, &row(i)[..i]);
            }
        });
    }

    /// Replaces `columns` right-hand sides, the columns of a row-major matrix, by their solutions.
    ///
    /// # Panics
    /// If there are not `columns` values for each row of the matrix.
    pub fn solve_columns(&self, right: &mut [f64], columns: usize) {
        assert_eq!(right.len(), self.size * columns);
        forward(&self.lower, self.size, right, self.size, columns, None);
        backward(&self.lower, self.size, right, self.size, columns, None);
    }

    /// Returns the inverse of the matrix.
    pub fn inverse(&self) -> Vec<f64> {
        let size = self.size;
        let mut inverse = vec![0.0; size * size];
        (0..size).for_each(|i| inverse[i * (size + 1)] = 1.0);
        forward(&self.lower, size, &mut inverse, size, size, Some(0));
        backward(&self.lower, size, &mut inverse, size, size, Some(0));
        mirror(&mut inverse, size);
        inverse
    }
}

/// Writes the transpose of a matrix of `rows` × `columns`, whose rows start `stride` values apart. Goes through the
/// rows in groups, so that whole cache lines are written.
fn transpose(from: &[f64], stride: usize, into: &mut [f64], rows: usize, columns: usize) {
    for first in (0..rows).step_by(8) {
        let group = first..rows.min(first + 8);
        for (j, row) in into.chunks_exact_mut(rows).take(columns).enumerate() {
            group.clone().for_each(|i| row[i] = from[i * stride + j]);
        }
    }
}

/// Factors a small matrix in place; `None` if a pivot is not positive or not finite.
#[inline(always)]
fn factor_small(matrix: &mut [f64], size: usize, stride: usize) -> Option<()> {
    for i in 0..size {
        let (above, row) = matrix.split_at_mut(i * stride);
        for j in 0..i {
            let other = &above[j * stride..];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        row[i] = pivot.sqrt();
    }
    Some(())
}

/// Computes X ← L⁻¹ X, where L has `n` rows, `stride` values apart. If X is the lower triangle of a square matrix,
/// `within` is the column of the triangle's first entry in it, and values far above the diagonal are left alone.
fn forward(l: &[f64], stride: usize, x: &mut [f64], n: usize, columns: usize, within: Option<usize>) {
    let width = |rows: usize| within.map_or(columns, |first| first + rows);
    if n <= SMALL {
        pulp::Arch::new().dispatch(|| {
            for i in 0..n {
                let (solved, rest) = x.split_at_mut(i * columns);
                let row = &mut rest[..width(n)];
                (0..i).for_each(|j| add_scaled(row, -l[i * stride + j], &solved[j * columns..]));
                row.iter_mut().for_each(|value| *value /= l[i * stride + i]);
            }
        });
        return;
    }
    let half = (n / 2).next_multiple_of(SMALL);
    let (top, bottom) = x.split_at_mut(half * columns);
    forward(l, stride, top, half, columns, within);
    let square = View::strided(&l[half * stride..], n - half, half, stride);
    subtract(square, View::strided(top, half, width(half), columns), bottom, columns);
    let rest = &l[half * (stride + 1)..];
    forward(rest, stride, bottom, n - half, columns, within.map(|first| first + half));
}

/// Computes X ← L⁻ᵀ X, otherwise as [`forward`].
fn backward(l: &[f64], stride: usize, x: &mut [f64], n: usize, columns: usize, within: Option<usize>) {
    let width = |rows: usize| within.map_or(columns, |first| first + rows);
    if n <= SMALL {
        pulp::Arch::new().dispatch(|| {
            for i in (0..n).rev() {
                let (rest, solved) = x.split_at_mut((i + 1) * columns);
                let row = &mut rest[i * columns..][..width(n)];
                let below = |j: usize| (j - i - 1) * columns;
                (i + 1..n).for_each(|j| add_scaled(row, -l[j * stride + i], &solved[below(j)..]));
                row.iter_mut().for_each(|value| *value /= l[i * stride + i]);
            }
        });
        return;
    }
    let half = (n / 2).next_multiple_of(SMALL);
    let (top, bottom) = x.split_at_mut(half * columns);
    let rest = &l[half * (stride + 1)..];
    backward(rest, stride, bottom, n - half, columns, within.map(|first| first + half));
    let square = View::strided(&l[half * stride..], n - half, half, stride).transpose();
    subtract(square, View::strided(bottom, n - half, width(half), columns), top, columns);
    backward(l, stride, top, half, columns, within);
}

/// Computes C ← C − A B, where the rows of C start `stride` values apart.
///
/// # Panics
/// If shapes do not match.
pub fn subtract(a: View<'_>, b: View<'_>, c: &mut [f64], stride: usize) {
    let large = a.rows * a.columns * b.columns >= LARGE;
    for_tiles(large, c, stride, |first, c| dgemm(-1.0, a.rows(first, TILE), b, 1.0, c, stride));
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    /// Computes A B by plain loops.
    fn naive(a: &[f64], b: &[f64], rows: usize, columns: usize) -> Vec<f64> {
        let inner = a.len() / rows;
        let entry = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum();
        (0..rows * columns).map(|at| entry(at / columns, at % columns)).collect()
    }

    fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
        (0..a.len()).map(|at| a[at % (a.len() / columns) * columns + at / (a.len() / columns)]).collect()
    }

    /// Computes M Mᵀ / n + I.
    fn definite(n: usize) -> Vec<f64> {
        let m = random(n * n, n as u64);
        let mut matrix = naive(&m, &transposed(&m, n), n, n);
        matrix.iter_mut().for_each(|value| *value /= n as f64);
        (0..n).for_each(|i| matrix[i * (n + 1)] += 1.0);
        matrix
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        let largest = wanted.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        for (at, (got, wanted)) in got.iter().zip(wanted).enumerate() {
            assert!((got - wanted).abs() <= 1e-12 * largest, "{at}: {got} {wanted}");
        }
    }

    #[test]
    fn products_are_those_of_plain_loops() {
        for (m, k, n) in [(1, 1, 1), (2, 300, 3), (130, 65, 7), (300, 129, 140), (5, 0, 4)] {
            let (a, b, mut c) = (random(m * k, 1), random(k * n, 2), random(m * n, 3));
            let product: Vec<f64> =
                naive(&a, &b, m, n).iter().zip(&c).map(|(product, c)| 2.0 * product - 0.5 * c).collect();
            multiply(2.0, View::new(&a, m, k), View::new(&b, k, n), -0.5, &mut c);
            assert_close(&c, &product);
            let vector = random(k, 4);
            assert_close(&times(&a, &vector), &naive(&a, &vector, m, 1)[..if k > 0 { m } else { 0 }]);
            let mut square = zeros(m * m);
            add_square(1.0, View::new(&a, m, k), &mut square, m);
            mirror(&mut square, m);
            assert_close(&square, &naive(&a, &transposed(&a, k.max(1)), m, m));
        }
    }

    #[test]
    fn factors_solve_and_invert() {
        for n in [1, 2, 7, 63, 64, 65, 130, 300] {
            let matrix = definite(n);
            let factor = Cholesky::new(n, |i, j| matrix[i * n + j]).unwrap();
            let lower: Vec<f64> =
                (0..n * n).map(|at| if at % n <= at / n { factor.lower[at] } else { 0.0 }).collect();
            assert_close(&naive(&lower, &transposed(&lower, n), n, n), &matrix);
            let wanted = random(n, 5);
            let mut right = naive(&matrix, &wanted, n, 1);
            assert_close(&solve_general(matrix.clone(), right.clone()), &wanted);
            factor.solve(&mut right);
            assert_close(&right, &wanted);
            let wanted = random(n * 9, 6);
            let mut right = naive(&matrix, &wanted, n, 9);
            factor.solve_columns(&mut right, 9);
            assert_close(&right, &wanted);
            let identity: Vec<f64> = (0..n * n).map(|at| f64::from(u8::from(at % (n + 1) == 0))).collect();
            assert_close(&naive(&matrix, &factor.inverse(), n, n), &identity);
        }
        assert!(Cholesky::new(0, |_, _| unreachable!()).unwrap().inverse().is_empty());
        // A pivot of 0, which elimination avoids.
        assert_eq!(solve_general(vec![0.0, 2.0, 1.0, 1.0], vec![4.0, 5.0]), [3.0, 2.0]);
    }

    #[test]
    fn other_matrices_are_refused() {
        for n in [1, 65, 300] {
            let matrix = definite(n);
            for (at, bad) in [(0, 0.0), (n - 1, -1.0), (n / 2, f64::NAN), (n - 1, f64::INFINITY)] {
                let entry = |i: usize, j: usize| if (i, j) == (at, at) { bad } else { matrix[i * n + j] };
                assert!(Cholesky::new(n, entry).is_none(), "{n} {at} {bad}");
            }
        }
        // Positive on the diagonal, but not definite.
        assert!(Cholesky::new(2, |i, j| if i == j { 1.0 } else { -2.0 }).is_none());
    }

    #[test]
    fn threads_do_not_change_bits() {
        let n = 700;
        let matrix = definite(n);
        let results = [1, 4].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let factor = Cholesky::new(n, |i, j| matrix[i * n + j]).unwrap();
                let mut product = vec![0.0; n * n];
                let view = View::new(&matrix, n, n);
                multiply(1.0, view, view, 0.0, &mut product);
                [factor.inverse(), factor.lower, product].map(|values| values.into_iter().map(f64::to_bits))
            })
        });
        let [one, four] = results.map(|values| values.map(Iterator::collect::<Vec<u64>>));
        assert!(one == four);
    }
}
