//! The threads: one decompresses and cuts, several read and compute features, and the caller's
//! own puts results back into order and has them assembled.
//!
//! No thread borrows from the caller, so that an interrupted extraction can leave a reader that
//! waits for a pipe behind.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::assembly::Assembly;
use super::encode::Encoded;
use super::report::Report;
use super::search::evaluation_of;
use super::sources::{Chunk, Ending, Source, read_chunks};
use super::{ExtractSettings, Hooks, Leaf, Progress};
use gputexel_chess::detection::{Asked, InputKind};
use gputexel_chess::pgn::{PieceLetters, read_pgn_with_letters};
use gputexel_chess::quiescence::Quiescence;
use gputexel_chess::sample::Batch;
use gputexel_chess::selection::{Criteria, NODE_LIMIT, PositionSearch, Selection};
use gputexel_chess::text::{TextFormat, read_text};
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_files::{Error, Result};
use gputexel_model::{FeatureSet, TableEvaluation};

/// A chunk on its way to the writer: the counts and rows, what is known where its source ends with
/// it, and its buffer, to be used again.
pub struct Finished {
    pub source: usize,
    pub ending: Option<Ending>,
    pub encoded: Encoded,
    buffer: Vec<u8>,
}

/// What all workers need.
struct Work {
    /// Of each source; `None` for games.
    formats: Vec<Option<TextFormat>>,
    /// Of each source whose games name the pieces by other letters than those of English.
    letters: Vec<Option<PieceLetters>>,
    feature_set: FeatureSet,
    selection: Selection,
    evaluation: Option<TableEvaluation>,
    named_games: usize,
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
    // Before anything is read: a path that cannot be written should not cost an hour.
    let writer = DatasetWriter::create(output, Metadata::new(settings.feature_set.clone()), settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let mut sources = Source::prepare(inputs, settings, &bytes_read)?;
    if sources.iter().all(|source| source.kind == InputKind::Pgn) && settings.asked() != Asked::default() {
        return Err(Error::Usage(
            "--labels, --results, --pov and --score-pov only apply to labeled positions, but all inputs contain games"
                .to_string(),
        ));
    }
    if settings.piece_letters.is_some() && sources.iter().all(|source| source.kind == InputKind::Text) {
        return Err(Error::Usage(
            "--piece-letters only applies to games, but all inputs contain labeled positions".to_string(),
        ));
    }
    let bytes_total = sources.iter().map(|source| source.bytes).sum::<Option<u64>>();
    let mut assembly = Assembly::try_new(writer, &sources, settings, leaves)?;
    let channels = spawn(&mut sources, settings, evaluation, &bytes_read);

    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut last_progress = Instant::now();
    loop {
        if hooks.cancel.load(Ordering::Relaxed) {
            return Err(Error::Interrupted("nothing was written".to_string()));
        }
        if last_progress.elapsed() >= Duration::from_millis(100) {
            last_progress = Instant::now();
            (hooks.progress)(Progress {
                bytes_read: bytes_read.load(Ordering::Relaxed),
                bytes_total,
                positions: assembly.positions(),
            });
        }
        match channels.finished.recv_timeout(Duration::from_millis(100)) {
            Ok((index, finished)) => {
                waiting.insert(index, finished);
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(finished) = waiting.remove(&next) {
            next += 1;
            let finished = finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            assembly.add(&finished)?;
            // The reader has ended when nobody takes the buffer back.
            let _ = channels.buffers.send(finished.buffer);
        }
    }
    (hooks.progress)(Progress {
        bytes_read: bytes_read.load(Ordering::Relaxed),
        bytes_total,
        positions: assembly.positions(),
    });
    if hooks.cancel.load(Ordering::Relaxed) {
        return Err(Error::Interrupted("nothing was written".to_string()));
    }
    let mut report = assembly.finish(inputs, output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The caller's ends of the channels.
struct Channels {
    finished: Receiver<(u64, std::thread::Result<Result<Finished>>)>,
    buffers: Sender<Vec<u8>>,
}

fn spawn(
    sources: &mut [Source],
    settings: &ExtractSettings,
    evaluation: Option<TableEvaluation>,
    bytes_read: &Arc<AtomicU64>,
) -> Channels {
    let shared = Arc::new(Work {
        formats: sources.iter().map(|s| s.detection.as_ref().map(|d| d.format.clone())).collect(),
        letters: sources.iter().map(|s| s.lettering.as_ref().map(|l| l.letters.clone())).collect(),
        feature_set: settings.feature_set.clone(),
        selection: settings.selection.clone(),
        evaluation,
        named_games: if settings.list_skipped.is_some() { usize::MAX } else { Batch::NAMED_GAMES },
    });
    let (buffer_sender, buffers) = channel();
    // Enough for every worker to have one in hand and one waiting, and two with the reader.
    let in_flight = 2 * settings.threads + 2;
    for _ in 0..in_flight {
        // The other end lives in this function until it moves into the reader.
        let _ = buffer_sender.send(Vec::new());
    }
    let (chunk_sender, chunks) = sync_channel(in_flight);
    let (sender, finished) = channel();
    let readings = sources.iter_mut().map(Source::take_reading).collect();
    let bytes_read = Arc::clone(bytes_read);
    std::thread::spawn(move || read_chunks(readings, &bytes_read, &buffers, &chunk_sender));
    let chunks = Arc::new(Mutex::new(chunks));
    for _ in 0..settings.threads {
        let (chunks, sender) = (Arc::clone(&chunks), sender.clone());
        let shared = Arc::clone(&shared);
        std::thread::spawn(move || search_and_work(&chunks, &sender, &shared));
    }
    Channels { finished, buffers: buffer_sender }
}

fn search_and_work(
    chunks: &Mutex<Receiver<(u64, Result<Chunk>)>>,
    finished: &Sender<(u64, std::thread::Result<Result<Finished>>)>,
    shared: &Work,
) {
    let search = shared
        .evaluation
        .as_ref()
        .map(|evaluation| RefCell::new(Quiescence::new(evaluation).with_node_limit(NODE_LIMIT)));
    let criteria = Criteria {
        selection: &shared.selection,
        search: search.as_ref().map(|search| search as &dyn PositionSearch),
        named_games: shared.named_games,
    };
    super::work(chunks, finished, &|chunk| process(chunk, shared, criteria));
}

fn process(chunk: Chunk, shared: &Work, criteria: Criteria<'_>) -> Finished {
    let batch = match shared.formats.get(chunk.source) {
        Some(Some(format)) => read_text(&chunk.bytes, chunk.first_line, format, criteria),
        _ => {
            let letters = shared.letters.get(chunk.source).and_then(Option::as_ref);
            read_pgn_with_letters(&chunk.bytes, chunk.first_line, criteria, letters)
        }
    };
    Finished {
        source: chunk.source,
        ending: chunk.ending,
        encoded: Encoded::new(batch, &shared.feature_set),
        buffer: chunk.bytes,
    }
}
