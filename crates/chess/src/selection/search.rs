//! Searches that rules need.
//!
//! A position that is replaced by another keeps its label: the result of its game and its recorded
//! score. All rules, duplicates included, judge the position of the game.

use std::cell::RefCell;

use shakmaty::{Chess, Position};

use super::Resolve;
use crate::evaluation::Evaluation;
use crate::quiescence::{NodeLimit, Quiescence};

/// Number of nodes of quiescence after which a position is given up. Real ones take dozens, at worst some ten
/// thousand, and made-up ones could take hours.
pub const NODE_LIMIT: u64 = 100_000;

/// Searches of positions for a selection.
pub trait PositionSearch {
    /// Returns true if the quiescence score is within `margin_cp` of the static one.
    ///
    /// # Errors
    /// [`NodeLimit`] where the search is given up.
    fn is_quiet(&self, position: &Chess, margin_cp: u32) -> Result<bool, NodeLimit>;

    /// Returns the position that replaces `position`: the end of its principal variation, or the last
    /// position before a mate or stalemate, in which there is nothing to evaluate.
    ///
    /// # Errors
    /// [`NodeLimit`] where the search is given up.
    fn leaf(&self, position: &Chess, resolve: Resolve) -> Result<Chess, NodeLimit>;
}

impl<E: Evaluation> PositionSearch for RefCell<Quiescence<'_, E>> {
    fn is_quiet(&self, position: &Chess, margin_cp: u32) -> Result<bool, NodeLimit> {
        self.borrow_mut().is_quiet(position, i32::try_from(margin_cp).unwrap_or(i32::MAX))
    }

    fn leaf(&self, position: &Chess, resolve: Resolve) -> Result<Chess, NodeLimit> {
        let resolved = match resolve {
            Resolve::None => return Ok(position.clone()),
            Resolve::Quiescence => self.borrow_mut().resolve(position)?,
            Resolve::Depth1 => self.borrow_mut().resolve_depth1(position)?,
        };
        let over = if resolved.position.is_check() {
            resolved.position.legal_moves().is_empty()
        } else {
            crate::fen::is_stalemate(&resolved.position)
        };
        if !over {
            return Ok(resolved.position);
        }
        let mut last = position.clone();
        for &m in resolved.moves.split_last().map_or(&[][..], |(_, before)| before) {
            last.play_unchecked(m);
        }
        Ok(last)
    }
}
