//! Features, rows of them, and arrangements.

use half::f16;
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

/// One position as features. Reused between positions so that extraction does not allocate.
///
/// Unit rows list White's ids (coefficient +1) and Black's (−1). Columns of accumulators are listed with
/// White's, for either side. Coefficient rows have all ids in `plus`, one coefficient each, and an empty
/// `minus`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureRow {
    /// Ids with coefficient +1, or all ids if there are coefficients.
    pub plus: Vec<u16>,
    /// Ids with coefficient −1.
    pub minus: Vec<u16>,
    /// Coefficients of `plus`, or empty for unit rows.
    pub coefficients: Vec<f16>,
    /// Phase units, 0 to the maximum of the settings.
    pub phase: u16,
}

/// Arrangement of the features of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// No arrangement.
    None,
    /// On the squares of a board, a1, b1 … h8.
    Board(Vec<Option<u32>>),
    /// In lines. A feature may be in several of them.
    Lines(Vec<Vec<u32>>),
}

impl Arrangement {
    /// Describes it in one or two words, for lists: `board`, `line of 9` or `11 lines`; empty if there is
    /// none.
    pub fn summary(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Board(squares) => match squares.iter().flatten().count() {
                64 => "board".to_string(),
                count => format!("board of {count}"),
            },
            Self::Lines(lines) => match &lines[..] {
                [line] => format!("line of {}", line.len()),
                lines => format!("{} lines", lines.len()),
            },
        }
    }
}
