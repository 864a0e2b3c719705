//! Small dense matrices, to compare with.

use gputexel::optimizer::linalg::{View, add_scaled, multiply};

pub type Matrix = Vec<Vec<f64>>;

pub fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect()
}

/// Loops of a development build would take minutes; those of the library are compared with them in its own tests.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = b.first().map_or(0, Vec::len);
    let mut values = vec![0.0; a.len() * columns];
    multiply(
        1.0,
        View::new(&a.concat(), a.len(), b.len()),
        View::new(&b.concat(), b.len(), columns),
        0.0,
        &mut values,
    );
    matrix(a.len(), columns, |i, j| values[i * columns + j])
}

pub fn transposed(a: &Matrix) -> Matrix {
    matrix(a.first().map_or(0, Vec::len), a.len(), |i, j| a[j][i])
}

pub fn inverse(a: &Matrix) -> Matrix {
    let n = a.len();
    let mut rows = matrix(n, 2 * n, |i, j| if j < n { a[i][j] } else { f64::from(u8::from(j == n + i)) });
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap();
        rows.swap(k, pivot);
        let value = rows[k][k];
        rows[k].iter_mut().for_each(|entry| *entry /= value);
        let row = rows[k].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = other[k];
            add_scaled(other, -factor, &row);
        }
    }
    matrix(n, n, |i, j| rows[i][n + j])
}
