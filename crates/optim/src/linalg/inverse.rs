//! The inverse of a curvature matrix on the directions determined by the data.

use super::eigen::Eigen;
use super::{Cholesky, View, add_square, mirror};
use gputexel_io::{Error, Result};

/// Directions with an eigenvalue below this fraction of the largest one (of the scaled matrix) count as undetermined.
const NEGLIGIBLE: f64 = 1e-10;

pub struct Inverse {
    /// Symmetric, row-major; rows and columns of coordinates that are not free are 0.
    pub matrix: Vec<f64>,
    pub undetermined: usize,
    pub negative: usize,
}

/// Inverts the submatrix of the rows and columns `free` of a symmetric matrix with `size` rows, scaled by the
/// reciprocals of the positive `scale`.
pub fn invert(matrix: &[f64], size: usize, free: &[usize], scale: impl Fn(usize) -> f64) -> Result<Inverse> {
    let n = free.len();
    let mut inverse = Inverse { matrix: Vec::new(), undetermined: 0, negative: 0 };
    if n == 0 {
        inverse.matrix = vec![0.0; size * size];
        return Ok(inverse);
    }
    let scale: Vec<f64> = free.iter().map(|&i| scale(i).recip()).collect();
    let product = if let Some(product) = definite(scaled(matrix, size, free, &scale)?, n) {
        product
    } else {
        let Lifted { matrix: lifted, left_out, values, largest } = lift(matrix, size, free, &scale)?;
        inverse.undetermined = values.len();
        inverse.negative = values.iter().filter(|&&value| value < -NEGLIGIBLE * largest).count();
        if largest > 0.0 {
            let factor = Cholesky::new(n, |i, j| lifted[i * n + j]).ok_or_else(failed)?;
            drop(lifted);
            let mut product = factor.inverse();
            let left_out = View::new(&left_out, values.len(), n).transpose();
            add_square(-1.0 / largest, left_out, &mut product, n);
            mirror(&mut product, n);
            product
        } else {
            lifted
        }
    };
    inverse.matrix = vec![0.0; size * size];
    for (i, &row) in free.iter().enumerate() {
        for (j, &column) in free.iter().enumerate() {
            inverse.matrix[row * size + column] = product[i * n + j] * scale[i] * scale[j];
        }
    }
    Ok(inverse)
}

/// Returns a positive definite curvature matrix for taking steps: the given one on the rows and columns `free` and 0
/// elsewhere; directions of negligible or negative curvature get the largest curvature (relative to `scale`) instead,
/// so that no step runs off along them.
pub fn positive(
    matrix: &[f64],
    size: usize,
    free: &[usize],
    scale: impl Fn(usize) -> f64,
) -> Result<Vec<f64>> {
    let mut out = vec![0.0; size * size];
    if free.is_empty() {
        return Ok(out);
    }
    let scale: Vec<f64> = free.iter().map(|&i| scale(i).recip()).collect();
    let lifted = lift(matrix, size, free, &scale)?.matrix;
    for (i, &row) in free.iter().enumerate() {
        for (j, &column) in free.iter().enumerate() {
            out[row * size + column] = lifted[i * free.len() + j] / (scale[i] * scale[j]);
        }
    }
    Ok(out)
}

/// The inverse of a matrix whose eigenvalues are all far above [`NEGLIGIBLE`], without an eigendecomposition,
/// which takes many times as long; `None` if that cannot be guaranteed.
fn definite(matrix: Vec<f64>, n: usize) -> Option<Vec<f64>> {
    let trace = |matrix: &[f64]| matrix.iter().step_by(n + 1).sum::<f64>();
    let largest = trace(&matrix);
    let factor = Cholesky::new(n, |i, j| matrix[i * n + j])?;
    drop(matrix);
    let inverse = factor.inverse();
    // No eigenvalue is above the trace, and none below the reciprocal of the inverse's trace.
    (NEGLIGIBLE * largest * trace(&inverse) < 1.0).then_some(inverse)
}

/// A matrix in which directions of negligible or negative curvature get the largest curvature instead.
struct Lifted {
    /// Symmetric, row-major; 0 if no eigenvalue is positive.
    matrix: Vec<f64>,
    /// The eigenvectors of those directions, concatenated.
    left_out: Vec<f64>,
    values: Vec<f64>,
    largest: f64,
}

fn lift(matrix: &[f64], size: usize, free: &[usize], scale: &[f64]) -> Result<Lifted> {
    let n = free.len();
    let eigen = Eigen::new(scaled(matrix, size, free, scale)?, n).ok_or_else(failed)?;
    let largest = eigen.values.iter().copied().fold(0.0, f64::max);
    let is_left_out = |&i: &usize| eigen.values[i].is_nan() || eigen.values[i] <= NEGLIGIBLE * largest;
    let (places, kept): (Vec<usize>, Vec<usize>) = (0..n).partition(is_left_out);
    let values: Vec<f64> = places.iter().map(|&i| eigen.values[i]).collect();
    let left_out = eigen.vectors(&places);
    if largest == 0.0 {
        return Ok(Lifted { matrix: vec![0.0; n * n], left_out, values, largest });
    }
    // Scales each vector by the root of a value, for a sum of squares.
    let weighted = |vectors: &[f64], weight: &dyn Fn(usize) -> f64| -> Vec<f64> {
        vectors.iter().enumerate().map(|(at, entry)| entry * weight(at / n).sqrt()).collect()
    };
    let mut lifted;
    if values.iter().all(|value| -value <= largest) {
        let added = weighted(&left_out, &|i| largest - values[i]);
        drop(eigen);
        lifted = scaled(matrix, size, free, scale)?;
        add_square(1.0, View::new(&added, values.len(), n).transpose(), &mut lifted, n);
    } else {
        // Negative values that dwarf the positive ones would leave nothing but rounding of these: the sum of all
        // vectors' squares is 1, so the matrix follows from the positive ones alone.
        let removed = weighted(&eigen.vectors(&kept), &|i| largest - eigen.values[kept[i]]);
        lifted = vec![0.0; n * n];
        lifted.iter_mut().step_by(n + 1).for_each(|entry| *entry = largest);
        add_square(-1.0, View::new(&removed, kept.len(), n).transpose(), &mut lifted, n);
    }
    mirror(&mut lifted, n);
    Ok(Lifted { matrix: lifted, left_out, values, largest })
}

fn failed() -> Error {
    Error::Numeric("standard errors: the curvature is not finite".to_string())
}

fn scaled(matrix: &[f64], size: usize, free: &[usize], scale: &[f64]) -> Result<Vec<f64>> {
    if free.iter().any(|&i| free.iter().any(|&j| !matrix[i * size + j].is_finite())) {
        return Err(failed());
    }
    let scaled = free.iter().zip(scale).flat_map(|(&row, by)| {
        free.iter()
            .zip(scale)
            .map(move |(&column, scale)| matrix[row.max(column) * size + row.min(column)] * by * scale)
    });
    Ok(scaled.collect())
}
