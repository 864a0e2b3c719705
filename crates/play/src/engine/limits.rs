//! Limits of a search, and its scores.

use std::time::Duration;

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Time left.
    pub remaining: Duration,
    /// Time added after each move.
    pub increment: Duration,
    /// Moves to the next time control; `None` if the time left is for the whole game.
    pub moves_to_go: Option<u32>,
}

/// Limits of a search; the first one that is reached ends it. Without any, only a stop does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of iterations of deepening.
    pub depth: Option<u32>,
    /// Largest number of positions searched.
    pub nodes: Option<u64>,
    /// Time for this move, to be used up.
    pub move_time: Option<Duration>,
    /// Time for the game.
    pub clock: Option<Clock>,
}

/// A score from the view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Centipawns.
    Centipawns(i32),
    /// Number of moves to mate of the side that mates, counted from 1; negative when the side to move is
    /// mated, 0 when it is mated already.
    Mate(i32),
}
