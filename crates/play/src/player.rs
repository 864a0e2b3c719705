//! Interface of an engine to the rules of a match, wherever it runs.

use std::time::Duration;

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position};

use crate::engine::{Limits, Score};

#[derive(Clone, Debug)]
pub struct GameSoFar {
    pub start: Chess,
    /// True for castling in Chess960 notation.
    pub chess960: bool,
    pub moves: Vec<Move>,
    pub position: Chess,
    /// Of the positions since the last capture or pawn move, up to this one.
    pub keys: Vec<Zobrist64>,
    /// Remaining time and increment, White's first.
    pub clocks: Option<[(Duration, Duration); 2]>,
}

impl GameSoFar {
    pub fn at(start: Chess, chess960: bool) -> Self {
        let (position, keys) = (start.clone(), vec![key(&start)]);
        Self { start, chess960, moves: Vec::new(), position, keys, clocks: None }
    }

    /// `m` is legal.
    pub fn push(&mut self, m: Move) {
        self.position.play_unchecked(m);
        self.moves.push(m);
        // Positions before a capture or pawn move cannot recur.
        if self.position.halfmoves() == 0 {
            self.keys.clear();
        }
        self.keys.push(key(&self.position));
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub m: Move,
    /// The mover's view.
    pub score: Option<Score>,
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    /// Drawn from what the search evaluated.
    pub leaves: Vec<Chess>,
}

pub(super) fn key(position: &Chess) -> Zobrist64 {
    position.zobrist_hash(EnPassantMode::Legal)
}

/// Reason why there is no move. The player loses the game.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("illegal move '{0}'")]
    IllegalMove(String),
    /// Such as `bestmove (none)`, although there are legal moves.
    #[error("no move: '{0}'")]
    NoMove(String),
    /// A leaf of its search that is not a position: the FEN, and why.
    #[error("'info string leaf {0}': {1}")]
    Leaf(String, &'static str),
    #[error("died ({0})")]
    Died(String),
    /// The missing answer, and the time that was allowed for it.
    #[error("no {} within {:.1} s", .0, .1.as_secs_f64())]
    Hung(&'static str, Duration),
    /// It may go on for ever.
    #[error("prints more than {0} lines for {0} positions; it must print one number for each")]
    Extra(usize),
    #[error("cannot be started: {0}")]
    NotStarted(String),
    /// By the user: no reason to lose.
    #[error("was stopped")]
    Stopped,
}

pub trait Player: Send {
    fn name(&self) -> &str;

    /// Restarts the engine if it had failed.
    fn new_game(&mut self, chess960: bool) -> Result<(), Failure>;

    /// Sends the position before the clock starts.
    fn prepare(&mut self, _game: &GameSoFar, _limits: &Limits) -> Result<(), Failure> {
        Ok(())
    }

    /// The caller measures the time. After `deadline`, well beyond any limit, the engine counts as hung. Usable
    /// after a failure once [`new_game`](Self::new_game) was called.
    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure>;
}
