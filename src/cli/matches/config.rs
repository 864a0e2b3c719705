//! What a match plays, as its folder keeps it: everything that decides results, with checksums of
//! the files that it names.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel::matches::openings::Openings;
use gputexel::matches::statistics::Sprt;
use gputexel::matches::{Adjudication, Rules, TimeControl};
use gputexel::{Error, Result};
use serde::{Deserialize, Serialize};

use super::super::games::same;

const FORMAT: &str = "gputexel-match";
const VERSION: u32 = 1;

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    format: String,
    version: u32,
    /// The program's version, its command line and the day when the match began.
    pub gputexel: String,
    pub command_line: String,
    pub date: String,
    /// A and B.
    pub engines: [EngineConfig; 2],
    /// As on the command line, `nodes=5000`.
    pub limits: [String; 2],
    pub time_margin_ms: u64,
    pub deadline_ms: u64,
    pub adjudication: Adjudication,
    pub openings: OpeningsConfig,
    pub seed: u64,
    pub hash_mib: u32,
    pub sprt: Option<Sprt>,
    /// Where games go that do not go into the folder.
    pub pgn: Option<PathBuf>,
    /// Set when the match begins.
    pub games: u64,
    pub max_failures: u64,
}

/// One side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EngineConfig {
    pub name: String,
    pub kind: EngineKind,
    /// Parameters as `material` or an absolute path; a command line for UCI engines.
    pub source: String,
    /// xxh3 of the parameter file, where there is one.
    pub checksum: Option<String>,
    /// UCI options.
    pub options: Vec<(String, String)>,
}

/// Where an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    BuiltIn,
    Uci,
}

/// Where games begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningsConfig {
    /// `None` for random ones.
    pub file: Option<PathBuf>,
    /// xxh3 of the decompressed book.
    pub checksum: Option<String>,
    pub order: String,
    pub book_plies: u32,
}

impl Config {
    #[allow(clippy::too_many_arguments, reason = "it is called once, with what the flags say")]
    pub fn new(
        command_line: &str,
        engines: [EngineConfig; 2],
        limits: [TimeControl; 2],
        time_margin_ms: u64,
        deadline_ms: u64,
        adjudication: Adjudication,
        openings: OpeningsConfig,
        seed: u64,
        hash_mib: u32,
        sprt: Option<Sprt>,
        pgn: Option<PathBuf>,
    ) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: command_line.to_string(),
            date: jiff::Timestamp::now().strftime("%Y.%m.%d").to_string(),
            engines,
            limits: limits.map(|pace| pace.to_string()),
            time_margin_ms,
            deadline_ms,
            adjudication,
            openings,
            seed,
            hash_mib,
            sprt,
            pgn,
            games: 0,
            max_failures: 0,
        }
    }

    /// Refuses what another program or version wrote.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check(&self, folder: &Path) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            let found = format!("{} version {}", self.format, self.version);
            return Err(Error::input(folder, format!("its journal is {found}, expected {FORMAT} {VERSION}")));
        }
        Ok(())
    }

    /// The rules of its games.
    ///
    /// # Errors
    /// [`Error::Usage`] when a limit cannot be read.
    pub fn rules(&self) -> Result<Rules> {
        let [a, b] = &self.limits;
        Ok(Rules {
            paces: [a.parse()?, b.parse()?],
            time_margin: Duration::from_millis(self.time_margin_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        })
    }

    /// Reads the openings; notes the checksum of a book, or refuses one that has changed.
    ///
    /// # Errors
    /// Those of reading a book, and [`Error::Input`] when it is not the one that was noted.
    pub fn open_openings(&mut self) -> Result<Openings> {
        let Some(path) = &self.openings.file else { return Ok(Openings::generated(self.seed)) };
        let order = self.openings.order.parse()?;
        let openings = Openings::read(path, self.openings.book_plies, order, self.seed)?;
        if let Some(book) = openings.book() {
            same(path, &mut self.openings.checksum, &book.checksum, "match")?;
        }
        Ok(openings)
    }
}
