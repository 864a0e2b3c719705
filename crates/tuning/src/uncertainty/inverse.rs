//! The inverse of a curvature matrix on the directions determined by the data.
//!
//! Some directions have no curvature: a constant added to all king squares changes no score. The matrix is
//! scaled to a diagonal of about one, so that rare features are not mistaken for such directions, and
//! inverted on the eigenvectors whose eigenvalue is not negligible (the Moore–Penrose inverse of the scaled
//! matrix); if no eigenvalue can be negligible, a Cholesky factorization suffices. Along a direction without
//! curvature this preserves the curvature-weighted mean of its parameters. Damping relative to the diagonal
//! does the same, so the inverse belongs to the solution that Gauss–Newton finds.

use faer::linalg::matmul::matmul;
use faer::linalg::solvers::DenseSolveCore;
use faer::{Accum, Mat, Par, Side};

use gputexel_files::{Error, Result};

/// Directions with an eigenvalue below this fraction of the largest one (of the scaled matrix) count as
/// undetermined. Rounding leaves 1e-14 where the true value is 0.
const NEGLIGIBLE: f64 = 1e-10;

/// A pseudo-inverse.
pub(super) struct Inverse {
    /// Symmetric, row-major; rows and columns of coordinates that are not free are 0.
    pub matrix: Vec<f64>,
    /// Number of directions without curvature, among the free coordinates.
    pub undetermined: usize,
    /// Number of directions of negative curvature among them.
    pub negative: usize,
}

/// Inverts the submatrix of the rows and columns `free` of a symmetric matrix with `size` rows, scaled by the
/// reciprocals of the positive `scale`.
///
/// # Errors
/// [`Error::Numeric`] when the matrix is not finite.
pub(super) fn invert(
    matrix: &[f64],
    size: usize,
    free: &[usize],
    scale: impl Fn(usize) -> f64,
) -> Result<Inverse> {
    let n = free.len();
    let mut inverse = Inverse { matrix: Vec::new(), undetermined: 0, negative: 0 };
    if n == 0 {
        inverse.matrix = vec![0.0; size * size];
        return Ok(inverse);
    }
    let scale: Vec<f64> = free.iter().map(|&i| scale(i).recip()).collect();
    let product = match definite(scaled(matrix, size, free, &scale)?) {
        Some(product) => product,
        None => {
            let (values, vectors) = decompose(matrix, size, free, &scale)?;
            let largest = values.iter().copied().fold(0.0, f64::max);
            let kept: Vec<usize> = (0..n).filter(|&i| values[i] > NEGLIGIBLE * largest).collect();
            inverse.undetermined = n - kept.len();
            inverse.negative = values.iter().filter(|&&value| value < -NEGLIGIBLE * largest).count();
            // Q Λ^−½; the inverse is its product with its transpose.
            let root = Mat::from_fn(n, kept.len(), |i, k| vectors[(i, kept[k])] / values[kept[k]].sqrt());
            drop(vectors);
            let mut product = Mat::zeros(n, n);
            matmul(&mut product, Accum::Replace, &root, root.transpose(), 1.0, Par::Seq);
            product
        }
    };
    inverse.matrix = vec![0.0; size * size];
    for (i, &row) in free.iter().enumerate() {
        for (j, &column) in free.iter().enumerate() {
            inverse.matrix[row * size + column] = product[(i, j)] * scale[i] * scale[j];
        }
    }
    Ok(inverse)
}

/// A positive definite curvature matrix for taking steps: the given one on the rows and columns `free` and 0
/// elsewhere; directions of negligible or negative curvature get the largest curvature (relative to `scale`)
/// instead, so that no step runs off along them.
///
/// # Errors
/// As [`invert`].
pub(super) fn positive(
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
    let (values, vectors) = decompose(matrix, size, free, &scale)?;
    let largest = values.iter().copied().fold(0.0, f64::max);
    let kept = |value: f64| if value > NEGLIGIBLE * largest { value } else { largest };
    let root = Mat::from_fn(free.len(), free.len(), |i, k| vectors[(i, k)] * kept(values[k]).sqrt());
    let mut product = Mat::zeros(free.len(), free.len());
    matmul(&mut product, Accum::Replace, &root, root.transpose(), 1.0, Par::Seq);
    for (i, &row) in free.iter().enumerate() {
        for (j, &column) in free.iter().enumerate() {
            out[row * size + column] = product[(i, j)] / (scale[i] * scale[j]);
        }
    }
    Ok(out)
}

/// The inverse of a matrix whose eigenvalues are all far above [`NEGLIGIBLE`], without an eigendecomposition,
/// which takes ten times as long and more memory; `None` if that cannot be guaranteed.
fn definite(matrix: Mat<f64>) -> Option<Mat<f64>> {
    let trace = |matrix: &Mat<f64>| (0..matrix.nrows()).map(|i| matrix[(i, i)]).sum::<f64>();
    let largest = trace(&matrix);
    let factor = matrix.llt(Side::Lower).ok()?;
    drop(matrix);
    let inverse = factor.inverse();
    // No eigenvalue is above the trace, and none below the reciprocal of the inverse's trace.
    (NEGLIGIBLE * largest * trace(&inverse) < 1.0).then_some(inverse)
}

/// Eigenvalues and eigenvectors of the scaled submatrix `free`, which is not empty.
fn decompose(matrix: &[f64], size: usize, free: &[usize], scale: &[f64]) -> Result<(Vec<f64>, Mat<f64>)> {
    let eigen = scaled(matrix, size, free, scale)?.self_adjoint_eigen(Side::Lower).map_err(|_| failed())?;
    Ok((eigen.S().column_vector().iter().copied().collect(), eigen.U().to_owned()))
}

fn failed() -> Error {
    Error::Numeric("standard errors: the curvature is not finite".to_string())
}

/// The submatrix of the rows and columns `free`, scaled.
fn scaled(matrix: &[f64], size: usize, free: &[usize], scale: &[f64]) -> Result<Mat<f64>> {
    if free.iter().any(|&i| free.iter().any(|&j| !matrix[i * size + j].is_finite())) {
        return Err(failed());
    }
    let entry = |i: usize, j: usize| matrix[free[i] * size + free[j]] * scale[i] * scale[j];
    Ok(Mat::from_fn(free.len(), free.len(), entry))
}
