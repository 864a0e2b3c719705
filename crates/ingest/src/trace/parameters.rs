//! The parameters of a schema, as written in its file.
//!
//! Owns only the format; `compiled_schema` checks whether it makes sense.

use serde::{Deserialize, Serialize};

use gputexel_model::Phases;

/// One value for both phases, or one for each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or [middlegame, endgame]")]
pub enum Values {
    /// One value for both phases.
    Both(f64),
    /// Middlegame and endgame value.
    Each([f64; 2]),
}

impl Values {
    /// Middlegame and endgame.
    pub fn pair(self) -> [f64; 2] {
        match self {
            Self::Both(value) => [value; 2],
            Self::Each(pair) => pair,
        }
    }
}

/// Starting values of a parameter, or of each parameter of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priors(pub Vec<Values>);

/// The line that a parameter, or each parameter of a table, is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or the name of a line")]
pub enum LineRecord {
    /// Whether a table is a line of its own, which has the table's name.
    Own(bool),
    /// The line of that name.
    Named(String),
}

/// The names of a table's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of names or \"squares\"")]
pub enum NamesRecord {
    /// One for each.
    List(Vec<String>),
    /// Those that a word makes.
    Made(MadeNames),
}

impl Default for NamesRecord {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl NamesRecord {
    /// Whether there are none, so that parameters are numbered.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::List(names) if names.is_empty())
    }

    /// The number of parameters that they say a table has: a board of squares has 64 where it does not say otherwise.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::List(names) => names.len(),
            Self::Made(MadeNames::Squares) => 64,
        }
    }
}

/// Words that make names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeNames {
    /// `NAME_SQUARE` for each square of a table that has a board.
    Squares,
}

/// A parameter, or a table of consecutive parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaParameter {
    /// Its name, or that of the table.
    pub name: String,
    /// The table it belongs to; for a table, its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The index of its coefficient, or the first index of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Indices that share the parameter: their coefficients are added up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<u32>,
    /// For a parameter of an accumulator, its coefficient's place behind the accumulator's index, or the first
    /// place of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u32>,
    /// The index of the coefficient of its middlegame value alone, or the first index of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mg: Option<u32>,
    /// The index of the coefficient of its endgame value alone, or the first index of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eg: Option<u32>,
    /// Number of parameters in a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Names of a table's parameters; if absent, they are numbered from 0.
    #[serde(default, skip_serializing_if = "NamesRecord::is_empty")]
    pub names: NamesRecord,
    /// Which of its two values it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Starting value, centipawns; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Values>,
    /// Starting values of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priors: Option<Priors>,
    /// Lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Values>,
    /// Upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Values>,
    /// Whether it keeps its starting value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// Whether only whole numbers are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// The line in which its parameters follow those listed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineRecord>,
    /// The corner of the board on which a table begins: a1, h1, a8 or h8. Tables have all 64 squares, the first
    /// four of every rank (32), or all but the first and last rank (48).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
}
