//! The folder of a match. `match.jsonl` holds the configuration and then a line for each finished pair; `games.pgn`
//! is written from it alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::tally::PairSummary;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Error, LogFile, LogLine, Result, RunLog, is_open_at};

pub const JOURNAL: &str = "match.jsonl";
pub const LOG: LogFile = LogFile { name: JOURNAL, what: "match" };

/// The pair of a line, if it has a result.
fn checked(folder: &Path, line: LogLine, pair: PairSummary) -> Result<PairSummary> {
    match pair.is_valid() {
        true => Ok(pair),
        false => Err(Error::line(LOG.path(folder), line.number, "a result that is none")),
    }
}

/// Reads a journal, which may be in use; `each` receives the pairs in the order in which they were finished.
pub fn read_pairs<T: DeserializeOwned>(folder: &Path, mut each: impl FnMut(PairSummary)) -> Result<T> {
    LOG.read(folder, |_| Ok(()), |line, pair| checked(folder, line, pair).map(&mut each))
}

pub type Opened<T> = (RunLog<PairSummary>, T, BTreeMap<u64, PairSummary>);

/// Opens a journal to continue it. A truncated last line is removed. Of several lines for a pair, the first counts.
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

pub struct MatchFiles {
    journal: RunLog<PairSummary>,
    games: GamesFile,
}

impl MatchFiles {
    /// Creates the file of games with those of the pairs in `done`.
    pub fn new(journal: RunLog<PairSummary>, pgn: &Path, done: &BTreeMap<u64, PairSummary>) -> Result<Self> {
        let mut games = GamesFile::create(pgn)?;
        done.iter().try_for_each(|(number, pair)| games.add(*number, &pair.pgn))?;
        Ok(Self { journal, games })
    }

    pub fn add(&mut self, pair: &PairSummary) -> Result<()> {
        self.journal.append(pair)?;
        self.games.add(pair.pair, &pair.pgn)
    }

    pub fn finish(self) -> Result<()> {
        self.journal.check()?;
        self.games.finish()
    }
}

/// File of the games, in the order of the pairs. Pairs that are finished ahead of their turn wait.
#[derive(Debug)]
pub struct GamesFile {
    path: PathBuf,
    file: BufWriter<File>,
    next: u64,
    waiting: BTreeMap<u64, String>,
}

impl GamesFile {
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_path_buf(), file: BufWriter::new(file), next: 0, waiting: BTreeMap::new() })
    }

    pub fn add(&mut self, pair: u64, pgn: &str) -> Result<()> {
        self.waiting.insert(pair, pgn.to_string());
        while let Some(games) = self.waiting.remove(&self.next) {
            self.file.write_all(games.as_bytes()).map_err(|e| Error::io(&self.path, e))?;
            self.next += 1;
        }
        self.file.flush().map_err(|e| Error::io(&self.path, e))
    }

    /// Writes the waiting pairs, after gaps if there are any.
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
