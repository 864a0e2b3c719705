//! The report of a run, made from the files in its folder.

mod record;
mod run;
mod steps;
mod strength;

use std::path::PathBuf;

use gputexel_dataset::{self as dataset, Dataset, Split};
use gputexel_io::{Error, Result};
use gputexel_model::{ParameterFile, PieceValues};
use gputexel_tune::{Checkpoint, ProgramDiagnostics, RunRecord, RunScores};

pub use run::run_report;

/// Data of a run that are available when its report is made. Missing record, state and parameters are read from its
/// folder; without positions a report has neither calibration nor residuals.
#[derive(Clone, Copy, Default)]
pub struct ReportData<'a> {
    /// Its configuration.
    pub record: Option<&'a RunRecord>,
    /// Its last state.
    pub checkpoint: Option<&'a Checkpoint>,
    /// Its result.
    pub parameters: Option<&'a ParameterFile>,
    /// Its positions, training and held-out.
    pub positions: Option<(&'a Dataset, &'a Split)>,
    /// Scores of the positions, if already known.
    pub scores: Option<&'a RunScores>,
    /// Growth of the scores on the training positions, if already computed.
    pub score_ratio: Option<f64>,
    /// Diagnostics of a nonlinear evaluation, if already computed.
    pub program: Option<&'a ProgramDiagnostics>,
    /// Values of pieces among its features, if already found.
    pub pieces: Option<&'a [PieceValues; 6]>,
    /// Reason why there are no positions.
    pub note: &'a str,
}

/// Positions of a run, read again for its report.
pub enum Positions {
    /// The positions of the run, and its split.
    Found(Box<(Dataset, Split)>),
    /// The record names no file: the run was on a dataset in memory.
    Unnamed,
    /// A file that the record names does not exist.
    Missing(PathBuf),
    /// A file that the record names has different positions.
    Changed(PathBuf),
}

impl Positions {
    /// Reads the files that the record names, or the `given` ones instead.
    ///
    /// # Errors
    /// [`Error::Input`] when given files have other positions, or a file is damaged; [`Error::Io`].
    pub fn read(record: &RunRecord, given: &[PathBuf]) -> Result<Self> {
        let config = &record.config;
        let named: Vec<PathBuf> = config.datasets.iter().map(PathBuf::from).collect();
        let paths = if given.is_empty() { &named } else { given };
        if paths.is_empty() {
            return Ok(Self::Unnamed);
        }
        if given.is_empty()
            && let Some(missing) = paths.iter().find(|path| !path.exists())
        {
            return Ok(Self::Missing(missing.clone()));
        }
        let mut data = dataset::read_many(paths)?;
        if data.checksum() != config.checksum {
            return match given.is_empty() {
                true => Ok(Self::Changed(paths[0].clone())),
                false => Err(Error::input(&paths[0], "is not the dataset of the run")),
            };
        }
        config.set_targets(&mut data)?;
        let split = Split::try_new(&data, config.holdout, config.optimizer.batches(), config.seed)?;
        Ok(Self::Found(Box::new((data, split))))
    }
}
