//! Interface of an engine to the rules of a match, wherever it runs.

use std::time::Duration;

use shakmaty::{Chess, Move};

use crate::engine::{Limits, Score};

/// A game up to the move to choose.
#[derive(Clone, Debug)]
pub struct GameSoFar {
    /// Start position of the game.
    pub start: Chess,
    /// True if castling is written in Chess960 notation.
    pub chess960: bool,
    /// The moves since then, all legal.
    pub moves: Vec<Move>,
    /// The position after them.
    pub position: Chess,
    /// Remaining time and increment of both sides, White's first, if the game is played on the clock.
    pub clocks: Option<[(Duration, Duration); 2]>,
}

/// A player's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A legal move.
    pub m: Move,
    /// The player's own score, if it gave one.
    pub score: Option<Score>,
    /// Last reported depth.
    pub depth: Option<u32>,
    /// Last reported number of nodes.
    pub nodes: Option<u64>,
    /// Positions drawn from those that the search evaluated; see [`Contestant::draw_leaves`](crate::Contestant::draw_leaves).
    pub leaves: Vec<Chess>,
}

/// Reason why there is no move. The player loses the game; the match decides whether to continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It played an illegal move.
    #[error("illegal move '{0}'")]
    IllegalMove(String),
    /// It played no move, such as `bestmove (none)`, although there are legal ones.
    #[error("no move: '{0}'")]
    NoMove(String),
    /// It printed a leaf of its search whose FEN is not a position: the FEN, and what is wrong with it.
    #[error("'info string leaf {0}': {1}")]
    Leaf(String, &'static str),
    /// It resigned: a loss like any other.
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
    /// The user has requested to stop: not a failure of the engine, and no reason to lose.
    #[error("was stopped")]
    Stopped,
}

/// An engine that takes part in games, one at a time.
pub trait Player: Send {
    /// Returns its name in reports and game records.
    fn name(&self) -> &str;

    /// Prepares for another game, and restarts the engine if it had failed.
    ///
    /// # Errors
    /// A [`Failure`] when the engine cannot be prepared.
    fn new_game(&mut self, chess960: bool) -> Result<(), Failure>;

    /// Sends the position in which it is to choose next, before its clock starts; otherwise `choose` does so itself.
    ///
    /// # Errors
    /// A [`Failure`] as for `choose`.
    fn prepare(&mut self, _game: &GameSoFar, _limits: &Limits) -> Result<(), Failure> {
        Ok(())
    }

    /// Chooses a move; the caller measures the time. `deadline` is the time after which an engine counts as hung, well
    /// beyond any limit in `limits`.
    ///
    /// # Errors
    /// A [`Failure`]; the player can be used again after [`new_game`](Self::new_game).
    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure>;
}
