//! The folder of a match, which keeps every pair so that a killed match can be resumed.
//!
//! `match.jsonl` holds the configuration in its first line and then a line for each finished pair,
//! in the order in which they were finished. `games.pgn` is written from it alone.
//! One process at a time writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::tally::PairSummary;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Error, LogFile, LogLine, Result, RunLog, is_open_at};

/// File name of the journal in its folder.
pub const JOURNAL: &str = "match.jsonl";

/// The journal, with a line for each finished pair.
pub const LOG: LogFile = LogFile { name: JOURNAL, what: "match" };

/// Returns the pair of a line, if it has a result.
fn checked(folder: &Path, line: LogLine, pair: PairSummary) -> Result<PairSummary> {
    match pair.is_valid() {
        true => Ok(pair),
        false => Err(Error::line(LOG.path(folder), line.number, "a result that is none")),
    }
}

/// Reads a journal, which may be in use; returns its configuration; `each` receives one pair at a time, in the order in
/// which they were finished.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is not a journal or is damaged.
pub fn read_pairs<T: DeserializeOwned>(folder: &Path, mut each: impl FnMut(PairSummary)) -> Result<T> {
    LOG.read(folder, |_| Ok(()), |line, pair| checked(folder, line, pair).map(&mut each))
}

/// The journal, its configuration, and the finished pairs.
pub type Opened<T> = (RunLog<PairSummary>, T, BTreeMap<u64, PairSummary>);

/// Opens a journal to continue it.
///
/// A truncated last line is removed, and its pair must be played again. Of several lines for a pair, the first counts.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is not a journal or is damaged.
pub fn open<T: DeserializeOwned>(lock: &FolderLock) -> Result<Opened<T>> {
    let mut pairs = BTreeMap::new();
    let each = |line, pair| {
        let pair = checked(lock.folder(), line, pair)?;
        pairs.entry(pair.pair).or_insert(pair);
        Ok(())
    };
    let (journal, config) = RunLog::open(lock, LOG, |_| Ok(()), each)?;
    Ok((journal, config, pairs))
}

/// Files of a match in progress: its journal and its games, where there are such.
pub struct MatchFiles {
    journal: Option<RunLog<PairSummary>>,
    games: Option<GamesFile>,
}

impl MatchFiles {
    /// Creates the file of games with those of the pairs in `done`, which the journal already has.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn new(
        journal: Option<RunLog<PairSummary>>,
        pgn: Option<&Path>,
        done: &BTreeMap<u64, PairSummary>,
    ) -> Result<Self> {
        let mut games = pgn.map(GamesFile::create).transpose()?;
        if let Some(games) = &mut games {
            done.iter().try_for_each(|(number, pair)| games.add(*number, &pair.pgn))?;
        }
        Ok(Self { journal, games })
    }

    /// Stores a finished pair.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn add(&mut self, pair: &PairSummary) -> Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.append(pair))?;
        self.games.as_mut().map_or(Ok(()), |games| games.add(pair.pair, &pair.pgn))
    }

    /// Ends the files.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] when a file was removed or replaced while it was written.
    pub fn finish(self) -> Result<()> {
        self.journal.as_ref().map_or(Ok(()), RunLog::check)?;
        self.games.map_or(Ok(()), GamesFile::finish)
    }
}

/// File of the games, in the order of the pairs, regardless of the order in which they are finished.
///
/// Pairs that are finished ahead of their turn wait; if there are gaps, as after an interruption,
/// [`finish`](Self::finish) writes them after the others.
#[derive(Debug)]
pub struct GamesFile {
    path: PathBuf,
    file: BufWriter<File>,
    next: u64,
    waiting: BTreeMap<u64, String>,
}

impl GamesFile {
    /// Creates the file, replacing an existing one.
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

    /// Writes the waiting pairs.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] when the file was removed or replaced while it was written.
    pub fn finish(mut self) -> Result<()> {
        for games in std::mem::take(&mut self.waiting).into_values() {
            self.file.write_all(games.as_bytes()).map_err(|e| Error::io(&self.path, e))?;
        }
        self.file.flush().map_err(|e| Error::io(&self.path, e))?;
        let file = self.file.get_ref();
        // Devices and pipes cannot be lost.
        match file.metadata().is_ok_and(|metadata| metadata.is_file()) && !is_open_at(&self.path, file) {
            true => Err(Error::lost(&self.path)),
            false => Ok(()),
        }
    }
}
