//! Configuration of a match, as its folder keeps it: everything that determines results, with checksums of the files
//! that it names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::adjudication::Adjudication;
use super::game::Rules;
use super::journal::JOURNAL;
use super::openings::Openings;
use super::statistics::Sprt;
use gputexel_io::{Error, Result, check_replaceable};

/// Format of the journal of a match.
pub(crate) const FORMAT: &str = "gputexel-match";
const VERSION: u32 = 1;

/// Event tag of the games of a match.
pub(crate) const EVENT: &str = "gputexel match";

/// First line of files of such games.
const FIRST_TAG: &str = "[Event \"gputexel match\"]";

/// Start of the first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    format: String,
    version: u32,
    /// Version of gputexel that began the run.
    pub gputexel: String,
    /// Command line that began the run; may be empty.
    pub command_line: String,
    /// Start date, `2026.01.31`.
    pub date: String,
}

impl RunHead {
    /// Creates the head of a run that begins today.
    pub fn new(format: &str, command_line: &str) -> Self {
        Self {
            format: format.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: command_line.to_string(),
            date: jiff::Timestamp::now().strftime("%Y.%m.%d").to_string(),
        }
    }

    /// Refuses journals of other programs or versions.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check(&self, format: &str, journal: &Path) -> Result<()> {
        if self.format == format && self.version == VERSION {
            return Ok(());
        }
        let found = format!("{} version {}", self.format, self.version);
        Err(Error::line(journal, 1, format!("is {found}, expected {format} {VERSION}")))
    }
}

/// Rules and openings of games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RulesConfig {
    /// Tolerance of a time limit, milliseconds.
    pub time_margin_ms: u64,
    /// Time after which an engine without a clock counts as hung, milliseconds.
    pub deadline_ms: u64,
    /// Adjudication rules.
    pub adjudication: Adjudication,
    /// Openings of the games.
    pub openings: OpeningsConfig,
}

impl RulesConfig {
    /// Returns the rules of games with these limits.
    ///
    /// # Errors
    /// [`Error::Usage`] when a limit cannot be read.
    pub fn rules(&self, [a, b]: [&str; 2]) -> Result<Rules> {
        Ok(Rules {
            time_controls: [a.parse()?, b.parse()?],
            time_margin: Duration::from_millis(self.time_margin_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        })
    }

    /// Reads the openings; records the checksum of a book, or refuses one that has changed since the `what` began.
    ///
    /// # Errors
    /// Errors of reading a book, and [`Error::Input`] when it has changed.
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

/// The first line of a match's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchConfig {
    /// Its start.
    #[serde(flatten)]
    pub head: RunHead,
    /// A and B.
    pub engines: [EngineConfig; 2],
    /// Limits of A and B, such as `nodes=5000`; see [`TimeControl`](super::TimeControl).
    pub limits: [String; 2],
    /// Rules and openings.
    #[serde(flatten)]
    pub play: RulesConfig,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Test for stopping early.
    pub sprt: Option<Sprt>,
    /// File of the games, if not in the folder.
    pub pgn: Option<PathBuf>,
    /// Maximum number of games, as of the start.
    pub games: u64,
    /// Number of games that may end by engine failures, as of the start.
    pub max_failures: u64,
}

/// One side of a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// Its name in games and reports; empty until it runs for a UCI engine without a given name.
    pub name: String,
    /// Kind of engine.
    pub kind: EngineKind,
    /// Parameters as `material` or an absolute path; a command line for UCI engines.
    pub source: String,
    /// xxh3 of the parameter file, if there is one.
    pub checksum: Option<String>,
    /// UCI options, by name and value.
    pub options: Vec<(String, String)>,
}

/// Kind of engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The built-in engine, in this process, with tuned parameters.
    BuiltIn,
    /// Another program that speaks UCI.
    Uci,
    /// Another program that speaks xboard's protocol, version 2.
    Xboard,
}

/// Openings of games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningsConfig {
    /// A book; `None` for random, balanced openings.
    pub file: Option<PathBuf>,
    /// xxh3 of the decompressed book.
    pub checksum: Option<String>,
    /// The name of an [`Order`](super::openings::Order).
    pub order: String,
    /// Number of plies taken from each game of PGN books.
    pub book_plies: u32,
}

impl MatchConfig {
    /// Refuses configurations of other programs or versions.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub(crate) fn check(&self, folder: &Path) -> Result<()> {
        self.head.check(FORMAT, &folder.join(JOURNAL))
    }

    /// Refuses to resume if the file of games now has other contents.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Io`].
    pub(crate) fn check_games(&self, folder: &Path) -> Result<()> {
        let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
        self.pgn.as_ref().map_or(Ok(()), |pgn| check_replaceable(&folder.join(JOURNAL), pgn, is_ours))
    }
}

/// Records a checksum, or compares it with the one recorded when the `what` (such as a match) began.
///
/// # Errors
/// [`Error::Input`] when they differ.
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
