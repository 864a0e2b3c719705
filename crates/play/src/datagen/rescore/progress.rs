//! Reports of an engine's progress.

use serde::Serialize;

/// Progress of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Number of positions scored, including earlier runs.
    pub scored: u64,
    /// Of those, positions scored by an earlier process.
    pub known: u64,
    /// Number of positions for which it returned no score.
    pub unscored: u64,
    /// Mates and stalemates, which are scored by the rules of chess.
    pub ends: u64,
}

/// A position for which the engine returned no score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unscored {
    /// Its number among the positions to score, from 1.
    pub position: u64,
    /// The position.
    pub fen: String,
    /// Description of what the engine did instead.
    pub reason: String,
}
