//! Formats of inputs by name.

use std::str::FromStr;

use gputexel_chess::formats::Format;
use gputexel_io::{Error, Result};

/// Format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Games in portable game notation.
    Pgn,
    /// Labeled positions, one per line.
    Text,
    /// Training data, nearly all of them binary.
    Training(Format),
}

impl InputFormat {
    /// Returns its name on command lines and in datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pgn => "pgn",
            Self::Text => "text",
            Self::Training(format) => format.name(),
        }
    }

    /// Returns all names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(Self::name)
    }

    fn all() -> impl Iterator<Item = Self> {
        [Self::Pgn, Self::Text].into_iter().chain(Format::ALL.map(Self::Training))
    }

    /// Returns the name of one of its records.
    pub fn record(self) -> &'static str {
        self.record_names()[0]
    }

    /// Returns the name of its records, in the plural.
    pub fn records(self) -> &'static str {
        self.record_names()[1]
    }

    /// Returns the names of one and of many of its records.
    fn record_names(self) -> [&'static str; 2] {
        match self {
            Self::Pgn | Self::Training(Format::Viriformat) => ["game", "games"],
            Self::Text | Self::Training(Format::Lichess) => ["line", "lines"],
            Self::Training(Format::Binpack | Format::Plain) => ["chain of moves", "chains of moves"],
            Self::Training(Format::Bulletformat | Format::Marlinformat) => ["record", "records"],
        }
    }

    /// Returns true if its positions come in games with their moves.
    pub fn has_moves(self) -> bool {
        match self {
            Self::Pgn => true,
            Self::Text => false,
            Self::Training(format) => format.has_games(),
        }
    }

    /// Returns true if offsets in it are bytes, not lines.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Training(format) if !format.is_text())
    }
}

impl FromStr for InputFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all().find(|format| format.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::names().collect();
            Error::Usage(format!("format '{text}': expected one of {}", names.join(", ")))
        })
    }
}
