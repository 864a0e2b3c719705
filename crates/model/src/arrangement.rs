//! How the features of a group are arranged: what neighbors what.

/// How the features of a group are arranged.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// Not at all.
    None,
    /// On the squares of a board, a1, b1 … h8.
    Board(Vec<Option<u32>>),
    /// In lines. A feature may be in several of them.
    Lines(Vec<Vec<u32>>),
}
