//! Threads of an extraction, which read chunks and compute features.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::assembly::Assembly;
use super::encode::Encoded;
use super::reader::Reader;
use super::report::Report;
use super::search::evaluation_of;
use super::sources::{Detected, detect_inputs};
use super::{ExtractSettings, Hooks, Leaf};
use crate::reading::{Queue, read_all};
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_io::Result;

pub fn run(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    leaves: Option<&mut Vec<Leaf>>,
) -> Result<Report> {
    let start = Instant::now();
    let evaluation = evaluation_of(settings)?;
    // Before anything is read: an unwritable path should not cost an hour.
    let writer = DatasetWriter::create(output, Metadata::new(settings.feature_set.clone()), settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let (sources, detected) = detect_inputs(inputs, settings, &bytes_read)?;
    let detected: Arc<[Detected]> = detected.into();
    let mut assembly = Assembly::try_new(writer, inputs, &detected, settings, leaves)?;
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
