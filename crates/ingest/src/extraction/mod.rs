//! Extracts datasets from games and labeled positions: combines the readers of `chess`, the features of
//! `model` and the container of `dataset`.

mod assembly;
mod bookkeeping;
mod encode;
mod judging;
mod plausibility;
mod reader;
mod report;
mod sources;
mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::assembly::Assembly;
use self::encode::Encoded;
use crate::reading::{Queue, check_reading, read_all};
use gputexel_chess::PhaseSettings;
use gputexel_chess::detection::TextOptions;
use gputexel_chess::formats::Format;
use gputexel_chess::selection::Selection;
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_io::{Error, Result};
use gputexel_model::{FeatureKind, FeatureSet, TableEvaluation};

pub use report::{FunnelStep, Report, Results, SourceReport, Unread};
pub use target::Target;

pub use crate::reading::{Hooks, Progress};

pub use sources::is_training_data;

pub(crate) use bookkeeping::Bookkeeping;
pub(crate) use judging::{Judge, Repeats, sample_of};
pub(crate) use plausibility::rates;
pub(crate) use reader::{Reader, evaluation_of};
pub(crate) use sources::{Detected, detect_inputs};

#[derive(Clone, Debug)]
pub struct ExtractSettings {
    pub feature_set: FeatureSet,
    pub selection: Selection,
    /// Format of all inputs; detected if `None`.
    pub format: Option<Format>,
    /// Syntax, scale and points of view of labeled text; detected where `None`. Whether scores are wanted follows
    /// from the target.
    pub text: TextOptions,
    pub target: Target,
    /// Maximum share of bad lines in a text, or of faulty games or plies in a file; above it, nothing is
    /// written.
    pub max_bad_share: f64,
    pub threads: usize,
    /// The evaluation for searches; if `None`, the one named by the selection.
    pub evaluation: Option<TableEvaluation>,
    pub force: bool,
}

impl ExtractSettings {
    pub fn new(feature_set: FeatureSet) -> Self {
        Self {
            feature_set,
            selection: Selection::default(),
            format: None,
            text: TextOptions::default(),
            target: Target::Result,
            max_bad_share: 0.1,
            evaluation: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            force: false,
        }
    }

    pub(crate) fn validate(&self, inputs: &[PathBuf], output: &Path) -> Result<()> {
        check_reading(inputs, output, self.max_bad_share, self.threads)?;
        self.selection.validate()?;
        if self.selection.no_draws && self.target != Target::Result {
            let reason = "leaves out drawn games, but the targets are scores, not results of games";
            let value = self.selection.preset.map(|preset| preset.name().to_string());
            return Err(Error::Setting { setting: "preset", value, reason: reason.to_string() });
        }
        self.feature_set.phase.validate()
    }
}

impl Default for ExtractSettings {
    fn default() -> Self {
        Self::new(FeatureSet::new(FeatureKind::Pst, PhaseSettings::default()))
    }
}

/// Reads `inputs`, games or labeled positions, and writes a dataset to `output`.
///
/// # Errors
/// [`Error::Usage`] for contradictory settings or an output that exists; [`Error::Input`] when an input has
/// no results, too many bad lines or games, or no position that is kept; [`Error::Interrupted`] after
/// `cancel`. In all these cases, nothing is written.
pub fn extract(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<Report> {
    settings.validate(inputs, output)?;
    let start = Instant::now();
    let evaluation = evaluation_of(settings)?;
    // Before anything is read: an unwritable path should not cost an hour.
    let writer = DatasetWriter::create(output, Metadata::new(settings.feature_set.clone()), settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let (sources, detected) = detect_inputs(inputs, settings, &bytes_read)?;
    let detected: Arc<[Detected]> = detected.into();
    let mut assembly = Assembly::new(writer, inputs, &detected, settings);
    let reader = Reader::new(Arc::clone(&detected), settings, evaluation, false);
    let feature_set = settings.feature_set.clone();
    let worker = move |queue: &Queue<Encoded>| {
        reader.serve(queue, |_, batch| Encoded::new(batch, &feature_set));
    };
    read_all(sources, &bytes_read, settings.threads, worker, &mut assembly, hooks)?;
    let mut report = assembly.finish(output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
