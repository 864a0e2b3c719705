//! Points of view of results and scores.

use serde::{Deserialize, Serialize};

/// Point of view of a number that is an expected score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PointOfView {
    /// White's.
    White,
    /// The side to move's.
    Stm,
}

impl PointOfView {
    /// Returns its name on command lines and in datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::White => "white",
            Self::Stm => "stm",
        }
    }
}

impl std::str::FromStr for PointOfView {
    type Err = gputexel_io::Error;

    fn from_str(text: &str) -> gputexel_io::Result<Self> {
        [Self::White, Self::Stm].into_iter().find(|view| view.name() == text).ok_or_else(|| {
            gputexel_io::Error::Usage(format!("point of view '{text}': expected white or stm"))
        })
    }
}
