//! The inputs: what each of them is, found out before any is read through, and the thread that
//! cuts them into chunks of whole records.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

use super::ExtractSettings;
use super::lettering::{Lettering, detect_letters};
use gputexel_chess::detection::{Detection, InputKind, detect_kind, detect_text, foreign_format};
use gputexel_files::input::{Input, MAX_LINE_BYTES, endless_line};
use gputexel_files::{Error, Result};

/// Decompressed bytes of a chunk, unless a record is longer.
const CHUNK_BYTES: usize = 1 << 20;

/// An input that was looked at.
#[derive(Debug)]
pub struct Source {
    pub path: PathBuf,
    pub kind: InputKind,
    /// For labelled text.
    pub detection: Option<Detection>,
    /// For games whose pieces have other letters than in English.
    pub lettering: Option<Lettering>,
    /// File size, unless it is a pipe.
    pub bytes: Option<u64>,
    /// Pipes stay open, since they cannot be read twice. Files are opened anew: there may be more
    /// of them than may be open at a time.
    opened: Option<Input>,
}

impl Source {
    /// Looks at the beginning of every input.
    pub fn prepare(
        inputs: &[PathBuf],
        settings: &ExtractSettings,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Vec<Self>> {
        inputs.iter().map(|path| Self::look(path, settings, bytes_read)).collect()
    }

    fn look(path: &Path, settings: &ExtractSettings, bytes_read: &Arc<AtomicU64>) -> Result<Self> {
        let file = std::fs::metadata(path).ok().filter(|m| path.as_os_str() != "-" && m.is_file());
        let count = if file.is_some() { Arc::default() } else { Arc::clone(bytes_read) };
        let input = Input::open(path, count)?;
        if let Some(reason) = foreign_format(input.head()) {
            return Err(Error::input(path, reason));
        }
        let kind = detect_kind(input.name(), input.head());
        let detection = match kind {
            InputKind::Pgn if input.head().trim_ascii().is_empty() => {
                return Err(Error::input(path, "is empty: it contains no games"));
            }
            InputKind::Pgn => None,
            InputKind::Text => {
                Some(detect_text(input.name(), input.head(), input.head_is_complete(), settings.asked())?)
            }
        };
        let lettering = match (&settings.piece_letters, kind) {
            (_, InputKind::Text) => None,
            (Some(letters), _) => Some(Lettering { letters: letters.clone(), evidence: None }),
            (None, _) => detect_letters(path, input.head(), input.head_is_complete())?,
        };
        let opened = if file.is_some() { None } else { Some(input) };
        Ok(Self {
            path: path.to_path_buf(),
            kind,
            detection,
            lettering,
            bytes: file.map(|m| m.len()),
            opened,
        })
    }

    /// Whether its positions belong to games.
    pub fn has_games(&self) -> bool {
        self.detection.as_ref().is_none_or(|detection| detection.has_games)
    }
}

/// What is known of an input once it has been read.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// What was left out after compressed data.
    pub warning: Option<String>,
    /// Bytes and hash of the decompressed content, where there are several inputs.
    pub content: Option<(u64, u64)>,
}

/// Tells inputs with the same content.
#[derive(Debug, Default)]
pub struct Contents(HashMap<(u64, u64), String>);

impl Contents {
    /// The earlier input that has the content of this one, if any.
    pub fn same_as(&mut self, path: &str, ending: &Ending) -> Option<String> {
        match self.0.entry(ending.content?) {
            Entry::Occupied(earlier) => Some(earlier.get().clone()),
            Entry::Vacant(entry) => {
                entry.insert(path.to_string());
                None
            }
        }
    }
}

/// The warning about an input that repeats another.
pub fn repeats(earlier: &str) -> String {
    format!("has the same content as {earlier}: everything in it was read twice")
}

/// A piece of an input.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Index of its source.
    pub source: usize,
    /// Number of its first line, from 1.
    pub first_line: u64,
    /// Where the source ends with it.
    pub ending: Option<Ending>,
    pub bytes: Vec<u8>,
}

/// Reads all sources and sends their chunks, numbered in order; an error is the last. Every chunk uses up one of the empty
/// buffers that come from `buffers`, which bounds the memory. Ends early when the other side has
/// hung up.
pub fn read_chunks(
    mut sources: Vec<(PathBuf, InputKind, Option<Input>)>,
    bytes_read: &Arc<AtomicU64>,
    buffers: &Receiver<Vec<u8>>,
    chunks: &SyncSender<(u64, Result<Chunk>)>,
) {
    let mut index = 0;
    let several = sources.len() > 1;
    for (source, (path, kind, opened)) in sources.iter_mut().enumerate() {
        let opened = opened.take().map_or_else(|| Input::open(path, Arc::clone(bytes_read)), Ok);
        let read = opened.and_then(|mut input| {
            cut(&mut input, *kind == InputKind::Pgn, several, buffers, |chunk| {
                index += 1;
                chunks.send((index - 1, Ok(Chunk { source, ..chunk }))).is_ok()
            })
        });
        match read {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                let _ = chunks.send((index, Err(error))); // nobody to tell: the other side has given up
                return;
            }
        }
    }
}

/// Processes chunks until there are no more or nobody wants them. A panic goes the way of the result, so
/// that the caller can go on with it.
pub fn work<T>(
    chunks: &Mutex<Receiver<(u64, Result<Chunk>)>>,
    finished: &Sender<(u64, std::thread::Result<Result<T>>)>,
    process: &dyn Fn(Chunk) -> T,
) {
    loop {
        let received = chunks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let (index, result) = match received {
            Err(_) => return,
            Ok((index, Err(error))) => (index, Ok(Err(error))),
            Ok((index, Ok(chunk))) => {
                let process = || process(chunk);
                (index, std::panic::catch_unwind(std::panic::AssertUnwindSafe(process)).map(Ok))
            }
        };
        if finished.send((index, result)).is_err() {
            return;
        }
    }
}

/// Checks what all readers of positions are told: inputs, an output that is none of them, the share of
/// broken lines, threads.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_reading(inputs: &[PathBuf], output: &Path, max_bad_share: f64, threads: usize) -> Result<()> {
    if inputs.is_empty() {
        return Err(Error::Usage("no input was given".to_string()));
    }
    if inputs.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Error::Usage("-: standard input can be read only once".to_string()));
    }
    let mut known = HashSet::new();
    for path in inputs.iter().filter(|path| path.as_os_str() != "-") {
        // What cannot be found is told when it is opened.
        if path.canonicalize().is_ok_and(|path| !known.insert(path)) {
            return Err(Error::Usage(format!("{}: is given twice", path.display())));
        }
    }
    if !(0.0..=1.0).contains(&max_bad_share) {
        return Err(Error::Usage(format!("bad share {}: must be from 0 to 1", max_bad_share)));
    }
    if threads == 0 || threads > 1024 {
        return Err(Error::Usage(format!("{} threads: must be from 1 to 1024", threads)));
    }
    if let Ok(target) = output.canonicalize()
        && inputs.iter().any(|input| input.canonicalize().is_ok_and(|path| path == target))
    {
        return Err(Error::Usage(format!("{}: is also an input", output.display())));
    }
    Ok(())
}

/// Cuts one input; returns whether anyone still listens.
fn cut(
    input: &mut Input,
    pgn: bool,
    hashed: bool,
    buffers: &Receiver<Vec<u8>>,
    mut send: impl FnMut(Chunk) -> bool,
) -> Result<bool> {
    let mut carried = Vec::new();
    let mut first_line = 1;
    let (mut hash, mut size_read) = (Xxh3::new(), 0);
    loop {
        let Ok(mut bytes) = buffers.recv() else { return Ok(false) };
        bytes.clear();
        bytes.append(&mut carried);
        let mut size = CHUNK_BYTES;
        let (end, last) = loop {
            if input.fill(&mut bytes, size)? {
                break (bytes.len(), true);
            }
            if let Some(end) = split_point(&bytes, pgn) {
                break (end, false);
            }
            if size >= MAX_LINE_BYTES {
                // A chunk without the end of a game is cut anyway: none comes near this size, and every
                // worker may have several.
                // Cut anywhere else, the rest of a line would be taken for one of its own.
                match split_point(&bytes, false) {
                    Some(end) => break (end, false),
                    None => return Err(endless_line(input.name(), first_line)),
                }
            }
            size *= 2;
        };
        carried.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        let lines = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        if hashed {
            hash.update(&bytes);
            size_read += bytes.len() as u64;
        }
        let ending = last.then(|| Ending {
            warning: input.warning(),
            content: hashed.then(|| (size_read, hash.digest())),
        });
        if !send(Chunk { source: 0, first_line, ending, bytes }) {
            return Ok(false);
        }
        if last {
            return Ok(true);
        }
        first_line += lines;
    }
}

impl Source {
    /// What [`read_chunks`] needs of it.
    pub fn take_reading(&mut self) -> (PathBuf, InputKind, Option<Input>) {
        (self.path.clone(), self.kind, self.opened.take())
    }
}

/// Where a chunk of complete records ends.
pub(crate) fn split_point(buffer: &[u8], pgn: bool) -> Option<usize> {
    if pgn {
        gputexel_chess::pgn::last_game_start(buffer)
    } else {
        memchr::memrchr(b'\n', buffer).map(|at| at + 1)
    }
}
