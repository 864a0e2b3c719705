//! What the rules of a match need of an engine, wherever it runs.

use std::time::Duration;

use shakmaty::{Chess, Move};

use crate::engine::{Limits, Score};

/// A game up to the move that is to be chosen.
#[derive(Clone, Debug)]
pub struct GameSoFar {
    /// Where the game began.
    pub start: Chess,
    /// Whether castling is written the way of Chess960.
    pub chess960: bool,
    /// The moves since, all legal.
    pub moves: Vec<Move>,
    /// The position after them.
    pub position: Chess,
    /// Times of both sides, White's first, where the game is played by the clock: left, increment.
    pub clocks: Option<[(Duration, Duration); 2]>,
}

/// A player's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A legal move.
    pub m: Move,
    /// The player's own score, if it gave one.
    pub score: Option<Score>,
    /// Depth that it reported last.
    pub depth: Option<u32>,
    /// Nodes that it reported last.
    pub nodes: Option<u64>,
}

/// Why there is no move. The player loses the game; the match decides whether to go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It played an illegal move.
    #[error("illegal move '{0}'")]
    IllegalMove(String),
    /// It played no move, such as `bestmove (none)`, where there are moves.
    #[error("no move: '{0}'")]
    NoMove(String),
    /// It gave the game up: a loss like any other.
    #[error("resigned: '{0}'")]
    Resigned(String),
    /// Its process ended or closed its pipes.
    #[error("died ({0})")]
    Died(String),
    /// It did not answer within the deadline.
    #[error("no answer within {:.1} s", .0.as_secs_f64())]
    Hung(Duration),
    /// It could not be started.
    #[error("cannot be started: {0}")]
    NotStarted(String),
    /// The user has asked to stop: no failure of the engine, and no reason to lose.
    #[error("was stopped")]
    Stopped,
}

/// An engine that takes part in games, one at a time.
pub trait Player: Send {
    /// Its name in reports and game records.
    fn name(&self) -> &str;

    /// Prepares for another game, and restarts the engine if it had failed.
    ///
    /// # Errors
    /// A [`Failure`] when the engine cannot be made ready.
    fn new_game(&mut self, chess960: bool) -> Result<(), Failure>;

    /// Takes in the position in which it is to choose next, before its clock starts; `choose` does so itself otherwise.
    ///
    /// # Errors
    /// A [`Failure`] as of `choose`.
    fn prepare(&mut self, _game: &GameSoFar, _limits: &Limits) -> Result<(), Failure> {
        Ok(())
    }

    /// Chooses a move; the caller measures the time. `deadline` is when an engine counts as hung,
    /// well after any limit in `limits`.
    ///
    /// # Errors
    /// A [`Failure`]; the player can be used again after [`new_game`](Self::new_game).
    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure>;
}
