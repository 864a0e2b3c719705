//! A sample of the quiet positions that a search evaluates.

use shakmaty::Chess;
use shakmaty::zobrist::Zobrist64;

/// Positions of which quiescence asked for the static score, drawn by key: a position is drawn wherever it occurs, or
/// nowhere, so samples do not depend on the order of searches.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    /// One position in this many is drawn; 0 draws none.
    pub one_in: u64,
    /// The positions drawn since the last search began, each as often as it was evaluated.
    pub drawn: Vec<Chess>,
}

impl Leaves {
    /// Adds a position to the sample if its key is drawn.
    #[inline]
    pub fn meet(&mut self, key: Zobrist64, position: &Chess) {
        if self.one_in != 0 && is_drawn(key, self.one_in) {
            self.drawn.push(position.clone());
        }
    }
}

/// Returns true if one of `one_in` keys is drawn. Keys choose entries of the transposition table by other bits, so
/// they are mixed first.
fn is_drawn(key: Zobrist64, one_in: u64) -> bool {
    let mixed = (key.0 ^ (key.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 20).is_multiple_of(one_in)
}
