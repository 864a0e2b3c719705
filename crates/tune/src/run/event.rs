//! Events reported by a run in progress.

use std::path::Path;

use crate::{BlendRecord, EpochRecord, RoundRecord, RunConfig, ScaleRecord, StartsRecord, Strength};
use gputexel_dataset::{Dataset, Split};
use gputexel_ingest::extraction::{LeafChanges, Progress, Report};
use gputexel_io::{Error, Result, RunFolder};

/// Receives [`RunEvent`]s; an error ends the run.
pub type RunObserver<'a> = dyn FnMut(RunEvent<'_>) -> Result<()> + 'a;

/// An event in a run. Most runs report `Started`, every `Epoch`, and `Optimized`.
#[non_exhaustive]
pub enum RunEvent<'a> {
    /// A one-line warning; the run continues.
    Warning(&'a str),
    /// A warning that even those are told who want to hear of errors only: a file is not written, or a folder not locked.
    Alert(&'a str),
    /// Games or positions are being extracted to a file first, and how far that is.
    Extracting(Progress),
    /// Games or positions were extracted to a file first.
    Extracted {
        /// The report of the extraction.
        report: &'a Report,
        /// The dataset that was written.
        output: &'a Path,
    },
    /// Something is being decided before the run begins, which may take a while.
    Deciding {
        /// What.
        what: Deciding,
        /// What, and how far it is, on one line.
        progress: &'a str,
    },
    /// The optimizer is about to take its first step; reported again in each round.
    Started(Start<'a>),
    /// An epoch is done, and recorded if there is a folder.
    Epoch {
        /// Its record.
        record: &'a EpochRecord,
        /// Number of (position, member) pairs evaluated in it.
        pairs: u64,
    },
    /// A device failed and the run continues with another evaluator.
    Replaced {
        /// The device's error.
        error: &'a Error,
        /// Description of the new evaluator.
        evaluator: &'a str,
    },
    /// The optimizer has ended, for whatever reason.
    Optimized,
    /// The bootstrap has made progress.
    Resampling {
        /// Number of resamples that have converged.
        done: usize,
        /// Total number of resamples.
        members: usize,
        /// Evaluations so far.
        evaluations: usize,
    },
    /// The bootstrap has ended, for whatever reason.
    Resampled,
    /// The run was interrupted, and its folder contains the state to resume it from.
    Resumable {
        /// The folder.
        folder: &'a Path,
    },
    /// Positions were resolved again, and the next round begins.
    RoundStarted {
        /// Its number, from 1.
        round: u32,
        /// Total number of rounds.
        rounds: u32,
        /// Number of positions.
        positions: u64,
        /// How its positions differ from those of the previous round.
        changes: &'a LeafChanges,
    },
    /// A round has ended.
    RoundEnded(&'a RoundRecord),
}

/// What is decided before a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deciding {
    /// The share of search scores in the targets.
    Blend,
    /// The point to begin from.
    Start,
    /// The weights of penalties.
    Strength,
    /// K, together with the parameters.
    Scale,
}

/// A run in its initial state.
pub struct Start<'a> {
    /// Where it is recorded.
    pub folder: Option<&'a RunFolder>,
    /// Its configuration.
    pub config: &'a RunConfig,
    /// From how many points it was to begin, if not only from the prior.
    pub starts: Option<&'a StartsRecord>,
    /// How the weights of its penalties were chosen, if they were.
    pub strength: Option<&'a Strength>,
    /// How K was found, unless it was given.
    pub scale: Option<ScaleRecord>,
    /// The positions.
    pub data: &'a Dataset,
    /// Which of them are held out.
    pub split: &'a Split,
    /// The backend and why it was chosen, on one line.
    pub backend: &'a str,
    /// What is known of search scores in the targets, if there are any.
    pub blend: Option<&'a BlendRecord>,
    /// Loss of the prior at K, if K was fitted.
    pub fitted_loss: Option<f64>,
    /// Epochs done before, if the run is resumed.
    pub resumed: Option<u64>,
}
