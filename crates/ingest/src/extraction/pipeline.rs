//! The threads of an extraction: each reads chunks and computes features.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::assembly::Assembly;
use super::encode::Encoded;
use super::format::InputFormat;
use super::report::Report;
use super::search::evaluation_of;
use super::sources::{Detected, detect_inputs};
use super::{ExtractSettings, Hooks, Leaf, Target};
use crate::reading::{Chunk, Queue, read_all};
use gputexel_chess::detection::TextOptions;
use gputexel_chess::pgn::read_pgn_with_letters;
use gputexel_chess::quiescence::Quiescence;
use gputexel_chess::sample::Batch;
use gputexel_chess::selection::{Criteria, NODE_LIMIT, PositionSearch, Selection};
use gputexel_chess::text::read_text;
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_files::{Error, Result};
use gputexel_model::{FeatureSet, TableEvaluation};

/// Data shared by all workers.
struct Work {
    /// What was detected about each source.
    detected: Arc<[Detected]>,
    feature_set: FeatureSet,
    selection: Selection,
    evaluation: Option<TableEvaluation>,
    named_games: usize,
    target: Target,
}

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
    let any_text = detected.iter().any(|one| one.format() == InputFormat::Text);
    if !any_text && settings.asked() != TextOptions::default() {
        return Err(Error::Usage(
            "label syntax, scale of results and points of view only apply to labeled positions in text, of which there are none"
                .to_string(),
        ));
    }
    if settings.piece_letters.is_some() && !detected.iter().any(Detected::is_pgn) {
        return Err(Error::Usage(
            "piece letters only apply to games in PGN, of which there are none".to_string(),
        ));
    }
    let detected: Arc<[Detected]> = detected.into();
    let mut assembly = Assembly::try_new(writer, inputs, &detected, settings, leaves)?;
    let work = Work {
        detected: Arc::clone(&detected),
        feature_set: settings.feature_set.clone(),
        selection: settings.selection.clone(),
        evaluation,
        target: settings.target,
        named_games: if settings.list_skipped.is_some() { usize::MAX } else { Batch::NAMED_GAMES },
    };
    let worker = move |queue: &Queue<Encoded>| work.serve(queue);
    read_all(sources, &bytes_read, settings.threads, worker, &mut assembly, hooks)?;
    let mut report = assembly.finish(output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

impl Work {
    /// The work of one thread.
    fn serve(&self, queue: &Queue<Encoded>) {
        let search = self
            .evaluation
            .as_ref()
            .map(|evaluation| RefCell::new(Quiescence::new(evaluation).with_node_limit(NODE_LIMIT)));
        let criteria = Criteria {
            selection: &self.selection,
            search: search.as_ref().map(|search| search as &dyn PositionSearch),
            named_games: self.named_games,
            origins: false,
        };
        queue.process(|chunk| self.process(chunk, criteria));
    }

    fn process(&self, chunk: &Chunk, criteria: Criteria<'_>) -> Encoded {
        let batch = read_chunk(&self.detected[chunk.source], chunk, criteria, self.target);
        Encoded::new(batch, &self.feature_set)
    }
}

/// Reads a chunk of an input.
pub(crate) fn read_chunk(
    detected: &Detected,
    chunk: &Chunk,
    criteria: Criteria<'_>,
    target: Target,
) -> Batch {
    let mut batch = match detected {
        Detected::Positions(detection) => {
            read_text(&chunk.bytes, chunk.first_line, &detection.format, criteria)
        }
        Detected::Games(detected_letters) => {
            let letters = detected_letters.as_ref().map(|detected_letters| &detected_letters.letters);
            read_pgn_with_letters(&chunk.bytes, chunk.first_line, criteria, letters)
        }
        Detected::Training(format) => {
            let place = if format.is_text() { chunk.first_line } else { chunk.offset };
            format.read(&chunk.bytes, place, criteria)
        }
    };
    target.apply(&mut batch);
    batch
}
