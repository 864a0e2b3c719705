//! The journal of a run: what is played, pair by pair, so that a killed run can go on.
//!
//! `spsa.jsonl` holds the configuration in its first line and then a line for everything that
//! happened, in the order in which it counted. It is the only truth: values, log and pictures follow
//! from it. It belongs to one process at a time.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::matches::End;
use crate::spsa::Perturbation;
use crate::spsa::config::RunConfig;

/// The journal's name in its folder.
pub const JOURNAL: &str = "spsa.jsonl";

const FORMAT: &str = "gputexel-spsa";
const VERSION: u32 = 1;

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
    /// xxh3 of their parameter files, where there are some.
    pub checksums: [Option<String>; 2],
    /// xxh3 of the decompressed book, where there is one.
    pub book: Option<String>,
    /// What the run was told.
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
pub enum Entry {
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

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Begins a journal in an existing folder, replacing one that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(folder: &Path, header: &Header) -> Result<Self> {
        let path = folder.join(JOURNAL);
        let mut line = serde_json::to_vec(header).map_err(|e| Error::io(&path, e.into()))?;
        line.push(b'\n');
        // The first line is there as a whole or not at all: nothing can be resumed without it.
        crate::write_atomically(&path, &line)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| Error::io(&path, e))?;
        lock(&file, &path)?;
        Ok(Self { path, file })
    }

    /// Opens a journal to go on with it. A last line that was cut off is taken away: what it told of
    /// did not count yet.
    ///
    /// # Errors
    /// Those of [`read`], [`Error::Io`] when it cannot be written, [`Error::Input`] when it is in
    /// use.
    pub fn open(folder: &Path) -> Result<(Self, Header, Vec<Entry>)> {
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().read(true).append(true).open(&path).map_err(|e| missing(folder, e))?;
        lock(&file, &path)?;
        let (header, entries, whole) = read_whole(folder)?;
        file.set_len(whole).map_err(|e| Error::io(&path, e))?;
        Ok((Self { path, file }, header, entries))
    }

    /// Adds what happened; once this returns, the end of the process does not lose it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn append(&mut self, entry: &Entry) -> Result<()> {
        let mut line = serde_json::to_vec(entry).map_err(|e| Error::io(&self.path, e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|e| Error::io(&self.path, e))
    }
}

/// Reads a journal, which may be in use.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is none, is of another version, or is damaged
/// elsewhere than in a last line that was cut off.
pub fn read(folder: &Path) -> Result<(Header, Vec<Entry>)> {
    read_whole(folder).map(|(header, entries, _)| (header, entries))
}

/// The header, what happened, and the number of bytes of whole lines.
fn read_whole(folder: &Path) -> Result<(Header, Vec<Entry>, u64)> {
    let path = folder.join(JOURNAL);
    let bytes = std::fs::read(&path).map_err(|e| missing(folder, e))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let damaged = |line, e: &dyn std::fmt::Display| {
        Error::line(&path, line, format!("not the journal of an SPSA run, or damaged: {e}"))
    };
    let mut lines = bytes[..whole].split(|byte| *byte == b'\n').zip(1u64..);
    let header: Header = match lines.next() {
        Some((line, _)) if whole > 0 => serde_json::from_slice(line).map_err(|e| damaged(1, &e))?,
        _ => return Err(Error::input(&path, "holds no configuration; nothing was played")),
    };
    if header.format != FORMAT || header.version != VERSION {
        let found = format!("{} version {}", header.format, header.version);
        return Err(Error::line(&path, 1, format!("is {found}, expected {FORMAT} {VERSION}")));
    }
    let mut entries = Vec::new();
    for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
        entries.push(serde_json::from_slice(line).map_err(|e| damaged(number, &e))?);
    }
    Ok((header, entries, whole as u64))
}

fn missing(folder: &Path, error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::input(folder, format!("is not the folder of an SPSA run: it has no {JOURNAL}"))
        }
        _ => Error::io(folder.join(JOURNAL), error),
    }
}

/// Two processes that play the same run would count pairs twice.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::input(path, "another process plays this run")),
        // File systems without locks leave this to the user.
        _ => Ok(()),
    }
}
