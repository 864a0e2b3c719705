//! Training data: positions with scores and results as trainers of networks store them, most of it binary.
//!
//! Readers work on chunks of decompressed bytes, like those of texts, and know neither files nor threads.
//! [`Format::detect`] detects formats by their content, [`Format::read`] makes samples of a chunk, [`Writer`]
//! writes them. All numbers that are read are White's view, in whatever view a format stores them.

mod binpack;
mod bulletformat;
mod collector;
mod format;
mod json;
mod legality;
mod lichess;
mod marlinformat;
mod packed;
mod plain;
mod records;
mod texts;
mod viriformat;
mod writer;

pub use collector::Collector;
pub use format::Format;
pub(crate) use format::FormatSpec;
pub use writer::{Losses, Writer};

use crate::fen::{FenError, legal_position, parse_fen};
use crate::selection::Reason;
use shakmaty::{CastlingMode, Chess, Color};

/// Stockfish's number for "no score".
const NO_SCORE: i16 = 32_002;

/// Returns a stored score of the side to move, in White's view. Mates are beyond the bound of scores in texts
/// and stay unchanged, so that conversions are lossless.
fn white_score(score: i16, turn: Color) -> f32 {
    // Adding zero turns -0.0 into 0.0.
    turn.fold_wb(f32::from(score), -f32::from(score)) + 0.0
}

/// Converts a score in White's view to the stored one of the side to move.
fn stored_score(score_cp: f32, turn: Color) -> i16 {
    let white = score_cp.round() as i16;
    turn.fold_wb(white, white.saturating_neg())
}

/// Parses a position with nothing after it.
fn position(fen: &[u8]) -> Result<Chess, FenError> {
    let fen = fen.trim_ascii();
    let (setup, used) = parse_fen(fen)?;
    if used < fen.len() {
        return Err(FenError::Board);
    }
    legal_position(setup, CastlingMode::Chess960)
}

/// Returns the reason under which an unusable position is counted.
fn refusal(error: FenError) -> Reason {
    match error {
        FenError::Kings | FenError::Pawns | FenError::OppositeCheck => Reason::IllegalRecord,
        _ => Reason::BadRecord,
    }
}
