//! Scores in the comments of games, and the conventions by which a file writes them.

mod convention;
mod form;
mod scores;

pub(crate) use convention::ScoredPly;
pub use convention::{CommentTally, DetectedScores, ScoreConvention, ScoreTally};
pub use form::{ScoreForm, Spelling, WrittenScore};
pub use scores::{CommentScore, comment_score, evaluation_profile};
pub(crate) use scores::{has_profile, is_book};
