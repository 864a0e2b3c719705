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

impl PenaltyKind {
    pub const ALL: [Self; 8] = [
        Self::Ridge,
        Self::Level,
        Self::Mean,
        Self::Smooth,
        Self::Bend,
        Self::Mirror,
        Self::Additive,
        Self::Phases,
    ];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ridge => "ridge",
            Self::Level => "level",
            Self::Mean => "mean",
            Self::Smooth => "smooth",
            Self::Bend => "bend",
            Self::Mirror => "mirror",
            Self::Additive => "additive",
            Self::Phases => "phases",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub fn names() -> String {
        let names = Self::ALL.map(Self::name);
        let [start @ .., last] = &names;
        format!("{} or {last}", start.join(", "))
    }

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

impl std::fmt::Display for PenaltyKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
