//! A sample of the quiet positions that a search evaluates.

use gputexel_chess::fen::{FenError, legal_position, parse_fen};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess};

/// Positions of which quiescence asked for the static score, drawn by key: a position is drawn wherever it occurs, or
/// nowhere, so samples do not depend on the order of searches.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// One position in this many is drawn; 0 draws none.
    pub one_in: u64,
    /// The positions drawn since the last search began, each as often as it was evaluated.
    pub drawn: Vec<Chess>,
}

impl Leaves {
    /// Draws one position in `one_in`; none if that is 0.
    pub fn of(one_in: u64) -> Self {
        Self { one_in, drawn: Vec::new() }
    }

    /// Adds a position to the sample if its key is drawn.
    #[inline]
    pub fn meet(&mut self, key: Zobrist64, position: &Chess) {
        if self.one_in != 0 && is_drawn(key, self.one_in) {
            self.drawn.push(position.clone());
        }
    }
}

/// Returns the FEN in the line by which a UCI engine shows a position that its search evaluates.
pub(crate) fn shown_leaf(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["info", "string", "leaf"] {
        rest = rest.trim_start().strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']))?;
    }
    Some(rest.trim())
}

/// Reads such a position.
///
/// # Errors
/// A [`FenError`] that names the field at fault, or says why the position is illegal.
pub(crate) fn read_leaf(fen: &str, chess960: bool) -> Result<Chess, FenError> {
    legal_position(parse_fen(fen.as_bytes())?.0, CastlingMode::from_chess960(chess960))
}

/// Returns true if one of `one_in` keys is drawn. Keys choose entries of the transposition table by other bits, so
/// they are mixed first.
fn is_drawn(key: Zobrist64, one_in: u64) -> bool {
    let mixed = (key.0 ^ (key.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20).is_multiple_of(one_in)
}
