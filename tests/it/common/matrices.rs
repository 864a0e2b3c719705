//! Small dense matrices with plain loops, to compare with.

/// Rows of equal length.
pub type Matrix = Vec<Vec<f64>>;

pub fn matrix(rows: usize, columns: usize, entry: impl Fn(usize, usize) -> f64) -> Matrix {
    (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect()
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = b.first().map_or(0, Vec::len);
    matrix(a.len(), columns, |i, j| a[i].iter().zip(b).map(|(a, row)| a * row[j]).sum())
}

pub fn transposed(a: &Matrix) -> Matrix {
    matrix(a.first().map_or(0, Vec::len), a.len(), |i, j| a[j][i])
}

/// The inverse, by elimination after Gauss and Jordan with row pivots.
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
            other.iter_mut().zip(&row).for_each(|(entry, own)| *entry -= factor * own);
        }
    }
    matrix(n, n, |i, j| rows[i][n + j])
}
