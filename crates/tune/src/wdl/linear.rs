//! Symmetric systems of a handful of equations, row-major.

/// The Cholesky factor of a symmetric matrix after scaling its diagonal to 1; `None` unless the matrix is positive
/// definite to the precision of f64.
pub(crate) struct Cholesky {
    n: usize,
    lower: Vec<f64>,
    /// 1 / √ of the diagonal.
    scale: Vec<f64>,
}

/// Below this pivot, the matrix may be definite only because of rounding.
const PIVOT: f64 = 1e-12;

impl Cholesky {
    pub fn new(matrix: &[f64], n: usize) -> Option<Self> {
        let scale: Vec<f64> = (0..n).map(|i| 1.0 / matrix[i * n + i].sqrt()).collect();
        if !scale.iter().all(|s| s.is_finite()) {
            return None;
        }
        let mut lower = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let mut sum = matrix[i * n + j] * scale[i] * scale[j];
                for k in 0..j {
                    sum -= lower[i * n + k] * lower[j * n + k];
                }
                if i == j {
                    if sum.is_nan() || sum < PIVOT {
                        return None;
                    }
                    lower[i * n + i] = sum.sqrt();
                } else {
                    lower[i * n + j] = sum / lower[j * n + j];
                }
            }
        }
        Some(Self { n, lower, scale })
    }

    pub fn solve(&self, right: &[f64]) -> Vec<f64> {
        let n = self.n;
        let mut x: Vec<f64> = right.iter().zip(&self.scale).map(|(r, s)| r * s).collect();
        for i in 0..n {
            for k in 0..i {
                x[i] -= self.lower[i * n + k] * x[k];
            }
            x[i] /= self.lower[i * n + i];
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                x[i] -= self.lower[k * n + i] * x[k];
            }
            x[i] /= self.lower[i * n + i];
        }
        x.iter().zip(&self.scale).map(|(x, s)| x * s).collect()
    }

    /// Returns the inverse of the matrix.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.n;
        let columns: Vec<Vec<f64>> = (0..n)
            .map(|i| self.solve(&(0..n).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>()))
            .collect();
        columns.concat()
    }
}

/// Returns the product of two square matrices.
pub(crate) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut c = vec![0.0; n * n];
    for i in 0..n {
        for k in 0..n {
            for j in 0..n {
                c[i * n + j] += a[i * n + k] * b[k * n + j];
            }
        }
    }
    c
}

/// xᵀ A x.
pub(crate) fn quadratic(matrix: &[f64], x: &[f64]) -> f64 {
    let n = x.len();
    (0..n).map(|i| x[i] * (0..n).map(|j| matrix[i * n + j] * x[j]).sum::<f64>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved_and_singular_ones_refused() {
        let matrix = [4e6, 2e3, 0.0, 2e3, 5.0, 1e-3, 0.0, 1e-3, 2e-6];
        let factor = Cholesky::new(&matrix, 3).unwrap();
        let unit = product(&matrix, &factor.inverse(), 3);
        for i in 0..3 {
            for j in 0..3 {
                let want = f64::from(u8::from(i == j));
                let size = (matrix[i * 3 + i] / matrix[j * 3 + j]).sqrt();
                assert!((unit[i * 3 + j] - want).abs() < 1e-9 * size.max(1.0), "{unit:?}");
            }
        }
        assert!((quadratic(&matrix, &[1.0, 1.0, 0.0]) - (4e6 + 4e3 + 5.0)).abs() < 1e-6);
        assert!(Cholesky::new(&[1.0, 1.0, 1.0, 1.0], 2).is_none());
        assert!(Cholesky::new(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(&[0.0, 0.0, 0.0, 1.0], 2).is_none());
    }
}
