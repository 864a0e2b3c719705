//! Scores in the comments of games, and the conventions by which a file writes them.

mod convention;
mod scores;

pub(crate) use convention::ScoredPly;
pub use convention::{CommentTally, DetectedScores, ScoreConvention, ScoreTally};
pub(crate) use scores::is_book;
pub use scores::{CommentScore, comment_score};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreForm {
    /// `+0.35/12` and similar: of the position before the move.
    Engine,
    Eval,
    /// `wv=0.35`: of the position after the move, White's view by its name.
    White,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    Decimal,
    /// Without one: centipawns, unless the file shows otherwise.
    Whole,
    Mate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenScore {
    /// Centipawns, in the view that the file takes.
    pub cp: f32,
    pub form: ScoreForm,
    /// Spelling, which determines the unit.
    pub spelling: Spelling,
    /// True if nothing else is written, neither a depth nor a key.
    pub alone: bool,
}
