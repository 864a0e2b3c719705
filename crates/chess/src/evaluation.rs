//! What a search needs of a static evaluation: a state that follows the moves, and a score.
//!
//! Searches (quiescence here, the engine elsewhere) know no parameters;
//! models implement this trait.

use shakmaty::{Chess, Color, Move};

/// Score of being mated at the root, centipawns with the sign turned; being mated in `n` plies is
/// `n` less.
pub const MATE_CP: i32 = 32_000;

/// No static evaluation is larger than this, so that mates stand apart.
pub const MAX_EVALUATION_CP: i32 = 30_000;

/// A static evaluation that is kept up to date move by move.
pub trait Evaluation {
    /// What is carried from position to position, such as sums over the pieces.
    type State: Copy;

    /// What a search remembers of positions that it has evaluated, such as pawn structures. It belongs
    /// to one evaluation and changes no score.
    type Cache: Default + Send;

    /// The state of a position, from scratch.
    fn state(&self, position: &Chess) -> Self::State;

    /// The state after `turn` has played the legal move `m`.
    fn after(&self, state: &Self::State, turn: Color, m: Move) -> Self::State;

    /// Centipawns from the view of the side to move, at most [`MAX_EVALUATION_CP`] either way.
    /// `state` belongs to `position`.
    fn score_stm(&self, state: &Self::State, position: &Chess) -> i32;

    /// The same score where the state alone decides it, so that the position need not be known; `turn` is the side to
    /// move.
    fn score_of_state_stm(&self, _state: &Self::State, _turn: Color) -> Option<i32> {
        None
    }

    /// The same score, found faster with what is remembered.
    fn score_cached_stm(&self, state: &Self::State, position: &Chess, cache: &mut Self::Cache) -> i32;
}
