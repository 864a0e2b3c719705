//! Products of Gauss–Newton matrices with vectors of z, and blocks of the matrices, regularization included.

use std::ops::Range;

use gputexel_dataset::objective::Objective;
use gputexel_eval::{Evaluator, Population, ProductRequest};
use gputexel_io::Result;
use gputexel_model::Parameterization;
use gputexel_optim::{MatrixBlock, ProductAnswer, ProductProposal};

use super::training::Problem;

/// Maximum number of features in a block: those of piece-square tables, whose factors are computed in milliseconds.
const MAX_BLOCK: usize = 384;
/// Maximum number of pairs of features in all blocks: 160 MiB for the matrices, and the same for their factors.
const MAX_PAIRS: usize = 5 << 20;

fn block_size(features: usize) -> usize {
    (MAX_PAIRS / features.max(1)).clamp(1, MAX_BLOCK)
}

impl Problem {
    pub(super) fn products(
        &self,
        evaluator: &mut dyn Evaluator,
        question: &ProductProposal,
        objective: Objective,
        parts: Range<usize>,
    ) -> Result<ProductAnswer> {
        let (basis, regularization) = (&self.parameterization, &self.regularization);
        let features = basis.parameters() / 2;
        let theta = basis.theta(&question.parameters);
        let population = Population::new(features, theta, vec![objective.k]);
        let request = ProductRequest {
            parts,
            loss: objective.loss,
            vectors: basis.push_directions(&question.vectors),
            block: question.blocks.then(|| block_size(features)),
        };
        let mut answer = evaluator.products(&population, &request)?;
        if !request.vectors.is_empty() {
            regularization.add_product(&mut answer.products, &request.vectors);
        }
        let products = basis.pull_gradients(&answer.products);
        let mut rest = &mut answer.blocks[..];
        let block = |range: &Range<usize>| {
            let phase = |offset: usize| range.clone().map(move |feature| (offset + feature) as u32);
            let coordinates: Vec<u32> = phase(0).chain(phase(features)).collect();
            let values =
                rest.split_off_mut(..coordinates.len().pow(2)).map_or_else(Vec::new, |own| own.to_vec());
            MatrixBlock { coordinates, values }
        };
        let mut blocks: Vec<MatrixBlock> = request.blocks(features).iter().map(block).collect();
        blocks.iter_mut().for_each(|block| regularization.add_block(&mut block.values, &block.coordinates));
        let blocks = question.blocks.then(|| pull_blocks(basis, blocks));
        Ok(ProductAnswer { products, blocks })
    }
}

/// Computes blocks of Bᵀ H B, if H only has blocks: one for the coordinates whose first parameter belongs to the same
/// block of H.
fn pull_blocks(basis: &Parameterization, blocks: Vec<MatrixBlock>) -> Vec<MatrixBlock> {
    if basis.is_identity() {
        return blocks;
    }
    // Block of each parameter and of each coordinate, and index in it.
    let mut places = vec![(0, 0); basis.parameters()];
    for (number, block) in blocks.iter().enumerate() {
        block.coordinates.iter().enumerate().for_each(|(at, &i)| places[i as usize] = (number, at));
    }
    let mut pulled: Vec<MatrixBlock> =
        blocks.iter().map(|_| MatrixBlock { coordinates: Vec::new(), values: Vec::new() }).collect();
    for (coordinate, column) in basis.columns.iter().enumerate() {
        let first = column.first().map_or(0, |&(index, _)| places[index as usize].0);
        pulled[first].coordinates.push(coordinate as u32);
    }
    for MatrixBlock { coordinates, values } in &mut pulled {
        // Factors on parameters by block of H, so that pairs of different blocks are never visited.
        let columns: Vec<Vec<(usize, usize, f64)>> = coordinates
            .iter()
            .map(|&coordinate| {
                let column = basis.columns[coordinate as usize].iter();
                let place = |&(index, factor): &(u32, f64)| {
                    let (block, at) = places[index as usize];
                    (block, at, factor)
                };
                column.map(place).collect()
            })
            .collect();
        let size = columns.len();
        values.resize(size * size, 0.0);
        for i in 0..size {
            for j in 0..=i {
                let mut sum = 0.0;
                for &(block, row, x) in &columns[i] {
                    let MatrixBlock { coordinates, values } = &blocks[block];
                    for &(_, column, y) in columns[j].iter().filter(|entry| entry.0 == block) {
                        sum += x * y * values[row * coordinates.len() + column];
                    }
                }
                (values[i * size + j], values[j * size + i]) = (sum, sum);
            }
        }
    }
    pulled.retain(|block| !block.coordinates.is_empty());
    pulled
}
