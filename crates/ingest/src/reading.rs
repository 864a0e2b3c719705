//! Reads inputs with several threads, in order: one thread decompresses and splits them into chunks of whole
//! records, several process chunks, and the caller's own takes the results in the order of the chunks.

use std::collections::{BTreeMap, HashMap, HashSet, hash_map};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use xxhash_rust::xxh3::Xxh3;

use gputexel_chess::formats::Format;
use gputexel_dataset::{DatasetWriter, SourceRecord};
use gputexel_io::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_io::{Error, Result};

const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes of the inputs read, compressed if they are.
    pub bytes_read: u64,
    /// Bytes of all inputs, unless one of them is a pipe.
    pub bytes_total: Option<u64>,
    pub positions: u64,
}

/// Reports progress to the caller of an extraction or an import, and lets it cancel.
pub struct Hooks<'a> {
    /// When set, the work ends with [`Error::Interrupted`] and writes nothing.
    pub cancel: &'a AtomicBool,
    /// Called several times a second.
    pub progress: &'a mut dyn FnMut(Progress),
}

#[derive(Debug)]
pub(crate) struct Source {
    pub path: PathBuf,
    pub format: Format,
    /// File size, unless it is a pipe.
    pub bytes: Option<u64>,
    /// Pipes stay open after detection, because they cannot be read twice. Files are opened again: there may
    /// be more than can be open at a time.
    opened: Option<Input>,
}

impl Source {
    /// Opens an input; `look` examines its beginning and determines its format.
    pub fn open(
        path: &Path,
        bytes_read: &Arc<AtomicU64>,
        look: impl FnOnce(&Input) -> Result<Format>,
    ) -> Result<Self> {
        let file = std::fs::metadata(path).ok().filter(|m| path.as_os_str() != "-" && m.is_file());
        let count = if file.is_some() { Arc::default() } else { Arc::clone(bytes_read) };
        let input = Input::open(path, count)?;
        let format = look(&input)?;
        Ok(Self {
            path: path.to_path_buf(),
            format,
            opened: if file.is_some() { None } else { Some(input) },
            bytes: file.map(|m| m.len()),
        })
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    /// Size and hash of the decompressed content, if there are several inputs.
    pub content: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub source: usize,
    /// Number of its first line, from 1; 1 in binary formats.
    pub first_line: u64,
    /// Offset in the decompressed input, bytes.
    pub offset: u64,
    pub ending: Option<Ending>,
    pub bytes: Vec<u8>,
}

struct Finished<T> {
    chunk: Chunk,
    result: T,
}

pub(crate) trait Sink {
    type Batch: Send + 'static;

    fn positions(&self) -> u64;

    fn add(&mut self, chunk: &Chunk, batch: Self::Batch) -> Result<()>;
}

type Waiting = (u64, Result<Chunk>);

type Numbered<T> = (u64, std::thread::Result<Result<Finished<T>>>);

pub(crate) struct Queue<T> {
    chunks: Arc<Mutex<Receiver<Waiting>>>,
    finished: Sender<Numbered<T>>,
}

impl<T> Queue<T> {
    /// Processes chunks until there are no more. A panic is passed on like a result, so that the caller can
    /// resume it.
    pub fn process(&self, process: impl Fn(&Chunk) -> T) {
        loop {
            let received = self.chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let (index, result) = match received {
                Err(_) => return,
                Ok((index, Err(error))) => (index, Ok(Err(error))),
                Ok((index, Ok(chunk))) => {
                    let process = || {
                        let result = process(&chunk);
                        Finished { chunk, result }
                    };
                    (index, std::panic::catch_unwind(std::panic::AssertUnwindSafe(process)).map(Ok))
                }
            };
            if self.finished.send((index, result)).is_err() {
                return;
            }
        }
    }
}

/// Reads all sources and passes the processed chunks to `sink`; `worker` is called once by each of `threads`
/// threads.
pub(crate) fn read_all<S: Sink>(
    sources: Vec<Source>,
    bytes_read: &Arc<AtomicU64>,
    threads: usize,
    worker: impl Fn(&Queue<S::Batch>) + Send + Sync + 'static,
    sink: &mut S,
    hooks: &mut Hooks<'_>,
) -> Result<()> {
    let bytes_total = sources.iter().map(|source| source.bytes).sum::<Option<u64>>();
    let progress = |sink: &S| Progress {
        bytes_read: bytes_read.load(Ordering::Relaxed),
        bytes_total,
        positions: sink.positions(),
    };
    let (buffers, finished) = spawn(sources, bytes_read, threads, worker);
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    let mut last_progress = Instant::now();
    let interrupted = || Err(Error::Interrupted("nothing was written".to_string()));
    loop {
        if hooks.cancel.load(Ordering::Relaxed) {
            return interrupted();
        }
        if last_progress.elapsed() >= PROGRESS_INTERVAL {
            last_progress = Instant::now();
            (hooks.progress)(progress(sink));
        }
        match finished.recv_timeout(PROGRESS_INTERVAL) {
            Ok((index, finished)) => {
                waiting.insert(index, finished);
            }
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(finished) = waiting.remove(&next) {
            next += 1;
            let Finished { chunk, result } =
                finished.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            sink.add(&chunk, result)?;
            // Fails once the reader has ended, which then needs no buffers.
            let _ = buffers.send(chunk.bytes);
        }
    }
    (hooks.progress)(progress(sink));
    if hooks.cancel.load(Ordering::Relaxed) { interrupted() } else { Ok(()) }
}

fn spawn<T: Send + 'static>(
    sources: Vec<Source>,
    bytes_read: &Arc<AtomicU64>,
    threads: usize,
    worker: impl Fn(&Queue<T>) + Send + Sync + 'static,
) -> (Sender<Vec<u8>>, Receiver<Numbered<T>>) {
    let (buffer_sender, buffers) = channel();
    // Enough for every worker to have one in progress and one waiting, and two for the reader.
    let in_flight = 2 * threads + 2;
    for _ in 0..in_flight {
        // The other end lives in this function until it moves into the reader.
        let _ = buffer_sender.send(Vec::new());
    }
    let (chunk_sender, chunks) = sync_channel(in_flight);
    let (sender, finished) = channel();
    let bytes_read = Arc::clone(bytes_read);
    std::thread::spawn(move || read_chunks(sources, &bytes_read, &buffers, &chunk_sender));
    let chunks = Arc::new(Mutex::new(chunks));
    let worker = Arc::new(worker);
    for _ in 0..threads {
        let queue = Queue { chunks: Arc::clone(&chunks), finished: sender.clone() };
        let worker = Arc::clone(&worker);
        std::thread::spawn(move || worker(&queue));
    }
    (buffer_sender, finished)
}

/// Reads all sources and sends their chunks, numbered in order; an error comes last.
fn read_chunks(
    mut sources: Vec<Source>,
    bytes_read: &Arc<AtomicU64>,
    buffers: &Receiver<Vec<u8>>,
    chunks: &SyncSender<(u64, Result<Chunk>)>,
) {
    let mut index = 0;
    let several = sources.len() > 1;
    for (source_index, source) in sources.iter_mut().enumerate() {
        let opened = source.opened.take();
        let opened = opened.map_or_else(|| Input::open(&source.path, Arc::clone(bytes_read)), Ok);
        let read = opened.and_then(|mut input| {
            split_into_chunks(&mut input, source.format, several, buffers, |chunk| {
                let chunk = Chunk { source: source_index, ..chunk };
                index += 1;
                chunks.send((index - 1, Ok(chunk))).is_ok()
            })
        });
        match read {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                // Fails if the caller has already given up.
                let _ = chunks.send((index, Err(error)));
                return;
            }
        }
    }
}

fn split_into_chunks(
    input: &mut Input,
    format: Format,
    hashed: bool,
    buffers: &Receiver<Vec<u8>>,
    mut send: impl FnMut(Chunk) -> bool,
) -> Result<bool> {
    let mut carried = Vec::new();
    let (mut first_line, mut offset) = (1, 0);
    let (mut hash, mut size_read) = (Xxh3::new(), 0);
    loop {
        let Ok(mut bytes) = buffers.recv() else { return Ok(false) };
        bytes.clear();
        bytes.append(&mut carried);
        let mut size = format.chunk_bytes();
        let (end, ended) = loop {
            let ended = input.fill(&mut bytes, size)?;
            if ended {
                break (bytes.len(), ended);
            }
            if let Some(end) = format.split_point(&bytes) {
                break (end, ended);
            }
            if format.is_training_data() {
                if size >= format.max_record_bytes() {
                    return Err(Error::input(
                        input.name(),
                        format!("damaged at byte {offset}: what begins there does not end"),
                    ));
                }
            } else if size >= MAX_LINE_BYTES {
                // A chunk is split even without the end of a game: no real game comes near this size, and
                // every worker may hold several chunks. It must be split between lines, or the rest of a line
                // would be taken for a line of its own.
                match Format::Text.split_point(&bytes) {
                    Some(end) => break (end, ended),
                    None => return Err(endless_line(input.name(), first_line)),
                }
            }
            size *= 2;
        };
        carried.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        let lines = if format.is_text() { memchr::memchr_iter(b'\n', &bytes).count() as u64 } else { 0 };
        let length = bytes.len() as u64;
        if hashed {
            hash.update(&bytes);
            size_read += bytes.len() as u64;
        }
        let ending = ended.then(|| Ending { content: hashed.then(|| (size_read, hash.digest())) });
        if !send(Chunk { source: 0, first_line, offset, ending, bytes }) {
            return Ok(false);
        }
        if ended {
            return Ok(true);
        }
        first_line += lines;
        offset += length;
    }
}

/// Checks the settings common to extractions and imports: inputs, an output that is not one of them, the
/// share of bad lines, threads.
pub(crate) fn check_reading(
    inputs: &[PathBuf],
    output: &Path,
    max_bad_share: f64,
    threads: usize,
) -> Result<()> {
    if inputs.is_empty() {
        return Err(Error::Usage("no input was given".to_string()));
    }
    if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::Usage("-: standard input can be read only once".to_string()));
    }
    let mut known = HashSet::new();
    for path in inputs.iter().filter(|path| path.as_os_str() != "-") {
        // Files that do not exist are reported when they are opened.
        if path.canonicalize().is_ok_and(|path| !known.insert(path)) {
            return Err(Error::Usage(format!("{}: is given twice", path.display())));
        }
    }
    if !(0.0..=1.0).contains(&max_bad_share) {
        return Err(Error::Usage(format!("bad share {max_bad_share}: must be from 0 to 1")));
    }
    if threads == 0 || threads > 1024 {
        return Err(Error::Usage(format!("{threads} threads: must be from 1 to 1024")));
    }
    if let Ok(target) = output.canonicalize()
        && inputs.iter().any(|input| input.canonicalize().is_ok_and(|path| path == target))
    {
        return Err(Error::Usage(format!("{}: is also an input", output.display())));
    }
    Ok(())
}

#[derive(Debug, Default)]
pub(crate) struct Contents(HashMap<(u64, u64), String>);

impl Contents {
    /// Processes the end of an input: sets the earlier input with the same content in `record`, if any, and
    /// adds to `warnings`.
    pub fn finish_source(&mut self, ending: &Ending, record: &mut SourceRecord, warnings: &mut Vec<String>) {
        record.same_as = ending.content.and_then(|content| match self.0.entry(content) {
            hash_map::Entry::Occupied(earlier) => Some(earlier.get().clone()),
            hash_map::Entry::Vacant(entry) => {
                entry.insert(record.path.clone());
                None
            }
        });
        let repeated =
            |earlier: &String| format!("has the same content as {earlier}: everything in it was read twice");
        warnings.extend(record.same_as.as_ref().map(repeated));
    }
}

pub(crate) fn check_room(writer: &DatasetWriter) -> Result<()> {
    if writer.len() > u32::MAX as usize - 1 {
        return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
    }
    Ok(())
}

/// Returns the error for an input with too many unusable lines: `commonest` is the most frequent reason, with
/// its count, `unit` the unit of the input, `share` the share of unusable lines and `limit` the maximum
/// allowed.
pub(crate) fn too_many_bad_lines(
    (record, unit): (&SourceRecord, &str),
    bad_lines: u64,
    (share, limit): (f64, f64),
    commonest: Option<(&str, u64)>,
    first: Option<&String>,
) -> Error {
    let commonest =
        commonest.map_or(String::new(), |(label, count)| format!(", most of them {label} ({count})"));
    let first = first.map_or(String::new(), |first| format!("; the first of them: {first}"));
    Error::input(
        &record.path,
        format!(
            "{bad_lines} of {} {unit} cannot be used ({:.1} %, the limit is {:.1} %){commonest}{first}",
            record.records,
            100.0 * share,
            100.0 * limit
        ),
    )
}
