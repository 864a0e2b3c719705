//! The journal of a run: what is played, pair by pair, so that a killed run can go on.
//!
//! `spsa.jsonl` holds the configuration in its first line and then a line for everything that
//! happened, in the order in which it counted. Values, log and pictures follow from it alone. One
//! process at a time writes it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Perturbation;
use crate::config::{RunConfig, existing_games};
use gputexel_files::folder_lock::FolderLock;
use gputexel_files::journal::{self, LineJournal, Place};
use gputexel_files::{Error, Recorded, Result, check_replaceable};
use gputexel_matches::End;
use gputexel_model::Prior;

/// The journal's name in its folder.
pub const JOURNAL: &str = "spsa.jsonl";

const FORMAT: &str = "gputexel-spsa";
const VERSION: u32 = 1;

/// What the games of a run are an event of.
pub(super) const EVENT: &str = "gputexel spsa";

/// How files of such games begin.
const FIRST_TAG: &str = "[Event \"gputexel spsa\"]";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    format: String,
    version: u32,
    /// The program's version, its command line and the day when the run began (`2026.01.31`).
    pub gputexel: String,
    /// As typed.
    pub command_line: String,
    /// `2026.01.31`
    pub date: String,
    /// Names of the two sides' engines; the plus side's first.
    pub engines: [String; 2],
    /// xxh3 of their parameter files or programs, where there are some.
    pub checksums: [Option<String>; 2],
    /// xxh3 of the decompressed book, where there is one.
    pub book: Option<String>,
    /// The configuration of the run.
    pub config: RunConfig,
}

impl Header {
    /// For a run that begins today.
    pub fn new(command_line: &str, config: RunConfig) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: command_line.to_string(),
            date: jiff::Timestamp::now().strftime("%Y.%m.%d").to_string(),
            engines: Default::default(),
            checksums: [None, None],
            book: None,
            config,
        }
    }
}

impl Header {
    /// What the journal in a folder names beyond the folder.
    ///
    /// # Errors
    /// [`Error::Input`] for files of games and logs that are there and hold something else, and for devices and pipes.
    pub fn recorded(&self, folder: &Path) -> Result<Recorded> {
        let journal = folder.join(JOURNAL);
        let mut recorded = Recorded::new(&journal);
        let RunConfig { engine, opponent, games, .. } = &self.config;
        for engine in std::iter::once(engine).chain(opponent) {
            engine.command.iter().for_each(|command| recorded.add_program(command));
            let files = engine.params.iter().filter(|params| !Prior::is_word(params));
            files.for_each(|params| recorded.add_read(params));
        }
        games.book.iter().for_each(|book| recorded.add_read(book));
        if let Some(pgn) = &games.pgn {
            let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
            let there = existing_games(pgn);
            let named = if there.is_empty() { vec![pgn.clone()] } else { there };
            named.iter().try_for_each(|path| check_replaceable(&journal, path, "pgn", is_ours))?;
            recorded.add_written(pgn);
        }
        if let Some(log) = &games.log {
            // Nothing but numbers and commas is ever written there, so it may be called anything.
            if log.exists() {
                check_replaceable(&journal, log, "", is_log)?;
            }
            recorded.add_written(log);
        }
        recorded.check()?;
        Ok(recorded)
    }
}

/// Whether a file begins as a log of values.
fn is_log(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = std::str::from_utf8(first).unwrap_or("?");
    first.split(',').all(|number| number.trim().parse::<f64>().is_ok())
}

/// How a game ended, by the plus side's view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameNote {
    /// Half points of the plus side: 0, 1 or 2.
    pub half_points: u8,
    /// Why it ended.
    pub end: End,
    /// Plies, those of the opening included.
    pub plies: u32,
}

/// A pair that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlayedPair {
    /// What was played.
    #[serde(flatten)]
    pub perturbation: Perturbation,
    /// The plus side has White in the first game, Black in the second.
    pub games: [GameNote; 2],
}

impl PlayedPair {
    /// Half points of the plus side, 0 to 4.
    pub fn half_points(&self) -> u8 {
        self.games.iter().map(|game| game.half_points.min(2)).sum()
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEvent {
    /// A pair was played and counts.
    Pair(PlayedPair),
    /// A pair was spoiled by an engine that failed; it is played again with other values.
    Spoiled {
        /// Its iteration.
        k: u64,
        /// Who failed: 0 for the plus side, 1 for the minus side.
        side: u8,
        /// How.
        why: String,
    },
    /// The run goes on with another number of iterations.
    Replan {
        /// N.
        iterations: u64,
        /// A.
        stability: f64,
    },
}

/// What happened, each with the number of its line.
pub type Events = Vec<(u64, RunEvent)>;

const fn place(folder: &Path) -> Place<'_> {
    Place { folder, name: JOURNAL, what: "run of SPSA" }
}

impl Header {
    /// Refuses what another program or version wrote.
    fn check(&self, folder: &Path) -> Result<()> {
        if self.format == FORMAT && self.version == VERSION {
            return Ok(());
        }
        let found = format!("{} version {}", self.format, self.version);
        Err(Error::line(place(folder).path(), 1, format!("is {found}, expected {FORMAT} {VERSION}")))
    }
}

/// An open journal.
#[derive(Debug)]
pub struct Journal(LineJournal);

impl Journal {
    /// Begins a journal in a folder that is locked, replacing one that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(lock: &FolderLock, header: &Header) -> Result<Self> {
        LineJournal::create(lock, place(lock.folder()), header).map(Self)
    }

    /// Opens a journal to continue it. A last line that was cut off is removed: what it describes did not
    /// count yet.
    ///
    /// # Errors
    /// Those of [`read`], [`Error::Io`] when it cannot be written.
    pub fn open(lock: &FolderLock) -> Result<(Self, Header, Events)> {
        let folder = lock.folder();
        let (journal, contents) =
            LineJournal::open(lock, place(folder), |header: &Header| header.check(folder))?;
        Ok((Self(journal), contents.header, contents.entries))
    }

    /// Adds what happened; once this returns, the end of the process does not lose it.
    ///
    /// # Errors
    /// [`Error::Io`]; those of [`check`](Self::check).
    pub fn append(&mut self, entry: &RunEvent) -> Result<()> {
        self.0.append(entry)
    }

    /// Sees to it that what was added is still there.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder or the journal was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }
}

/// Reads a journal, which may be in use: its header, and what happened with the number of its line.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is none, is of another version, or is damaged
/// elsewhere than in a last line that was cut off.
pub fn read(folder: &Path) -> Result<(Header, Events)> {
    let contents = journal::read(place(folder), |header: &Header| header.check(folder))?;
    Ok((contents.header, contents.entries))
}
