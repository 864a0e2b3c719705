//! Configuration of games as their journals have it: everything that determines results.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::adjudication::Adjudication;
use super::game::Rules;
use super::openings::Openings;
use super::statistics::Sprt;
use super::time_control::TimeControl;
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

    pub fn check(&self, format: &str, journal: &Path) -> Result<()> {
        if self.format == format && self.version == VERSION {
            return Ok(());
        }
        let found = format!("{} version {}", self.format, self.version);
        Err(Error::line(journal, 1, format!("is {found}, expected {format} {VERSION}")))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlayConfig {
    #[serde(flatten)]
    pub head: RunHead,
    pub limit: TimeControl,
    /// Time after which an engine without a clock counts as hung.
    pub deadline_ms: u64,
    pub adjudication: Adjudication,
    pub openings: OpeningsConfig,
    pub seed: u64,
    pub hash_mib: u32,
    pub games: u64,
}

impl PlayConfig {
    pub fn rules(&self) -> Rules {
        Rules {
            time_controls: [self.limit; 2],
            time_margin: self.limit.usual_margin(),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        }
    }

    /// Records the checksum of the book, or refuses one that has changed since the `what` began.
    pub(crate) fn open_openings(&mut self, what: &str) -> Result<Openings> {
        let OpeningsConfig { file, checksum, book_plies } = &mut self.openings;
        let openings = Openings::read(file.as_deref(), *book_plies, self.seed)?;
        let path = file.as_deref().unwrap_or(Path::new("the bundled book"));
        check_checksum(path, checksum, &openings.book().checksum, what)?;
        Ok(openings)
    }

    /// For a resumed run of which some were `played`.
    pub(crate) fn change_games(&mut self, games: u64, played: u64, folder: &Path, what: &str) -> Result<()> {
        if games < played {
            let reason = format!("{} already has {played}; a {what} can only be extended", folder.display());
            return Err(Error::setting("games", games, reason));
        }
        self.games = games;
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchConfig {
    #[serde(flatten)]
    pub play: PlayConfig,
    pub engines: [EngineConfig; 2],
    /// If it differs from A's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_b: Option<TimeControl>,
    pub sprt: Option<Sprt>,
    /// File of the games, if not in the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgn: Option<PathBuf>,
}

impl MatchConfig {
    /// Of A and B.
    pub fn limits(&self) -> [TimeControl; 2] {
        [self.play.limit, self.limit_b.unwrap_or(self.play.limit)]
    }

    pub(crate) fn rules(&self) -> Rules {
        let time_controls = self.limits();
        let time_margin = time_controls.iter().map(TimeControl::usual_margin).max().unwrap_or_default();
        Rules { time_controls, time_margin, ..self.play.rules() }
    }

    /// Refuses to resume if the file of games now has other contents.
    pub(crate) fn check_games(&self, journal: &Path) -> Result<()> {
        let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
        self.pgn.as_ref().map_or(Ok(()), |pgn| check_replaceable(journal, pgn, is_ours))
    }
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
    /// The name that a UCI engine gives in its answer to `uci`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    BuiltIn,
    Uci,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpeningsConfig {
    /// `None` for the bundled book.
    pub file: Option<PathBuf>,
    /// xxh3 of the decompressed book.
    pub checksum: Option<String>,
    pub book_plies: u32,
}

impl OpeningsConfig {
    pub fn describe(&self, seed: u64) -> String {
        match &self.file {
            Some(file) => format!("{}, seed {seed}", file.display()),
            None => format!("bundled book, seed {seed}"),
        }
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
