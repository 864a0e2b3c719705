//! A sample of the quiet positions that a search evaluates.

use gputexel_chess::fen::{FenError, legal_position, parse_fen};
use shakmaty::zobrist::Zobrist64;
use shakmaty::{CastlingMode, Chess};

/// Positions of which quiescence asked for the static score, drawn by key, so that samples do not depend on the
/// order of searches.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    one_in: u64,
    /// Since the last search began, each as often as it was evaluated.
    pub drawn: Vec<Chess>,
}

impl Leaves {
    pub fn new(one_in: u64) -> Self {
        Self { one_in, drawn: Vec::new() }
    }

    #[inline]
    pub fn meet(&mut self, key: Zobrist64, position: &Chess) {
        if self.one_in != 0 && is_drawn(key, self.one_in) {
            self.drawn.push(position.clone());
        }
    }
}

/// The FEN in a line `info string leaf FEN`.
pub(crate) fn shown_leaf(line: &str) -> Option<&str> {
    let mut rest = line;
    for word in ["info", "string", "leaf"] {
        rest = rest.trim_start().strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']))?;
    }
    Some(rest.trim())
}

pub(crate) fn read_leaf(fen: &str, chess960: bool) -> Result<Chess, FenError> {
    legal_position(parse_fen(fen.as_bytes())?.0, CastlingMode::from_chess960(chess960))
}

/// True for one of `one_in` keys. Keys choose entries of the transposition table by other bits, so they are mixed
/// first.
fn is_drawn(key: Zobrist64, one_in: u64) -> bool {
    let mixed = (key.0 ^ (key.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20).is_multiple_of(one_in)
}
