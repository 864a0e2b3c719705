//! Scores of an unfinished rescoring, kept beside its output so that it can be resumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shakmaty::Chess;

use crate::config::EngineConfig;
use crate::time_control::TimeControl;
use crate::unfinished::{Unfinished, begin_again};
use gputexel_chess::sample::position_key;
use gputexel_io::run_folder::Kind;
use gputexel_io::{Error, LogFile, Result, RunFolder, RunLog};

const FORMAT: &str = "gputexel-rescore";
const VERSION: u32 = 1;
const JOURNAL: LogFile = LogFile { name: "rescore.jsonl", what: Kind::Rescore.name() };

pub(super) const RESCORING: Unfinished =
    Unfinished { kind: Kind::Rescore, suffix: ".rescore", journal: JOURNAL };

/// Side to move's view, centipawns; `None` where there is none.
pub(super) type BlockScores = Vec<Option<i32>>;

/// Everything that determines scores, apart from the positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    format: String,
    version: u32,
    engine: EngineConfig,
    limit: String,
    hash_mib: u32,
}

impl Header {
    pub(super) fn new(engine: EngineConfig, limit: TimeControl, hash_mib: u32) -> Self {
        let (format, limit) = (FORMAT.to_string(), limit.to_string());
        Self { format, version: VERSION, engine, limit, hash_mib }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredBlock {
    /// Of its first position among those to score, from 0.
    first: u64,
    /// Identifies its positions.
    key: u64,
    scores: BlockScores,
}

pub(super) struct ScoreMemory {
    folder: RunFolder,
    journal: RunLog<StoredBlock>,
    known: BTreeMap<u64, (u64, BlockScores)>,
    is_empty: bool,
    /// A killed process may have left it.
    second: PathBuf,
}

fn key_of(positions: &[&Chess]) -> u64 {
    positions.iter().fold(positions.len() as u64, |key, position| {
        key.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ position_key(position)
    })
}

impl ScoreMemory {
    /// Its name determines format and compression.
    pub(super) fn second_result(output: &Path) -> PathBuf {
        RESCORING.folder_of(output).join(output.file_name().unwrap_or_default())
    }

    pub(super) fn open(output: &Path, header: Header, resume: bool, force: bool) -> Result<Self> {
        let second = Self::second_result(output);
        let (folder, resumes) = RESCORING.open(output, resume, force)?;
        if !resumes {
            let journal =
                RunLog::create(folder.lock()?, JOURNAL, &header).inspect_err(|_| folder.discard())?;
            return Ok(Self { folder, journal, known: BTreeMap::new(), is_empty: true, second });
        }
        let mut known = BTreeMap::new();
        let check = |found: &Header| match *found == header {
            true => Ok(()),
            false => Err(Error::input(
                JOURNAL.path(folder.path()),
                "was begun with another engine, parameters or limit",
            )
            .advise(begin_again())),
        };
        let (journal, _) = RunLog::open(folder.lock()?, JOURNAL, check, |_, block: StoredBlock| {
            known.insert(block.first, (block.key, block.scores));
            Ok(())
        })?;
        let is_empty = known.is_empty();
        Ok(Self { folder, journal, known, is_empty, second })
    }

    pub(super) fn remove(self) {
        let Self { folder, journal, second, .. } = self;
        drop(journal);
        let _ = std::fs::remove_file(second);
        RESCORING.remove(folder, &[]);
    }

    /// If there is nothing to resume.
    pub(super) fn discard_if_empty(self) {
        if self.is_empty {
            self.remove();
        }
    }

    /// # Errors
    /// [`Error::Input`] when its positions have changed.
    pub(super) fn recall(&mut self, first: u64, positions: &[&Chess]) -> Result<Option<BlockScores>> {
        match self.known.remove(&first) {
            None => Ok(None),
            Some((key, scores)) if key == key_of(positions) && scores.len() == positions.len() => {
                Ok(Some(scores))
            }
            Some(_) => Err(Error::input(
                self.folder.path(),
                format!(
                    "holds scores of other positions (from the {}th on): inputs or selection have changed",
                    first + 1
                ),
            )
            .advise(begin_again())),
        }
    }

    pub(super) fn keep(&mut self, first: u64, positions: &[&Chess], scores: &BlockScores) -> Result<()> {
        self.is_empty = false;
        self.journal.append(&StoredBlock { first, key: key_of(positions), scores: scores.clone() })
    }
}
