//! The folder of a match: what is played, pair by pair, so that a killed match can be resumed.
//!
//! `match.jsonl` holds the configuration in its first line and then a line for each finished pair,
//! in the order in which they were finished. `games.pgn` is written from it alone.
//! One process at a time writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::tally::PairSummary;
use gputexel_files::folder_lock::FolderLock;
use gputexel_files::is_open_at;
use gputexel_files::journal::{LineJournal, Place, scan};
use gputexel_files::{Error, Result};

/// The journal's name in its folder.
pub const JOURNAL: &str = "match.jsonl";

const fn place(folder: &Path) -> Place<'_> {
    Place { folder, name: JOURNAL, what: "match" }
}

/// Reads a journal, which may be in use: its configuration; `each` sees one pair at a time, in the order in which they
/// were finished.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is none or is damaged.
pub fn read_pairs<T: DeserializeOwned>(folder: &Path, mut each: impl FnMut(PairSummary)) -> Result<T> {
    let place = place(folder);
    let (header, _) = scan(
        place,
        |_| Ok(()),
        |line, pair: PairSummary| {
            if !pair.is_valid() {
                return Err(Error::line(place.path(), line.number, "a result that is none"));
            }
            each(pair);
            Ok(())
        },
    )?;
    Ok(header)
}

/// An open journal.
#[derive(Debug)]
pub struct Journal(LineJournal);

impl Journal {
    /// Begins a journal in a folder that is locked, replacing one that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create<T: Serialize>(lock: &FolderLock, config: &T) -> Result<Self> {
        LineJournal::create(lock, place(lock.folder()), config).map(Self)
    }

    /// Opens a journal to go on with it: its configuration, and the pairs that are finished.
    ///
    /// A last line that was cut off is taken away, and its pair has to be played again. Of lines
    /// with the same pair, the first counts.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] when it is none or is damaged.
    pub fn open<T: DeserializeOwned>(lock: &FolderLock) -> Result<(Self, T, BTreeMap<u64, PairSummary>)> {
        let place = place(lock.folder());
        let (journal, contents) = LineJournal::open(lock, place, |_| Ok(()))?;
        let mut pairs = BTreeMap::new();
        for (number, pair) in contents.entries {
            let pair: PairSummary = pair;
            if !pair.is_valid() {
                return Err(Error::line(place.path(), number, "a result that is none"));
            }
            pairs.entry(pair.pair).or_insert(pair);
        }
        Ok((Self(journal), contents.header, pairs))
    }

    /// Adds a finished pair; once this returns, the end of the process does not lose it.
    ///
    /// # Errors
    /// [`Error::Io`]; those of [`check`](Self::check).
    pub fn append(&mut self, pair: &PairSummary) -> Result<()> {
        self.0.append(pair)
    }

    /// Sees to it that what was added is still there.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder or the journal was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        self.0.check()
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
