//! How scores are written in comments.

/// How a score is written, which decides which position it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreForm {
    /// `+0.35/12` and its kin: of the position before the move.
    Engine,
    /// `[%eval 0.35]`: of the position after the move.
    Eval,
    /// `wv=0.35`: of the position after the move, White's view by its name.
    White,
}

/// How the number of a score is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// With a decimal point: pawns.
    Decimal,
    /// Without one: centipawns, unless the file shows otherwise.
    Whole,
    /// A mate.
    Mate,
}

/// A score as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WrittenScore {
    /// Centipawns, in the view that the file takes.
    pub cp: f32,
    /// Which position it is of.
    pub form: ScoreForm,
    /// What its unit was told by.
    pub spelling: Spelling,
    /// Whether nothing else is written, neither a depth nor a key.
    pub alone: bool,
}
