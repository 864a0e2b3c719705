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

gputexel_io::names!(PointOfView "point of view": White "white", Stm "stm");
