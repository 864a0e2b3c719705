//! What a run tells while it goes on.

use std::path::Path;

use gputexel_dataset::{Dataset, Split};
use gputexel_files::{Error, Result, RunFolder};
use gputexel_ingest::extraction::{LeafChanges, Report};
use gputexel_tuning::{EpochRecord, RoundRecord, RunConfig};

/// Is told of [`RunEvent`]s; an error ends the run.
pub type RunObserver<'a> = dyn FnMut(RunEvent<'_>) -> Result<()> + 'a;

/// What a run tells while it goes on. Most runs tell of `Started`, of every `Epoch`, and of
/// `Optimized`.
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// What does not end the run but should be known, one line.
    Warning(&'a str),
    /// Games or positions were extracted to a file first.
    Extracted {
        /// What was read and left out.
        report: &'a Report,
        /// The dataset that was written.
        output: &'a Path,
    },
    /// The optimizer is about to take its first step; in each round anew.
    Started(Start<'a>),
    /// An epoch is done, and recorded where there is a folder.
    Epoch {
        /// What came of it.
        record: &'a EpochRecord,
        /// (Position, member) pairs that it evaluated.
        pairs: u64,
    },
    /// A device failed and the run goes on with another evaluator.
    Replaced {
        /// Why.
        error: &'a Error,
        /// What computes from now on.
        evaluator: &'a str,
    },
    /// The optimizer has ended, in whichever way.
    Optimized,
    /// The bootstrap goes on.
    Resampling {
        /// Resamples that are done.
        done: usize,
        /// All resamples.
        members: usize,
        /// Evaluations so far.
        evaluations: usize,
    },
    /// The bootstrap has ended, in whichever way.
    Resampled,
    /// The run was interrupted and its folder has the state to resume it from.
    Resumable {
        /// The folder.
        folder: &'a Path,
    },
    /// The folder has all that there is so far, a result or the state of an interrupted run: a report
    /// can be written.
    ReportDue {
        /// The folder.
        folder: &'a RunFolder,
        /// The positions.
        data: &'a Dataset,
        /// Which of them are held out.
        split: &'a Split,
    },
    /// Positions were resolved again and the next round begins.
    RoundStarted {
        /// Its number, from 1.
        round: u32,
        /// All rounds.
        rounds: u32,
        /// Its positions.
        positions: u64,
        /// How its positions differ from those of the round before.
        changes: &'a LeafChanges,
    },
    /// The run that is resumed had rounds, which are not resumed.
    RoundsLeftOut {
        /// All rounds.
        rounds: u32,
    },
    /// A round has ended.
    RoundEnded(&'a RoundRecord),
}

/// A run at its start.
pub struct Start<'a> {
    /// Where it is recorded.
    pub folder: Option<&'a RunFolder>,
    /// What it computes.
    pub config: &'a RunConfig,
    /// The positions.
    pub data: &'a Dataset,
    /// Which of them are held out.
    pub split: &'a Split,
    /// What computes, and why, one line.
    pub backend: &'a str,
    /// Loss of the prior at K, where K was fitted.
    pub fitted_loss: Option<f64>,
    /// Epochs that were done before, of a run that is resumed.
    pub resumed: Option<u64>,
    /// Lines of the metrics that are kept from before.
    pub metrics: u64,
}
