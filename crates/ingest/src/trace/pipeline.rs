//! The threads of an import: one decompresses and cuts, several read lines, and the caller's own
//! puts results back into order and has them assembled.
//!
//! No thread borrows from the caller, so that an interrupted import can leave a reader that waits
//! for a pipe behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::ImportSettings;
use super::assembly::{Assembly, Finished};
use super::line::read_lines;
use super::report::ImportReport;
use crate::extraction::{Chunk, Hooks, Progress, read_chunks, work};
use gputexel_chess::detection::InputKind;
use gputexel_dataset::{DatasetWriter, Metadata};
use gputexel_files::input::Input;
use gputexel_files::{Error, Result};

pub(super) fn run(
    inputs: &[PathBuf],
    settings: &ImportSettings,
    output: &Path,
    hooks: &mut Hooks<'_>,
) -> Result<ImportReport> {
    let start = Instant::now();
    // Before anything is read: a path that cannot be written should not cost an hour.
    let metadata = Metadata::new(settings.plan.feature_set().clone());
    let writer = DatasetWriter::create(output, metadata, settings.force)?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let sources = inputs.iter().map(|path| look(path, &bytes_read)).collect::<Result<Vec<_>>>()?;
    let sizes = inputs.iter().map(|path| {
        std::fs::metadata(path).ok().filter(|m| path.as_os_str() != "-" && m.is_file()).map(|m| m.len())
    });
    let bytes_total = sizes.sum::<Option<u64>>();
    let mut assembly = Assembly::new(writer, inputs, settings);
    let channels = spawn(sources, settings, &bytes_read);

    let progress =
        |positions: u64| Progress { bytes_read: bytes_read.load(Ordering::Relaxed), bytes_total, positions };
    let interrupted = || Err(Error::Interrupted("nothing was written".to_string()));
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut last_progress = Instant::now();
    loop {
        if hooks.cancel.load(Ordering::Relaxed) {
            return interrupted();
        }
        if last_progress.elapsed() >= Duration::from_millis(100) {
            last_progress = Instant::now();
            (hooks.progress)(progress(assembly.positions()));
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
            let finished: Finished = finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            assembly.add(&finished)?;
            // The reader has ended when nobody takes the buffer back.
            let _ = channels.buffers.send(finished.buffer);
        }
    }
    (hooks.progress)(progress(assembly.positions()));
    if hooks.cancel.load(Ordering::Relaxed) {
        return interrupted();
    }
    let mut report = assembly.finish(inputs, output)?;
    report.bytes_read = bytes_read.load(Ordering::Relaxed);
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Opens an input to see that it can be read and is text. Pipes stay open, since they cannot be
/// read twice; there may be more files than may be open at a time.
fn look(path: &Path, bytes_read: &Arc<AtomicU64>) -> Result<(PathBuf, InputKind, Option<Input>)> {
    let is_file = path.as_os_str() != "-" && std::fs::metadata(path).is_ok_and(|m| m.is_file());
    let input = Input::open(path, if is_file { Arc::default() } else { Arc::clone(bytes_read) })?;
    if input.head().iter().take(4096).any(|byte| *byte == 0) {
        return Err(Error::input(path, "is not text"));
    }
    Ok((path.to_path_buf(), InputKind::Text, if is_file { None } else { Some(input) }))
}

/// The caller's ends of the channels.
struct Channels {
    finished: Receiver<(u64, std::thread::Result<Result<Finished>>)>,
    buffers: Sender<Vec<u8>>,
}

fn spawn(
    sources: Vec<(PathBuf, InputKind, Option<Input>)>,
    settings: &ImportSettings,
    bytes_read: &Arc<AtomicU64>,
) -> Channels {
    let (buffer_sender, buffers) = channel();
    // Enough for every worker to have one in hand and one waiting, and two with the reader.
    let in_flight = 2 * settings.threads + 2;
    for _ in 0..in_flight {
        // The other end lives in this function until it moves into the reader.
        let _ = buffer_sender.send(Vec::new());
    }
    let (chunk_sender, chunks) = sync_channel(in_flight);
    let (sender, finished) = channel();
    let bytes_read = Arc::clone(bytes_read);
    std::thread::spawn(move || read_chunks(sources, &bytes_read, &buffers, &chunk_sender));
    let chunks = Arc::new(Mutex::new(chunks));
    for _ in 0..settings.threads {
        let (chunks, sender) = (Arc::clone(&chunks), sender.clone());
        let (plan, reference) = (Arc::clone(&settings.plan), settings.reference.clone());
        std::thread::spawn(move || {
            work(&chunks, &sender, &|chunk: Chunk| Finished {
                source: chunk.source,
                ending: chunk.ending,
                batch: read_lines(&chunk.bytes, chunk.first_line, &plan, reference.as_ref()),
                bytes: chunk.bytes.len() as u64,
                buffer: chunk.bytes,
            });
        });
    }
    Channels { finished, buffers: buffer_sender }
}
