//! The folder of a match: what is played, pair by pair, so that a killed match can go on.
//!
//! `match.jsonl` holds the configuration in its first line and then a line for each finished pair,
//! in the order in which they were finished. It is the only truth: `games.pgn` is written from it.
//! Both belong to one process at a time.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::tally::PairSummary;
use crate::error::{Error, Result};

/// The journal's name in its folder.
pub const JOURNAL: &str = "match.jsonl";

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
    pub fn create<T: Serialize>(folder: &Path, config: &T) -> Result<Self> {
        let path = folder.join(JOURNAL);
        let mut line = serde_json::to_vec(config).map_err(|e| Error::io(&path, e.into()))?;
        line.push(b'\n');
        // The first line is there as a whole or not at all: nothing can be resumed without it.
        crate::write_atomically(&path, &line)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(|e| Error::io(&path, e))?;
        lock(&file, &path)?;
        Ok(Self { path, file })
    }

    /// Opens a journal to go on with it: its configuration, and the pairs that are finished.
    ///
    /// A last line that was cut off is taken away, and its pair has to be played again. Of lines
    /// with the same pair, the first counts.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] when it is none, is damaged, or in use.
    pub fn open<T: DeserializeOwned>(folder: &Path) -> Result<(Self, T, BTreeMap<u64, PairSummary>)> {
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().read(true).append(true).open(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::input(folder, format!("is not the folder of a match: it has no {JOURNAL}"))
            }
            _ => Error::io(&path, e),
        })?;
        lock(&file, &path)?;
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
        let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
        let mut lines = bytes[..whole].split(|byte| *byte == b'\n').zip(1u64..);
        let damaged = |line, e: &dyn std::fmt::Display| {
            Error::line(&path, line, format!("not the journal of a match, or damaged: {e}"))
        };
        let config = match lines.next() {
            Some((line, _)) if whole > 0 => serde_json::from_slice(line).map_err(|e| damaged(1, &e))?,
            _ => return Err(Error::input(&path, "holds no configuration; nothing was played")),
        };
        let mut pairs = BTreeMap::new();
        for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
            let pair: PairSummary = serde_json::from_slice(line).map_err(|e| damaged(number, &e))?;
            if !pair.is_valid() {
                return Err(damaged(number, &"a result that is none"));
            }
            pairs.entry(pair.pair).or_insert(pair);
        }
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(|e| Error::io(&path, e))?;
        }
        Ok((Self { path, file }, config, pairs))
    }

    /// Adds a finished pair; once this returns, the end of the process does not lose it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn append(&mut self, pair: &PairSummary) -> Result<()> {
        let mut line = serde_json::to_vec(pair).map_err(|e| Error::io(&self.path, e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|e| Error::io(&self.path, e))
    }
}

/// Two processes that play the same pairs would count them twice.
fn lock(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(std::fs::TryLockError::WouldBlock) => {
            Err(Error::input(path, "another process is playing this match"))
        }
        // File systems without locks leave this to the user.
        _ => Ok(()),
    }
}

/// The games, in the order of the pairs whatever the order in which they are finished.
///
/// Pairs that are finished ahead of their turn wait; [`finish`](Self::finish) writes them behind
/// the others where there are gaps, as after an interruption.
#[derive(Debug)]
pub struct GamesFile {
    path: PathBuf,
    file: BufWriter<File>,
    next: u64,
    waiting: BTreeMap<u64, String>,
}

impl GamesFile {
    /// Begins the file, replacing one that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::new(file), next: 0, waiting: BTreeMap::new() })
    }

    /// Adds the games of a pair.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn add(&mut self, pair: u64, pgn: &str) -> Result<()> {
        self.waiting.insert(pair, pgn.to_string());
        while let Some(games) = self.waiting.remove(&self.next) {
            self.file.write_all(games.as_bytes()).map_err(|e| Error::io(&self.path, e))?;
            self.next += 1;
        }
        self.file.flush().map_err(|e| Error::io(&self.path, e))
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(mut self) -> Result<()> {
        for games in std::mem::take(&mut self.waiting).into_values() {
            self.file.write_all(games.as_bytes()).map_err(|e| Error::io(&self.path, e))?;
        }
        self.file.flush().map_err(|e| Error::io(&self.path, e))
    }
}
