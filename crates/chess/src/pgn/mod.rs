//! Games in portable game notation.

mod game;
mod lenient_moves;
mod moves;
mod replay;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod text_cursor;

pub use crate::comments::{
    CommentScore, CommentTally, DetectedScores, ScoreConvention, ScoreForm, ScoreTally, Spelling,
    WrittenScore, comment_score,
};
pub use replay::read_pgn;
pub use split::{is_tag_pair, last_game_start};
