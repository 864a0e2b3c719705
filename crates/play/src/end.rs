//! Ends of games: by the rules of chess, by adjudication, or by an engine's failure.

use serde::{Deserialize, Serialize};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, KnownOutcome, Position};

use super::player::Failure;

/// Reason why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The king is attacked and cannot be saved.
    Checkmate,
    /// No legal move, no check.
    Stalemate,
    /// Threefold repetition, with the same rights.
    Repetition,
    /// 100 plies without capture or pawn move.
    FiftyMoves,
    /// Neither side could mate, even with help.
    InsufficientMaterial,
    /// Both engines reported scores near 0.
    AdjudicatedDraw,
    /// Both engines agreed on the winner.
    AdjudicatedWin,
    /// Maximum length of the match's games; a draw.
    TooLong,
    /// The flag fell. A loss regardless of the opponent's material, as in other match programs.
    TimeForfeit,
    /// An engine resigned.
    Resignation,
    /// An illegal move.
    IllegalMove,
    /// No move although there are legal ones.
    NoMove,
    /// The engine ended.
    Died,
    /// The engine did not answer.
    Hung,
}

impl End {
    /// Describes the end for tables.
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
            Self::Resignation => "resignation",
            Self::IllegalMove => "illegal move",
            Self::NoMove => "no move",
            Self::Died => "engine died",
            Self::Hung => "engine hung",
        }
    }

    /// Returns true if an engine failed, other than by exceeding its time.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::IllegalMove | Self::NoMove | Self::Died | Self::Hung)
    }

    /// Returns the value of the PGN tag Termination, as defined by the standard.
    pub fn termination(self) -> &'static str {
        match self {
            Self::Checkmate
            | Self::Stalemate
            | Self::Repetition
            | Self::FiftyMoves
            | Self::InsufficientMaterial
            | Self::Resignation => "normal",
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
            Failure::Resigned(_) => Self::Resignation,
            // Games with engines that were stopped are not finished.
            Failure::Died(_) | Failure::NotStarted(_) | Failure::Stopped => Self::Died,
            Failure::Hung(_) => Self::Hung,
        }
    }
}

/// Returns the end by the rules of chess. Mate on the board takes precedence.
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

/// Returns the key that identifies positions for repetitions.
pub(super) fn key(position: &Chess) -> Zobrist64 {
    position.zobrist_hash(EnPassantMode::Legal)
}

/// Checks that a game can begin with a position; returns the reason otherwise.
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
