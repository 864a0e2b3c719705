//! Finished blocks of an unfinished probe, kept beside its output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::search::Differences;
use crate::unfinished::{Unfinished, begin_again};
use gputexel_io::run_folder::Kind;
use gputexel_io::{Error, LogFile, Result, RunFolder, RunLog};

const FORMAT: &str = "gputexel-probe";
const VERSION: u32 = 1;
const JOURNAL: LogFile = LogFile { name: "probe.jsonl", what: Kind::Probe.name() };

const PROBE: Unfinished = Unfinished { kind: Kind::Probe, suffix: ".probe", journal: JOURNAL };

pub(super) const POSITIONS: &str = "positions.fens";
pub(super) const TRACE: &str = "rows.svm";

/// True if a probe to `output` can be resumed.
pub fn is_begun(output: &Path) -> bool {
    PROBE.is_begun(output)
}

/// Removes what is left beside `output` by a process that was killed once its probe was complete.
pub fn clear(output: &Path) {
    PROBE.clear(output, &[POSITIONS, TRACE]);
}

/// Apart from the positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    pub command: String,
    pub options: Vec<(String, String)>,
    /// With values and bounds.
    pub parameters: Vec<(String, [f64; 3])>,
    /// Question, pattern and point of view, where the user named them.
    pub wishes: [Option<String>; 3],
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    pub request: Request,
    /// Their number and hash.
    pub positions: (u64, String),
    pub plan: Plan,
}

impl Header {
    pub fn new(request: Request, positions: (u64, String), plan: Plan) -> Self {
        Self { format: FORMAT.to_string(), version: VERSION, request, positions, plan }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Block {
    /// From 0.
    pub block: u64,
    /// Rows of a trace.
    pub lines: String,
    /// Positions without an evaluation, from 0 in the block.
    pub lost: Vec<u32>,
    pub effective: Vec<u32>,
    pub check: Differences,
    /// With the sum of squares that each explains, cp².
    #[serde(default)]
    pub blamed: Vec<(u32, f64)>,
    pub asked: u64,
}

pub(super) struct Memory {
    folder: RunFolder,
    journal: Option<RunLog<Block>>,
}

impl Memory {
    pub fn open(output: &Path, resume: bool, force: bool) -> Result<Self> {
        let (folder, _) = PROBE.open(output, resume, force)?;
        Ok(Self { folder, journal: None })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    /// Plan and blocks of an interrupted probe, if there is one.
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

    pub fn begin(&mut self, header: &Header) -> Result<()> {
        self.journal = Some(RunLog::create(self.folder.lock()?, JOURNAL, header)?);
        Ok(())
    }

    pub fn keep(&mut self, block: &Block) -> Result<()> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.append(block))
    }

    pub fn discard_if_empty(self) {
        // One that was not recalled, because of an error, is worth keeping.
        if !JOURNAL.path(self.folder.path()).exists() {
            self.remove();
        }
    }

    pub fn remove(self) {
        let Self { folder, journal } = self;
        drop(journal);
        PROBE.remove(folder, &[POSITIONS, TRACE]);
    }
}
