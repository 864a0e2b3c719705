//! Comments of games: the scores in them, and by which conventions a file writes these.

mod convention;
mod form;
mod scores;

pub(crate) use convention::ScoredPly;
pub use convention::{CommentTally, DetectedScores, ScoreConvention, ScoreTally};
pub use form::{ScoreForm, Spelling, WrittenScore};
pub use scores::{CommentScore, comment_score, evaluation_profile};
pub(crate) use scores::{has_profile, is_book};
