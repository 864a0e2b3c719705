use std::path::Path;

use gputexel_io::{Error, Result};
use gputexel_tune::RunRecord;

use crate::resume::{Finished, Opened, Unfinished};
use crate::tuner::{Source, Tuner};

pub enum Reopened<'a> {
    Unfinished { record: Box<RunRecord>, tuner: Box<Tuner<'a>> },
    Finished(Box<Finished>),
}

impl<'a> Tuner<'a> {
    /// Resumes the run in a folder, with the settings it was started with and bit-identical results.
    pub fn resume(path: impl AsRef<Path>) -> Result<Self> {
        match Self::reopen(path)? {
            Reopened::Unfinished { tuner, .. } => Ok(*tuner),
            Reopened::Finished(finished) => Err(Error::Usage(finished.describe())),
        }
    }

    /// Opens the folder of a run, and its data if the run has not ended.
    pub fn reopen(path: impl AsRef<Path>) -> Result<Reopened<'a>> {
        Ok(match Unfinished::open(path.as_ref())? {
            Opened::Finished(finished) => Reopened::Finished(finished),
            Opened::Unfinished(unfinished) => Reopened::Unfinished {
                record: Box::new(unfinished.record.clone()),
                tuner: Box::new(Self::from_source(Source::Unfinished(unfinished))),
            },
        })
    }
}
