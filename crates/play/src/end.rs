//! Ends of games: by the rules of chess, by adjudication, or by an engine's failure.

use serde::{Deserialize, Serialize};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, KnownOutcome, Position};

use super::player::{Failure, key};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Checkmate,
    Stalemate,
    Repetition,
    FiftyMoves,
    InsufficientMaterial,
    AdjudicatedDraw,
    AdjudicatedWin,
    TooLong,
    /// A loss regardless of the opponent's material, as in other match programs.
    TimeForfeit,
    IllegalMove,
    NoMove,
    Died,
    Hung,
}

impl End {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Checkmate => "mate",
            Self::Stalemate => "stalemate",
            Self::Repetition => "threefold repetition",
            Self::FiftyMoves => "fifty-move rule",
            Self::InsufficientMaterial => "insufficient material",
            Self::AdjudicatedDraw => "draw adjudicated",
            Self::AdjudicatedWin => "win adjudicated",
            Self::TooLong => "maximal length",
            Self::TimeForfeit => "time forfeit",
            Self::IllegalMove => "illegal move",
            Self::NoMove => "no move",
            Self::Died => "engine died",
            Self::Hung => "engine hung",
        }
    }

    /// True if an engine failed, other than by exceeding its time.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::IllegalMove | Self::NoMove | Self::Died | Self::Hung)
    }

    pub fn termination(self) -> &'static str {
        match self {
            Self::Checkmate
            | Self::Stalemate
            | Self::Repetition
            | Self::FiftyMoves
            | Self::InsufficientMaterial => "normal",
            Self::AdjudicatedDraw | Self::AdjudicatedWin | Self::TooLong => "adjudication",
            Self::TimeForfeit => "time forfeit",
            Self::IllegalMove | Self::NoMove => "rules infraction",
            Self::Died | Self::Hung => "abandoned",
        }
    }
}

impl From<&Failure> for End {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::IllegalMove(_) => Self::IllegalMove,
            Failure::NoMove(_) | Failure::Leaf(..) => Self::NoMove,
            // Games with engines that were stopped are not finished.
            Failure::Died(_) | Failure::Extra(_) | Failure::NotStarted(_) | Failure::Stopped => Self::Died,
            Failure::Hung(..) => Self::Hung,
        }
    }
}

/// The end by the rules of chess. Mate on the board takes precedence.
pub(super) fn natural_end(position: &Chess, keys: &[Zobrist64]) -> Option<(KnownOutcome, End)> {
    let draw = |end| Some((KnownOutcome::Draw, end));
    if position.legal_moves().is_empty() {
        return match position.is_check() {
            true => Some((KnownOutcome::Decisive { winner: !position.turn() }, End::Checkmate)),
            false => draw(End::Stalemate),
        };
    }
    if position.is_insufficient_material() {
        return draw(End::InsufficientMaterial);
    }
    let (last, earlier) = keys.split_last()?;
    if earlier.iter().filter(|key| *key == last).count() >= 2 {
        return draw(End::Repetition);
    }
    if position.halfmoves() >= 100 {
        return draw(End::FiftyMoves);
    }
    None
}

/// Whether a game can begin with a position; the reason if not.
pub(super) fn playable(position: &Chess) -> Result<(), &'static str> {
    match natural_end(position, &[key(position)]) {
        None => Ok(()),
        Some((_, end)) => Err(match end {
            End::Checkmate => "the game is over: mate",
            End::Stalemate => "the game is over: stalemate",
            End::InsufficientMaterial => "the game is over: insufficient material",
            _ => "the game is over: 50 moves without capture or pawn move",
        }),
    }
}
