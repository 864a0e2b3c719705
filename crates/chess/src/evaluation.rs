//! Interface between searches and static evaluations: a state that follows the moves, and a score.

use shakmaty::{Chess, Color, Move};

/// Negated score of being mated at the root, centipawns; being mated in `n` plies is `n` less.
pub const MATE_CP: i32 = 32_000;
/// Bound of all static evaluations, so that mates stay distinct.
pub const MAX_EVALUATION_CP: i32 = 30_000;

/// A static evaluation that is kept up to date move by move.
pub trait Evaluation {
    type State: Copy;

    type Cache: Default + Send;

    fn state(&self, position: &Chess) -> Self::State;

    /// Returns the state after `turn` has played the legal move `m`.
    fn after(&self, state: &Self::State, turn: Color, m: Move) -> Self::State;

    /// Returns centipawns from the view of the side to move, at most [`MAX_EVALUATION_CP`] either way.
    /// `state` belongs to `position`.
    fn score_stm(&self, state: &Self::State, position: &Chess) -> i32;

    /// Returns the same score if the state alone decides it, so that the position need not be known.
    fn score_of_state_stm(&self, _state: &Self::State, _turn: Color) -> Option<i32> {
        None
    }

    fn score_cached_stm(&self, state: &Self::State, position: &Chess, cache: &mut Self::Cache) -> i32;
}
