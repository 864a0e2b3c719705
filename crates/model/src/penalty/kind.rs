//! The kinds of penalties.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyKind {
    /// The distance of every parameter from its prior.
    Ridge,
    /// The distance of a group's mean from that of its prior: of piece values, but not of squares from each
    /// other.
    Level,
    /// The distance of every parameter of a group from the group's mean; the mean itself is free.
    Mean,
    /// Differences between neighbors: squares a king's move apart, diagonal ones at half weight, and
    /// consecutive parameters of a line.
    Smooth,
    /// Second differences along ranks, files and lines: a constant slope is free.
    Bend,
    /// Differences between mirrored squares: files a to d with h to e.
    Mirror,
    /// The interaction of rank and file: a board that is a sum of one value for each rank and one for each
    /// file is free.
    Additive,
    /// Differences between the middlegame and the endgame value, relative to their mean in the group: the two
    /// are alike in shape.
    Phases,
}

gputexel_io::names!(
    PenaltyKind "penalty": Ridge "ridge", Level "level", Mean "mean", Smooth "smooth", Bend "bend", Mirror "mirror",
    Additive "additive", Phases "phases"
);

impl PenaltyKind {
    /// Its requirement on a group, as a noun phrase after "is".
    pub fn needs(self) -> &'static str {
        match self {
            Self::Ridge => "a group",
            Self::Level | Self::Mean => "a group of several features",
            Self::Smooth => "a board or a line",
            Self::Bend => "a board or a line of at least three features",
            Self::Mirror | Self::Additive => "a board",
            Self::Phases => "a group of several features with a middlegame and an endgame value",
        }
    }
}
