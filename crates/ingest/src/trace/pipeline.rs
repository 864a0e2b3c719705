//! Threads of an import, which read the lines of chunks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::assembly::Assembly;
use super::line::{Batch, read_lines};
use super::report::ImportReport;
use super::{Answers, ImportSettings};
use crate::reading::{Hooks, Queue, Source, read_all};
use gputexel_chess::formats::Format;
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_io::{Error, Result};

pub(super) fn run(
    inputs: &[PathBuf],
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
    answers: Option<Answers<'_>>,
) -> Result<ImportReport> {
    let start = Instant::now();
    // Before anything is read: an unwritable path should not cost an hour.
    let mut metadata = Metadata::new(settings.schema.feature_set().clone());
    metadata.tracing = answers.as_ref().map(|answers| answers.record.clone());
    let writer = DatasetWriter::create(output, metadata, settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let sources = inputs.iter().map(|path| {
        Source::open(path, &bytes_read, |input| match input.head().iter().take(4096).any(|&byte| byte == 0) {
            true => Err(Error::input(path, "is not text")),
            false => Ok(Format::Text),
        })
    });
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let mut assembly = Assembly::new(writer, inputs, settings, answers);
    let (schema, reference) = (Arc::clone(&settings.schema), settings.reference.clone());
    let worker = move |queue: &Queue<Batch>| {
        queue.process(|chunk| read_lines(&chunk.bytes, chunk.first_line, &schema, reference.as_ref()));
    };
    read_all(sources, &bytes_read, settings.threads, worker, &mut assembly, hooks)?;
    let mut report = assembly.finish(output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
