//! Finished blocks of an unfinished probe, kept beside its output so that it can be resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::search::Differences;
use gputexel_io::run_folder::Kind;
use gputexel_io::{Advice, Error, LogFile, Result, RunFolder, RunLog};

const FORMAT: &str = "gputexel-probe";
const VERSION: u32 = 1;
const JOURNAL: LogFile = LogFile { name: "probe.jsonl", what: Kind::Probe.name() };

/// The positions, as lines.
pub(super) const POSITIONS: &str = "positions.fens";

/// The measured rows, as a trace.
pub(super) const TRACE: &str = "rows.svm";

/// Request of a probe, apart from its positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    pub command: String,
    pub options: Vec<(String, String)>,
    /// Names of the parameters, with their values and bounds.
    pub parameters: Vec<(String, [f64; 3])>,
    /// The question, the pattern and the point of view, where the user named them.
    pub wishes: [Option<String>; 3],
}

/// First line of the journal: the request, and the plan that was made for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    pub request: Request,
    /// Number of positions, and a hash of them.
    pub positions: (u64, String),
    pub plan: Plan,
}

impl Header {
    pub fn new(request: Request, positions: (u64, String), plan: Plan) -> Self {
        Self { format: FORMAT.to_string(), version: VERSION, request, positions, plan }
    }
}

/// A finished block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    /// Its number, from 0.
    pub block: u64,
    /// Its rows, lines of a trace.
    pub lines: String,
    /// Positions without an evaluation, counted from 0 in the block.
    pub lost: Vec<u32>,
    /// Parameters that have an effect.
    pub effective: Vec<u32>,
    pub check: Differences,
    /// Parameters that explain differences beyond rounding, and the sum of squares that each explains, cp².
    #[serde(default)]
    pub blamed: Vec<(u32, f64)>,
    /// Number of evaluations.
    pub asked: u64,
}

/// The folder beside an output.
pub(super) struct Memory {
    folder: RunFolder,
    journal: Option<RunLog<Block>>,
}

/// Returns true if a probe to an output was begun and not completed.
pub(super) fn is_begun(output: &Path) -> bool {
    JOURNAL.path(&folder_of(output)).exists()
}

fn folder_of(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".probe");
    PathBuf::from(path)
}

/// Returns advice for a folder in which another probe has begun.
fn begin_again() -> Advice {
    let advice = Advice::default().text("give the same as then, or start again with ").setting("force", "");
    advice.text(" instead of ").setting("resume", "")
}

impl Memory {
    /// Opens the folder of an output. With `resume`, that of an interrupted probe, if there is one.
    ///
    /// # Errors
    /// [`Error::Usage`] when a probe was interrupted that is neither resumed nor, with `force`, started again.
    pub fn open(output: &Path, resume: bool, force: bool) -> Result<Self> {
        let path = folder_of(output);
        let begun = JOURNAL.path(&path).exists();
        if begun && !resume && !force {
            let reason = format!("{}: a probe to this output was interrupted", path.display());
            let advice = Advice::default().text("use ").setting("resume", "").text(" to continue it, or ");
            return Err(Error::Usage(reason).advise(advice.setting("force", "").text(" to start again")));
        }
        let folder = match begun && resume {
            true => RunFolder::enter(&path, Kind::Probe)?,
            false => RunFolder::create(Some(&path), Kind::Probe, true)?,
        };
        Ok(Self { folder, journal: None })
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    /// Opens the journal of an interrupted probe; `None` if there is none. Returns its plan and its blocks.
    ///
    /// # Errors
    /// [`Error::Input`] for a journal of another request or other positions.
    pub fn recall(
        &mut self,
        request: &Request,
        positions: &(u64, String),
    ) -> Result<Option<(Plan, BTreeMap<u64, Block>)>> {
        let path = JOURNAL.path(self.folder.path());
        if !path.exists() {
            return Ok(None);
        }
        let check = |found: &Header| {
            let what = match (found.request == *request, found.positions == *positions) {
                (true, true) => return Ok(()),
                (false, _) => "was begun with another engine, options or parameters",
                (true, false) => "was begun with other positions",
            };
            Err(Error::input(&path, what).advise(begin_again()))
        };
        let mut blocks = BTreeMap::new();
        let (journal, header) = RunLog::open(self.folder.lock()?, JOURNAL, check, |_, block: Block| {
            blocks.insert(block.block, block);
            Ok(())
        })?;
        self.journal = Some(journal);
        Ok(Some((header.plan, blocks)))
    }

    /// Begins the journal.
    pub fn begin(&mut self, header: &Header) -> Result<()> {
        self.journal = Some(RunLog::create(self.folder.lock()?, JOURNAL, header)?);
        Ok(())
    }

    /// Stores a block.
    pub fn keep(&mut self, block: &Block) -> Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.append(block))
    }

    /// Removes the folder if nothing in it can be resumed.
    pub fn discard_if_empty(self) {
        if self.journal.is_none() {
            self.remove();
        }
    }

    /// Removes the folder, which is no longer needed.
    pub fn remove(self) {
        let Self { folder, journal } = self;
        drop(journal);
        let path = folder.path().to_path_buf();
        // Leftovers do no harm.
        for name in [JOURNAL.name, POSITIONS, TRACE] {
            let _ = folder.remove(name);
        }
        if let Ok(lock) = folder.lock() {
            lock.remove_file();
        }
        let _ = std::fs::remove_dir(&path);
    }
}
