//! The journal of a run: what is played, pair by pair, so that a killed run can go on.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::config::{RunConfig, existing_games};
use crate::tuner::Perturbation;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{LogFile, Result, RunLog, check_replaceable};
use gputexel_play::{End, RunHead};

pub const JOURNAL: &str = "spsa.jsonl";
const FORMAT: &str = "gputexel-spsa";
pub(super) const EVENT: &str = "gputexel spsa";
const FIRST_TAG: &str = "[Event \"gputexel spsa\"]";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    #[serde(flatten)]
    pub head: RunHead,
    /// Names of the two sides' engines; the plus side's first.
    pub engines: [String; 2],
    /// xxh3 of their parameter files or programs, where there are some.
    pub checksums: [Option<String>; 2],
    /// xxh3 of the decompressed book, where there is one.
    pub book: Option<String>,
    pub config: RunConfig,
    /// First moves of the plus side's engine against itself under the starting values, which tell it from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_moves: Option<String>,
}

impl Header {
    pub fn new(command_line: &str, config: RunConfig) -> Self {
        Self {
            head: RunHead::new(FORMAT, command_line),
            engines: Default::default(),
            checksums: [None, None],
            book: None,
            config,
            first_moves: None,
        }
    }

    /// Refuses to resume where files of games or a log that the run writes hold something else by now.
    ///
    /// # Errors
    /// `Error::Input`, `Error::Io`.
    pub(super) fn check_outputs(&self, folder: &Path) -> Result<()> {
        let journal = folder.join(JOURNAL);
        let is_ours = |head: &[u8]| head.starts_with(FIRST_TAG.as_bytes());
        let games = self.config.games.pgn.as_deref().map(existing_games).unwrap_or_default();
        games.iter().try_for_each(|path| check_replaceable(&journal, path, is_ours))?;
        let log = self.config.games.log.as_ref();
        log.map_or(Ok(()), |log| check_replaceable(&journal, log, is_log))
    }
}

/// True if a file begins as a log of values, of which nothing but numbers and commas is written.
fn is_log(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let first = std::str::from_utf8(first).unwrap_or("?");
    first.split(',').all(|number| number.trim().parse::<f64>().is_ok())
}

/// Result of a game, from the plus side's view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GameNote {
    /// Half points of the plus side: 0, 1 or 2.
    pub half_points: u8,
    pub end: End,
    pub plies: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlayedPair {
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEvent {
    Pair(PlayedPair),
    /// A pair was spoiled by an engine that failed; it is played again with other values.
    Spoiled {
        k: u64,
        /// Side that failed: 0 for the plus side, 1 for the minus side.
        side: u8,
        why: String,
    },
}

pub type Events = Vec<(u64, RunEvent)>;

const LOG: LogFile = LogFile { name: JOURNAL, what: "run of SPSA" };

pub(super) fn create(lock: &FolderLock, header: &Header) -> Result<RunLog<RunEvent>> {
    RunLog::create(lock, LOG, header)
}

/// A last line that was cut off is removed: what it describes did not count yet.
///
/// # Errors
/// As [`read`]; `Error::Io` when it cannot be written.
pub(super) fn open(lock: &FolderLock) -> Result<(RunLog<RunEvent>, Header, Events)> {
    let mut events = Events::new();
    let check = |header: &Header| header.head.check(FORMAT, &LOG.path(lock.folder()));
    let (journal, header) = RunLog::open(lock, LOG, check, |line, event| {
        events.push((line.number, event));
        Ok(())
    })?;
    Ok((journal, header, events))
}

/// Reads a journal, which may be in use: its header, and what happened with the number of its line.
///
/// # Errors
/// `Error::Io`, or `Error::Input` when it is none, is of another version, or is damaged elsewhere than in a
/// last line that was cut off.
pub fn read(folder: &Path) -> Result<(Header, Events)> {
    let mut events = Events::new();
    let check = |header: &Header| header.head.check(FORMAT, &LOG.path(folder));
    let header = LOG.read(folder, check, |line, event| {
        events.push((line.number, event));
        Ok(())
    })?;
    Ok((header, events))
}
