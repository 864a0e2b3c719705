//! One feature.

use serde::{Deserialize, Serialize};

/// Names of the roles in feature order: pawn, knight, bishop, rook, queen, king.
pub const ROLE_NAMES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

/// One tunable feature; it has a middlegame and an endgame parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Unique name, such as `knight_f3` or `bishop`.
    pub name: String,
    /// The table it belongs to, such as `knight`.
    pub group: String,
}
