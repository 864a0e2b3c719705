//! Dense linear algebra in f64: products, Cholesky factors, linear systems.

mod cholesky;
mod eigen;
mod inverse;
mod pivoted;
mod strips;

pub use cholesky::Cholesky;
pub use inverse::{Inverse, invert, positive};
pub use pivoted::sorted_cholesky;

use rayon::prelude::*;

/// Number of rows in a tile, the unit of parallel work.
const TILE: usize = 128;
/// Number of columns of a matrix that are mirrored at a time: their rows' cache lines are read once.
const COLUMNS: usize = 16;
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
    pub fn new(values: &'a [f64], rows: usize, columns: usize) -> Self {
        assert_eq!(values.len(), rows * columns);
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

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

    fn rows(self, first: usize, count: usize) -> Self {
        let values = &self.values[(first * self.row_stride).min(self.values.len())..];
        Self { values, rows: count.min(self.rows - first), ..self }
    }

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

fn for_tiles(large: bool, c: &mut [f64], stride: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
    let size = (TILE * stride).max(1);
    match large {
        true => c.par_chunks_mut(size).enumerate().for_each(|(tile, c)| work(tile * TILE, c)),
        false => c.chunks_mut(size).enumerate().for_each(|(tile, c)| work(tile * TILE, c)),
    }
}

/// Computes C ← factor · A B + keep · C.
pub fn multiply(factor: f64, a: View<'_>, b: View<'_>, keep: f64, c: &mut [f64]) {
    assert_eq!((a.columns, a.rows * b.columns), (b.rows, c.len()));
    let large = a.rows * a.columns * b.columns >= LARGE;
    let stride = b.columns;
    for_tiles(large, c, stride, |first, c| dgemm(factor, a.rows(first, TILE), b, keep, c, stride));
}

/// Computes C ← C + factor · A Aᵀ on and below the diagonal; values above it are undefined afterwards.
pub fn add_square(factor: f64, a: View<'_>, c: &mut [f64], stride: usize) {
    let large = a.rows * a.rows * a.columns >= 2 * LARGE;
    for_tiles(large, c, stride, |first, c| {
        let rows = a.rows(first, TILE);
        dgemm(factor, rows, a.rows(0, first + rows.rows).transpose(), 1.0, c, stride);
    });
}

pub fn zeros<T: Copy + Default>(count: usize) -> Vec<T> {
    std::iter::repeat_n(T::default(), count).collect()
}

/// Copies the part below the diagonal of a matrix of `size` rows above it.
pub fn mirror(matrix: &mut [f64], size: usize) {
    for first in (0..size).step_by(COLUMNS) {
        for i in 0..size.min(first + COLUMNS) {
            for j in first.max(i + 1)..size.min(first + COLUMNS) {
                matrix[i * size + j] = matrix[j * size + i];
            }
        }
    }
}

#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.0.iter().zip(b.0) {
        (0..8).for_each(|i| sums[i] += a[i] * b[i]);
    }
    sums.iter().sum::<f64>() + a.1.iter().zip(b.1).map(|(a, b)| a * b).sum::<f64>()
}

pub(crate) fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Computes the product of a symmetric matrix with a vector; `triangle` has its rows, up to the diagonal.
pub fn product(triangle: &[f64], vector: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; vector.len()];
    let mut rest = triangle;
    for (i, &by) in vector.iter().enumerate() {
        let row = rest.split_off(..=i).expect("a triangle has as many rows");
        sum[i] += dot(row, &vector[..=i]);
        add_scaled(&mut sum[..i], by, row);
    }
    sum
}

/// Computes the products of such a matrix with eight vectors at once; zeros stand for those that are not needed.
pub fn products(triangle: &[f64], vectors: &[[f64; 8]]) -> Vec<[f64; 8]> {
    let mut sums = vec![[0.0; 8]; vectors.len()];
    let mut rest = triangle;
    for (i, by) in vectors.iter().enumerate() {
        let row = rest.split_off(..=i).expect("a triangle has as many rows");
        let (before, own) = sums.split_at_mut(i);
        let mut sum = own[0];
        for ((value, vector), other) in row.iter().zip(vectors).zip(before) {
            for at in 0..8 {
                sum[at] += value * vector[at];
                other[at] += value * by[at];
            }
        }
        own[0] = std::array::from_fn(|at| sum[at] + row[i] * by[at]);
    }
    sums
}

#[inline(always)]
pub fn add_scaled(row: &mut [f64], factor: f64, other: &[f64]) {
    row.iter_mut().zip(other).for_each(|(row, other)| *row += factor * other);
}

/// Computes C ← C − A B, where the rows of C start `stride` values apart.
pub(crate) fn subtract(a: View<'_>, b: View<'_>, c: &mut [f64], stride: usize) {
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

    fn naive(a: &[f64], b: &[f64], rows: usize, columns: usize) -> Vec<f64> {
        let inner = a.len() / rows;
        let entry = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum();
        (0..rows * columns).map(|at| entry(at / columns, at % columns)).collect()
    }

    fn transposed(a: &[f64], columns: usize) -> Vec<f64> {
        (0..a.len()).map(|at| a[at % (a.len() / columns) * columns + at / (a.len() / columns)]).collect()
    }

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
            let mut square = zeros(m * m);
            add_square(1.0, View::new(&a, m, k), &mut square, m);
            mirror(&mut square, m);
            assert_close(&square, &naive(&a, &transposed(&a, k.max(1)), m, m));
            let triangle: Vec<f64> = (0..m).flat_map(|i| square[i * m..][..=i].to_vec()).collect();
            let vectors = random(8 * m, 4);
            let sums = products(&triangle, vectors.as_chunks().0);
            assert_close(sums.as_flattened(), &naive(&square, &vectors, m, 8));
            assert_close(&super::product(&triangle, &vectors[..m]), &naive(&square, &vectors[..m], m, 1));
        }
    }

    #[test]
    fn factors_solve_and_invert() {
        for n in [1, 2, 7, 63, 64, 65, 130, 300] {
            let matrix = definite(n);
            let factor = Cholesky::new(n, |i, j| matrix[i * n + j]).unwrap();
            let wanted = random(n, 5);
            let mut right = naive(&matrix, &wanted, n, 1);
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
                [factor.inverse(), product].map(|values| values.into_iter().map(f64::to_bits))
            })
        });
        let [one, four] = results.map(|values| values.map(Iterator::collect::<Vec<u64>>));
        assert!(one == four);
    }
}
