//! Requests for products of Gauss–Newton matrices, and their answers.

/// A point at which products of the Gauss–Newton matrix, or blocks for preconditioning, are needed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductProposal {
    pub parameters: Vec<f64>,
    /// A vector to be multiplied by the matrix; empty if no product is needed.
    pub vectors: Vec<f64>,
    /// True if blocks of the matrix are needed.
    pub blocks: bool,
}

/// The answer; parts that were not requested are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProductAnswer {
    pub products: Vec<f64>,
    pub blocks: Option<Vec<MatrixBlock>>,
}

/// A part of a matrix: the entries of some coordinates with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixBlock {
    /// The coordinates; blocks do not overlap.
    pub coordinates: Vec<u32>,
    /// The entries: symmetric, row-major, as many rows as coordinates.
    pub values: Vec<f64>,
}
