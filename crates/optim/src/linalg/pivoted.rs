//! A Cholesky factor whose smallest pivots come first.

/// Fraction of the largest diagonal entry that is added to every diagonal entry: the matrix has f32 products, and
/// directions without curvature must not decide.
const RIDGE: f64 = 1e-9;
/// Pivots below this fraction of their diagonal entry are rounding errors.
const MIN_PIVOT: f64 = 1e-6;

/// H = Rᵀ R with the smallest pivot first: row and column k belong to coordinate `order[k]`. Real coordinates precede
/// integer ones, so that they are solved for last.
pub fn sorted_cholesky(
    matrix: &[f64],
    n: usize,
    integer: &[bool],
    stop: &dyn Fn() -> bool,
) -> Option<(Vec<usize>, Vec<f64>)> {
    let mut rest = matrix.to_vec();
    let ridge = RIDGE * (0..n).map(|i| matrix[i * n + i]).fold(0.0, f64::max);
    for i in 0..n {
        rest[i * n + i] += if matrix[i * n + i] > 0.0 { ridge } else { 0.0 };
    }
    let mut left: Vec<usize> = (0..n).collect();
    let mut order = Vec::with_capacity(n);
    // Columns in coordinate order at first.
    let mut rows = vec![0.0; n * n];
    for k in 0..n {
        if stop() {
            return None;
        }
        let (at, &i) = left
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| {
                integer[**a].cmp(&integer[**b]).then(rest[**a * n + **a].total_cmp(&rest[**b * n + **b]))
            })
            .expect("n − k are left");
        left.remove(at);
        order.push(i);
        let square = rest[i * n + i];
        if square.is_nan() || square <= MIN_PIVOT * matrix[i * n + i] {
            continue; // no curvature of its own: a row of zeros
        }
        let pivot = square.sqrt();
        let row = &mut rows[k * n..][..n];
        row[i] = pivot;
        for &j in &left {
            row[j] = rest[i * n + j] / pivot;
        }
        for &a in &left {
            let factor = row[a];
            if factor != 0.0 {
                // Whole rows, eliminated columns included, because a loop without gaps is faster.
                rest[a * n..][..n].iter_mut().zip(&*row).for_each(|(rest, value)| *rest -= factor * value);
            }
        }
    }
    for row in rows.chunks_exact_mut(n) {
        let sorted: Vec<f64> = order.iter().map(|&i| row[i]).collect();
        row.copy_from_slice(&sorted);
    }
    Some((order, rows))
}
