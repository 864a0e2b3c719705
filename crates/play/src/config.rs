//! What a match plays, as its folder keeps it: everything that decides results, with checksums of
//! the files that it names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::adjudication::Adjudication;
use super::game::Rules;
use super::journal::JOURNAL;
use super::openings::Openings;
use super::statistics::Sprt;
use gputexel_io::{Error, Result, check_replaceable};

const FORMAT: &str = "gputexel-match";
const VERSION: u32 = 1;

/// What the games of a match are an event of.
pub(crate) const EVENT: &str = "gputexel match";

/// How files of such games begin.
const FIRST_TAG: &str = "[Event \"gputexel match\"]";

/// The first line of a match's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchConfig {
    pub(crate) format: String,
    pub(crate) version: u32,
    /// The version of gputexel that began the match.
    pub gputexel: String,
    /// The command line that began the match; empty where there was none.
    pub command_line: String,
    /// The day when the match began, `2026.01.31`.
    pub date: String,
    /// A and B.
    pub engines: [EngineConfig; 2],
    /// What A and B may spend, such as `nodes=5000`; see [`TimeControl`](super::TimeControl).
    pub limits: [String; 2],
    /// How far a limit of time may be overstepped, milliseconds.
    pub time_margin_ms: u64,
    /// After which time an engine without a clock counts as hung, milliseconds.
    pub deadline_ms: u64,
    /// Early ends.
    pub adjudication: Adjudication,
    /// Where games begin.
    pub openings: OpeningsConfig,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// When to stop early.
    pub sprt: Option<Sprt>,
    /// Where games go that do not go into the folder.
    pub pgn: Option<PathBuf>,
    /// Games at most, when the match began.
    pub games: u64,
    /// Games that may end by failing engines, when the match began.
    pub max_failures: u64,
}

/// One side of a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// Its name in games and reports; of a UCI engine that was not given one, empty until it runs.
    pub name: String,
    /// Where it runs.
    pub kind: EngineKind,
    /// Parameters as `material` or an absolute path; a command line for UCI engines.
    pub source: String,
    /// xxh3 of the parameter file, where there is one.
    pub checksum: Option<String>,
    /// UCI options, by name and value.
    pub options: Vec<(String, String)>,
}

/// Where an engine runs.
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

/// Where games begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningsConfig {
    /// A book; `None` for random, balanced openings.
    pub file: Option<PathBuf>,
    /// xxh3 of the decompressed book.
    pub checksum: Option<String>,
    /// The name of an [`Order`](super::openings::Order).
    pub order: String,
    /// Of PGN books: plies of each game.
    pub book_plies: u32,
}

impl MatchConfig {
    /// A match that begins today, by rules that are all still the usual ones.
    pub(crate) fn new(engines: [EngineConfig; 2], openings: OpeningsConfig) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: String::new(),
            date: jiff::Timestamp::now().strftime("%Y.%m.%d").to_string(),
            engines,
            limits: Default::default(),
            time_margin_ms: 0,
            deadline_ms: 0,
            adjudication: Adjudication::default(),
            openings,
            seed: 1,
            hash_mib: 4,
            sprt: None,
            pgn: None,
            games: 0,
            max_failures: 0,
        }
    }

    /// Refuses what another program or version wrote.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub(crate) fn check(&self, folder: &Path) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            let found = format!("{} version {}", self.format, self.version);
            return Err(Error::input(folder, format!("its journal is {found}, expected {FORMAT} {VERSION}")));
        }
        Ok(())
    }

    /// Refuses to resume where the file of games holds something else by now.
    ///
    /// # Errors
    /// [`Error::Input`], [`Error::Io`].
    pub(crate) fn check_games(&self, folder: &Path) -> Result<()> {
        let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
        self.pgn.as_ref().map_or(Ok(()), |pgn| check_replaceable(&folder.join(JOURNAL), pgn, is_ours))
    }

    /// The rules of its games.
    ///
    /// # Errors
    /// [`Error::Usage`] when a limit cannot be read.
    pub fn rules(&self) -> Result<Rules> {
        let [a, b] = &self.limits;
        Ok(Rules {
            time_controls: [a.parse()?, b.parse()?],
            time_margin: Duration::from_millis(self.time_margin_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        })
    }

    /// Reads the openings; notes the checksum of a book, or refuses one that has changed.
    ///
    /// # Errors
    /// Those of reading a book, and [`Error::Input`] when it is not the one that was noted.
    pub(crate) fn open_openings(&mut self) -> Result<Openings> {
        let Some(path) = &self.openings.file else { return Ok(Openings::generated(self.seed)) };
        let order = self.openings.order.parse()?;
        let openings = Openings::read(path, self.openings.book_plies, order, self.seed)?;
        if let Some(book) = openings.book() {
            check_checksum(path, &mut self.openings.checksum, &book.checksum, "match")?;
        }
        Ok(openings)
    }
}

/// Notes a checksum, or compares it with the one that was noted when the `what` (such as a match)
/// began.
///
/// # Errors
/// [`Error::Input`] when it is another.
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
