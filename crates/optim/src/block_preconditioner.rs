//! A preconditioner of blocks on the diagonal, each with its Cholesky factor.

use rayon::prelude::*;

use super::MatrixBlock;
use super::linalg::Cholesky;
use gputexel_io::{Error, Result};

/// Smallest damping, relative to the diagonal: the uncertainty of f32 sums.
const MIN_DAMPING: f64 = 1e-6;

#[derive(Clone, Debug)]
pub(crate) struct BlockPreconditioner {
    /// The diagonal of the matrix, without damping; 0 for a coordinate that occurs in no position.
    pub diagonal: Vec<f64>,
    factors: Vec<(Vec<u32>, Cholesky)>,
}

impl BlockPreconditioner {
    /// Factors the blocks of a matrix of `size` rows, after adding the damping, relative to the diagonal and its
    /// largest entry.
    pub(crate) fn try_new(size: usize, blocks: &[MatrixBlock], damping: f64) -> Result<Self> {
        let mut diagonal = vec![0.0; size];
        for MatrixBlock { coordinates, values } in blocks {
            let own = values.iter().step_by(coordinates.len() + 1);
            coordinates.iter().zip(own).for_each(|(&i, value)| diagonal[i as usize] = *value);
        }
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        let factor = |block: &MatrixBlock| {
            let factor = factor(block, damping.max(MIN_DAMPING), largest)?;
            Ok((block.coordinates.clone(), factor))
        };
        let factors = blocks.par_iter().map(factor).collect::<Result<_>>()?;
        Ok(Self { diagonal, factors })
    }

    pub(crate) fn solve(&self, vector: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; vector.len()];
        let solved: Vec<Vec<f64>> = self
            .factors
            .par_iter()
            .map(|(coordinates, factor)| {
                let mut own: Vec<f64> = coordinates.iter().map(|&i| vector[i as usize]).collect();
                factor.solve(&mut own);
                own
            })
            .collect();
        for ((coordinates, _), solved) in self.factors.iter().zip(solved) {
            coordinates.iter().zip(solved).for_each(|(&i, value)| out[i as usize] = value);
        }
        out
    }
}

fn factor(
    MatrixBlock { coordinates, values }: &MatrixBlock,
    mut damping: f64,
    largest: f64,
) -> Result<Cholesky> {
    let size = coordinates.len();
    if values.iter().any(|value| !value.is_finite()) {
        return Err(Error::Numeric("Gauss-Newton: the matrix is not finite".to_string()));
    }
    loop {
        let entry = |i: usize, j: usize| {
            let value = values[i * size + j];
            match i == j {
                true if value == 0.0 => 1.0,
                true => value + damping * (value + largest),
                false => value,
            }
        };
        match Cholesky::new(size, entry) {
            Some(factor) => return Ok(factor),
            None if damping < 1e6 => damping *= 10.0,
            None => {
                let reason = "Gauss-Newton: a block of the matrix is not positive definite";
                return Err(Error::Numeric(reason.to_string()));
            }
        }
    }
}
