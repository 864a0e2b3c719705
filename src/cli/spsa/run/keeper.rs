//! What is kept while a run is under way: the journal, and the log of values.

use std::fmt::Write as _;
use std::path::Path;

use gputexel::spsa::run::{Entry, Journal, RunObserver, RunState};
use gputexel::{AppendFile, Result, write_atomically};

/// The log's name in the folder.
pub const LOG: &str = "log.csv";

/// The files of a run.
pub struct Keeper {
    journal: Journal,
    logs: Vec<AppendFile>,
}

impl Keeper {
    /// Opens the logs with `known` lines in them: one in the folder, one where the configuration
    /// wants it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(journal: Journal, folder: &Path, other: Option<&Path>, known: &str) -> Result<Self> {
        let mut logs = Vec::new();
        for path in [Some(folder.join(LOG).as_path()), other].into_iter().flatten() {
            write_atomically(path, known.as_bytes())?;
            logs.push(AppendFile::open(path)?);
        }
        Ok(Self { journal, logs })
    }

    /// Sees to it that what was kept is still there.
    ///
    /// # Errors
    /// Those of [`Journal::check`].
    pub fn check(&self) -> Result<()> {
        self.journal.check()
    }

    /// Changes the number of iterations for good.
    ///
    /// # Errors
    /// Those of the tuner, [`Error::Io`].
    pub fn replan(&mut self, entry: &Entry, story: &mut RunState) -> Result<()> {
        // What the tuner refuses must not get into the journal.
        story.clone().add(entry)?;
        self.journal.append(entry)?;
        story.add(entry)
    }
}

impl RunObserver for Keeper {
    fn record(&mut self, entry: &Entry) -> Result<()> {
        self.journal.append(entry)
    }

    fn counted(&mut self, entry: &Entry, story: &RunState) -> Result<()> {
        let Entry::Pair(pair) = entry else { return Ok(()) };
        let line = log_line(pair.perturbation.k, story);
        self.logs.iter_mut().try_for_each(|log| log.append(line.as_bytes()))
    }
}

/// `k,value,value,...`, the columns of `spsa.pl`.
pub fn log_line(k: u64, story: &RunState) -> String {
    let mut line = k.to_string();
    for value in story.tuner.values() {
        // Writing to a string cannot fail.
        let _ = write!(line, ",{value}");
    }
    line.push('\n');
    line
}
