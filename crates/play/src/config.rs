//! Configuration of a match in its folder: everything that determines results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::adjudication::Adjudication;
use super::game::Rules;
use super::journal::JOURNAL;
use super::openings::Openings;
use super::statistics::Sprt;
use gputexel_io::{Error, Result, check_replaceable, timestamp};

pub(crate) const FORMAT: &str = "gputexel-match";
const VERSION: u32 = 1;
pub(crate) const EVENT: &str = "gputexel match";
const FIRST_TAG: &str = "[Event \"gputexel match\"]";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    format: String,
    version: u32,
    pub gputexel: String,
    /// Command line that began the run; may be empty.
    pub command_line: String,
    /// `2026.01.31`.
    pub date: String,
}

impl RunHead {
    pub fn new(format: &str, command_line: &str) -> Self {
        Self {
            format: format.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: command_line.to_string(),
            date: timestamp()[..10].replace('-', "."),
        }
    }

    /// Refuses journals of other programs or versions.
    pub fn check(&self, format: &str, journal: &Path) -> Result<()> {
        if self.format == format && self.version == VERSION {
            return Ok(());
        }
        let found = format!("{} version {}", self.format, self.version);
        Err(Error::line(journal, 1, format!("is {found}, expected {format} {VERSION}")))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulesConfig {
    /// Tolerance of a time limit.
    pub time_margin_ms: u64,
    /// Time after which an engine without a clock counts as hung.
    pub deadline_ms: u64,
    pub adjudication: Adjudication,
    pub openings: OpeningsConfig,
}

impl RulesConfig {
    /// Returns the rules of games with these limits.
    pub fn rules(&self, [a, b]: [&str; 2]) -> Result<Rules> {
        Ok(Rules {
            time_controls: [a.parse()?, b.parse()?],
            time_margin: Duration::from_millis(self.time_margin_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        })
    }

    /// Records the checksum of a book, or refuses one that has changed since the `what` began.
    pub(crate) fn open_openings(&mut self, seed: u64, what: &str) -> Result<Openings> {
        let Some(path) = &self.openings.file else { return Ok(Openings::generated(seed)) };
        let order = self.openings.order.parse()?;
        let openings = Openings::read(path, self.openings.book_plies, order, seed)?;
        if let Some(book) = openings.book() {
            check_checksum(path, &mut self.openings.checksum, &book.checksum, what)?;
        }
        Ok(openings)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchConfig {
    #[serde(flatten)]
    pub head: RunHead,
    pub engines: [EngineConfig; 2],
    /// Limits of A and B, such as `nodes=5000`; see [`TimeControl`](super::TimeControl).
    pub limits: [String; 2],
    #[serde(flatten)]
    pub play: RulesConfig,
    pub seed: u64,
    pub hash_mib: u32,
    pub sprt: Option<Sprt>,
    /// File of the games, if not in the folder.
    pub pgn: Option<PathBuf>,
    pub games: u64,
    pub max_failures: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// Empty until it runs, for a UCI engine without a given name.
    pub name: String,
    pub kind: EngineKind,
    /// Parameters as `material` or an absolute path; a command line for UCI engines.
    pub source: String,
    /// xxh3 of the parameter file, if there is one.
    pub checksum: Option<String>,
    pub options: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    BuiltIn,
    Uci,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningsConfig {
    /// A book; `None` for random, balanced openings.
    pub file: Option<PathBuf>,
    /// xxh3 of the decompressed book.
    pub checksum: Option<String>,
    /// The name of an [`Order`](super::openings::Order).
    pub order: String,
    pub book_plies: u32,
}

impl MatchConfig {
    pub(crate) fn check(&self, folder: &Path) -> Result<()> {
        self.head.check(FORMAT, &folder.join(JOURNAL))
    }

    /// Refuses to resume if the file of games now has other contents.
    pub(crate) fn check_games(&self, folder: &Path) -> Result<()> {
        let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
        self.pgn.as_ref().map_or(Ok(()), |pgn| check_replaceable(&folder.join(JOURNAL), pgn, is_ours))
    }
}

/// Records a checksum, or compares it with the one recorded when the `what` (such as a match) began.
pub fn check_checksum(path: &Path, noted: &mut Option<String>, found: &str, what: &str) -> Result<()> {
    match noted {
        Some(noted) if noted != found => Err(Error::input(
            path,
            format!("has changed since the {what} started; restore the old file, or start a new {what}"),
        )),
        _ => {
            *noted = Some(found.to_string());
            Ok(())
        }
    }
}
