//! Positions as text formats write them.

use crate::fen::{FenError, legal_position, parse_fen};
use crate::selection::Reason;
use shakmaty::{CastlingMode, Chess};

/// Parses a position with nothing after it.
pub(crate) fn position(fen: &[u8]) -> Result<Chess, FenError> {
    let fen = fen.trim_ascii();
    let (setup, used) = parse_fen(fen)?;
    if used < fen.len() {
        return Err(FenError::Board);
    }
    legal_position(setup, CastlingMode::Chess960)
}

/// Returns the reason under which an unusable position is counted.
pub(crate) fn refusal(error: FenError) -> Reason {
    match error {
        FenError::Kings | FenError::Pawns | FenError::OppositeCheck => Reason::IllegalRecord,
        _ => Reason::BadRecord,
    }
}
