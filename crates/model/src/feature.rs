//! Features, rows of them, and arrangements.

use half::f16;
use serde::{Deserialize, Serialize};

pub const ROLE_NAMES: [&str; 6] = ["pawn", "knight", "bishop", "rook", "queen", "king"];

/// One tunable feature; it has a middlegame and an endgame parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// Unique name, such as `knight_f3` or `bishop`.
    pub name: String,
    /// The table it belongs to, such as `knight`.
    pub group: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeatureRow {
    /// Ids with coefficient +1, or all ids if there are coefficients.
    pub plus: Vec<u16>,
    /// Ids with coefficient −1.
    pub minus: Vec<u16>,
    /// Coefficients of `plus`, or empty for unit rows.
    pub coefficients: Vec<f16>,
    pub phase: u16,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    None,
    Board(Vec<Option<u32>>),
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
