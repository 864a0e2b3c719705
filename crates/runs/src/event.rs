//! Events reported by a run in progress.

use std::path::Path;

use gputexel_dataset::{Dataset, Split};
use gputexel_eval::Fallback;
use gputexel_ingest::extraction::{Progress, Report};
use gputexel_ingest::trace::ImportReport;
use gputexel_io::{Result, RunFolder};
use gputexel_model::FeatureSet;
use gputexel_tune::{EpochRecord, RunRecord};

/// Receives [`RunEvent`]s; an error ends the run.
pub type RunObserver<'a> = dyn FnMut(RunEvent<'_>) -> Result<()> + 'a;

/// An event in a run. Most runs report `Started`, every `Epoch`, and `Optimized`.
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A one-line warning; the run continues.
    Warning(&'a str),
    /// A warning shown even if only errors are printed: a file is not written, or a folder not locked.
    Alert(&'a str),
    /// Games or positions are being extracted to a file first, with the progress.
    Extracting(Progress),
    /// Games or positions were extracted to a file first.
    Extracted { report: &'a Report, output: &'a Path },
    /// Positions were traced by an engine to a file first.
    Traced { report: &'a ImportReport },
    /// The folder has a record of the run, which can be resumed and watched from now on.
    Opened { folder: &'a RunFolder, features: &'a FeatureSet },
    /// Something is being chosen before the run begins or after it, which may take a while.
    Deciding {
        what: Deciding,
        /// Description and progress, on one line.
        progress: &'a str,
        share: Option<f64>,
    },
    /// The choice is made.
    Decided,
    /// The optimizer is about to take its first step.
    Started(Start<'a>),
    /// An epoch is done, and recorded if there is a folder.
    Epoch {
        record: &'a EpochRecord,
        /// Number of (position, member) pairs evaluated in it.
        pairs: u64,
    },
    /// A device failed and the run continues with another evaluator.
    Replaced(&'a Fallback),
    /// The optimizer has ended, for whatever reason.
    Optimized,
    /// The bootstrap has made progress.
    Resampling { done: usize, members: usize, evaluations: usize },
    /// The bootstrap has ended, for whatever reason.
    Resampled,
    /// The run was interrupted, and its folder contains the state to resume it from.
    Resumable { folder: &'a Path },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deciding {
    Start,
    Strength,
    /// K, together with the parameters.
    Scale,
    WholeNumbers,
}

/// A run in its initial state.
pub struct Start<'a> {
    pub folder: Option<&'a RunFolder>,
    /// Its record: settings, and choices made before it began.
    pub record: &'a RunRecord,
    pub data: &'a Dataset,
    pub split: &'a Split,
    /// The backend and why it was chosen, on one line.
    pub backend: &'a str,
    /// Loss of the prior at K, if K was fitted.
    pub fitted_loss: Option<f64>,
    /// Epochs done before, if the run is resumed.
    pub resumed: Option<u64>,
}
