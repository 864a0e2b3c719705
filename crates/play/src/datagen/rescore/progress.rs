//! What is told of an engine's work.

use serde::Serialize;

/// How far an engine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Positions that it has scored, now or before.
    pub scored: u64,
    /// Of those, positions that an earlier process had it score.
    pub known: u64,
    /// Positions that it gave no score for.
    pub unscored: u64,
    /// Mates and stalemates, which the rules of chess score.
    pub ends: u64,
}

/// A position that an engine gave no score for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unscored {
    /// Its number among the positions that were to be scored, from 1.
    pub position: u64,
    /// The position.
    pub fen: String,
    /// What the engine did instead.
    pub reason: String,
}
