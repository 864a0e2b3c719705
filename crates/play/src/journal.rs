//! The folder of a match. `match.jsonl` holds the configuration and then a line for each finished pair; `games.pgn`
//! is written from it alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::config::{FORMAT, MatchConfig};
use super::statistics::SprtState;
use super::tally::{PairSummary, Tally};
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

/// A match as its folder has it, which may be in progress.
#[derive(Clone, Debug)]
pub struct MatchRecord {
    pub config: MatchConfig,
    /// Of A, 0 to 4, by pair: those before the first missing one, up to the one that decided the test.
    pub half_points: Vec<usize>,
    pub tally: Tally,
    pub decided: bool,
    pub ahead: u64,
}

impl MatchRecord {
    pub fn read(folder: &Path) -> Result<Self> {
        let mut finished: BTreeMap<u64, PairSummary> = BTreeMap::new();
        let config: MatchConfig = read_pairs(folder, |mut pair: PairSummary| {
            pair.pgn.clear();
            finished.entry(pair.pair).or_insert(pair);
        })?;
        config.play.head.check(FORMAT, &LOG.path(folder))?;
        let (mut tally, mut half_points, mut decided) = (Tally::default(), Vec::new(), false);
        let all = finished.len() as u64;
        for (next, (number, pair)) in (0..).zip(finished) {
            if number != next || decided {
                break;
            }
            tally.add(&pair);
            half_points.push(pair.half_points());
            decided = config.sprt.is_some_and(|sprt| sprt.state(&tally.pairs) != SprtState::Continue);
        }
        let ahead = all - half_points.len() as u64;
        Ok(Self { config, half_points, tally, decided, ahead })
    }

    /// True if all games are played, or the test has decided.
    pub fn is_finished(&self) -> bool {
        self.decided || self.tally.games() >= self.config.play.games
    }
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
        match is_open_at(&self.path, self.file.get_ref()) {
            true => Ok(()),
            false => Err(Error::lost(&self.path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Match;
    use crate::settings::MatchOptions;
    use gputexel_io::StopFlag;

    #[test]
    fn folders_are_read_as_far_as_pairs_follow_each_other() {
        let mut options = MatchOptions::new("material", "zero");
        (options.play.limit, options.play.games) = ("nodes=30".parse().unwrap(), Some(8));
        let folder = tempfile::tempdir().unwrap();
        let mut begun = Match::new(&options, StopFlag::new()).unwrap();
        begun.create_folder(Some(folder.path()), false).unwrap();
        let finished = begun.run(|_| ()).unwrap();
        let record = MatchRecord::read(folder.path()).unwrap();
        assert_eq!(record.tally, finished.result.tally);
        assert!(record.is_finished() && record.ahead == 0 && record.half_points.len() == 4);
        let journal = folder.path().join(JOURNAL);
        let text = std::fs::read_to_string(&journal).unwrap();
        let without: Vec<&str> = text.lines().filter(|line| !line.contains("\"pair\":1,")).collect();
        std::fs::write(&journal, without.join("\n") + "\n").unwrap();
        let record = MatchRecord::read(folder.path()).unwrap();
        assert_eq!((record.half_points.len(), record.ahead, record.is_finished()), (1, 2, false));
        assert!(MatchRecord::read(&folder.path().join("none")).is_err());
    }
}
