//! Techniques that a search uses. Tests turn them off to compare it with a plain minimax.

/// Techniques beyond alpha-beta.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Prunes or reduces unpromising moves: null move, futility, late moves, exchanges that lose material.
    pub selective: bool,
    /// Takes scores of positions that were met before from the table.
    pub table_scores: bool,
    /// Searches positions in check a ply deeper.
    pub extensions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { selective: true, table_scores: true, extensions: true }
    }
}
