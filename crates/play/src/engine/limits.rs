//! Limits of a search, and its scores.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub remaining: Duration,
    pub increment: Duration,
    /// To the next time control; `None` if the time left is for the whole game.
    pub moves_to_go: Option<u32>,
}

/// The first that is reached ends the search. Without any, only a stop does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Iterations of deepening.
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    /// To be used up.
    pub move_time: Option<Duration>,
    pub clock: Option<Clock>,
}

/// From the view of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    Centipawns(i32),
    /// Moves to mate, counted from 1; negative when the side to move is mated, 0 when it is mated already.
    Mate(i32),
}
