//! The ways back to a run in a folder.

use std::path::Path;

use gputexel_files::{Error, Result};
use gputexel_tuning::RunRecord;

use crate::resume::{Finished, Opened, Unfinished};
use crate::tuner::{Source, Tuner};

/// The folder of a run that was opened again.
pub enum Reopened<'a> {
    /// The run goes on where it stands.
    Unfinished {
        /// What it computes.
        record: Box<RunRecord>,
        /// The run.
        tuner: Box<Tuner<'a>>,
    },
    /// The run has its result.
    Finished(Box<Finished>),
}

impl<'a> Tuner<'a> {
    /// Resumes the run of a folder, with bit-identical results. Of the settings, those that have no
    /// effect on the result can still be made, such as [`observe`](Self::observe).
    ///
    /// # Errors
    /// Those of [`reopen`](Self::reopen), and [`Error::Usage`] when the run is finished.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        match Self::reopen(path.as_ref())? {
            Reopened::Unfinished { tuner, .. } => Ok(*tuner),
            Reopened::Finished(finished) => Err(Error::Usage(finished.describe())),
        }
    }

    /// Opens the folder of a run, and its data if it has not ended.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder is none of a run, another process writes to it, or the data
    /// are others; [`Error::Io`].
    pub fn reopen(path: &Path) -> Result<Reopened<'a>> {
        Ok(match Unfinished::open(path)? {
            Opened::Finished(finished) => Reopened::Finished(finished),
            Opened::Unfinished(unfinished) => Reopened::Unfinished {
                record: Box::new(unfinished.record.clone()),
                tuner: Box::new(Self::of(Source::Unfinished(unfinished))),
            },
        })
    }
}
