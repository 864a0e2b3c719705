//! Products of Gauss–Newton matrices with vectors, for methods that solve with matrices too large to compute.

use std::ops::Range;

use gputexel_dataset::Layout;
use gputexel_dataset::objective::LossKind;
use gputexel_io::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{Population, Request};

/// Computation to perform with the matrices H = Σ w h x xᵀ / Σ w of a population, per centipawn squared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductRequest {
    /// Consecutive parts of the layout to evaluate.
    pub parts: Range<usize>,
    pub loss: LossKind,
    /// A vector v for each member, concatenated (2 F values each), to compute H v; empty if no product is requested.
    pub vectors: Vec<f64>,
    /// Number of features whose values make up each block of the matrix, in the order of their ids; `None` if blocks
    /// are not requested.
    pub block: Option<usize>,
}

impl ProductRequest {
    pub fn validate(&self, layout: &Layout, population: &Population) -> Result<()> {
        let (parts, loss) = (self.parts.clone(), self.loss);
        Request { parts, loss, gradients: false, curvature: false }.validate(layout)?;
        if layout.program().is_some() {
            let reason = "products with Gauss-Newton matrices need scores that are sums of parameters";
            return Err(Error::Usage(reason.to_string()));
        }
        if self.block == Some(0) {
            return Err(Error::Usage("blocks of 0 features: must be 1 or more".to_string()));
        }
        let expected = 2 * population.features * population.members();
        match self.vectors.is_empty() || self.vectors.len() == expected {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "vectors of {} values for {} members of {} features",
                self.vectors.len(),
                population.members(),
                population.features
            ))),
        }
    }
}

/// Products and blocks for a population, in member order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Products {
    /// H v, 2 F values for each member; empty unless requested.
    pub products: Vec<f64>,
    /// For each member, the [blocks](ProductRequest::blocks) of H on its diagonal, concatenated: that of n features is
    /// a symmetric matrix of 2 n values per row, middlegame values before endgame values. Empty unless requested.
    pub blocks: Vec<f64>,
    /// Positions evaluated per member.
    pub positions: usize,
}

impl ProductRequest {
    pub fn blocks(&self, features: usize) -> Vec<Range<usize>> {
        let block = |size: usize| (0..features).step_by(size.max(1)).map(move |i| i..features.min(i + size));
        self.block.map_or_else(Vec::new, |size| block(size).collect())
    }
}

impl Products {
    pub fn check(&self, population: &Population, request: &ProductRequest) -> Result<()> {
        let squares =
            request.blocks(population.features).into_iter().map(|block| 4 * block.len() * block.len());
        let blocks = population.members() * squares.sum::<usize>();
        match self.products.len() == request.vectors.len() && self.blocks.len() == blocks {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "the evaluator answers with {} values of products and {} of blocks; {} and {blocks} were asked for",
                self.products.len(),
                self.blocks.len(),
                request.vectors.len()
            ))),
        }
    }
}
