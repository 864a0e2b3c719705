//! Parameters of a schema, as written in its file.

use serde::{Deserialize, Serialize};

use gputexel_model::{Phases, Place};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or [middlegame, endgame]")]
pub enum Values {
    Both(f64),
    Each([f64; 2]),
}

impl Values {
    pub fn pair(self) -> [f64; 2] {
        match self {
            Self::Both(value) => [value; 2],
            Self::Each(pair) => pair,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priors(pub Vec<Values>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or the name of a line")]
pub enum LineRecord {
    Own(bool),
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of names or \"squares\"")]
pub enum NamesRecord {
    List(Vec<String>),
    Made(MadeNames),
}

impl Default for NamesRecord {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl NamesRecord {
    /// Returns true if there are none, so that parameters are numbered.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::List(names) if names.is_empty())
    }

    /// Returns the number of parameters that the names imply: a board of squares has 64 unless it declares
    /// otherwise.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::List(names) => names.len(),
            Self::Made(MadeNames::Squares) => 64,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MadeNames {
    /// `NAME_SQUARE` for each square of a table that has a board.
    Squares,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected an offset or a place in a source, FILE:LINE:COLUMN")]
pub enum At {
    Offset(u32),
    Source(String),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaParameter {
    /// May be left out where the source of the engine names it.
    #[serde(default)]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<u32>,
    /// For a parameter that an accumulator declares, its coefficient's offset from the accumulator's index, or the
    /// first offset of a table; for others, the place of the number in the engine's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// The index of the coefficient of its middlegame value alone, or the first index of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mg: Option<u32>,
    /// The index of the coefficient of its endgame value alone, or the first index of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eg: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Names of a table's parameters; if absent, they are numbered from 0.
    #[serde(default, skip_serializing_if = "NamesRecord::is_empty")]
    pub names: NamesRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Starting value, centipawns; 0 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Values>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priors: Option<Priors>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Values>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Values>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// True if only whole numbers are allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// The line in which its parameters follow those listed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineRecord>,
    /// The corner of the board on which a table begins: a1, h1, a8 or h8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// The place of a single parameter that is known otherwise than by a table; not in files.
    #[serde(skip)]
    pub place: Option<Place>,
}

impl SchemaParameter {
    pub(super) fn offset(&self) -> Option<u32> {
        match self.at {
            Some(At::Offset(offset)) => Some(offset),
            _ => None,
        }
    }

    pub(super) fn source(&self) -> Option<&str> {
        match &self.at {
            Some(At::Source(at)) => Some(at),
            _ => None,
        }
    }
}
