//! Opens inputs: files or standard input, plain or compressed, as a stream of decompressed bytes with access to
//! its beginning.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layers::{Fault, plain_name, unpack};
use crate::error::{Error, Result};

/// Number of bytes of the beginning that are decompressed for detection; a few thousand lines.
pub const HEAD_BYTES: usize = 1 << 19;
/// Maximum length of a line, bytes.
pub const MAX_LINE_BYTES: usize = 1 << 22;

/// Returns the error for a line longer than [`MAX_LINE_BYTES`].
pub fn endless_line(name: &str, line: u64) -> Error {
    Error::line(name, line, format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20))
}

/// Number of bytes of the beginning that identify a container of a dataset.
pub const CONTAINER_BYTES: usize = 9;

/// Returns true if a file begins like a safetensors container: a length, then a JSON object.
pub fn is_container(head: &[u8]) -> bool {
    head.len() >= CONTAINER_BYTES && head[8] == b'{' && head[4..8] == [0; 4]
}

pub struct Input {
    name: String,
    head: Vec<u8>,
    /// Number of bytes of the head that were read already.
    taken: usize,
    complete: bool,
    rest: Box<dyn Read + Send>,
    /// Number of bytes of the file read so far, and of decompressed bytes returned.
    raw_bytes: Arc<AtomicU64>,
    bytes: u64,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("head", &self.head.len())
            .finish_non_exhaustive()
    }
}

/// Counts the bytes read, before decompression.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
    own: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        self.own.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Input {
    /// Opens a path, or standard input for `-`, and decompresses its beginning.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::Input`] for folders, archives, unsupported compression
    /// formats, and damaged streams.
    pub fn open(path: &Path, count: Arc<AtomicU64>) -> Result<Self> {
        let name = path.display().to_string();
        let raw_bytes = Arc::new(AtomicU64::new(0));
        let mut input = Self {
            name,
            head: Vec::new(),
            taken: 0,
            complete: false,
            rest: Box::new(std::io::empty()),
            raw_bytes: Arc::clone(&raw_bytes),
            bytes: 0,
        };
        let stream = if input.name == "-" {
            let raw = Counted { inner: std::io::stdin(), count, own: raw_bytes };
            unpack(raw)
        } else {
            let file = File::open(path).map_err(|e| Error::io(path, e))?;
            if file.metadata().map_err(|e| Error::io(path, e))?.is_dir() {
                return Err(Error::input(path, "is a folder; name the files in it"));
            }
            unpack(Counted { inner: file, count, own: raw_bytes })
        };
        input.rest = stream.map_err(|fault| input.fault(fault))?;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        let read = (&mut input.rest).take(HEAD_BYTES as u64).read_to_end(&mut head);
        read.map_err(|e| input.read_error(&e))?;
        if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
            return Err(Error::input(path, "is UTF-16 text; convert it to UTF-8"));
        }
        input.complete = head.len() < HEAD_BYTES;
        input.head = head;
        Ok(input)
    }

    /// Rejects anything but text: a dataset, or data with many zeros at the beginning.
    pub fn require_text(&self) -> Result<()> {
        if is_container(&self.head) {
            return Err(Error::input(&self.name, "is a dataset already, not games or positions"));
        }
        // Damaged text may have a few of them.
        let start = &self.head[..self.head.len().min(4096)];
        if 16 * memchr::memchr_iter(0, start).count() > start.len() {
            return Err(Error::input(&self.name, "is not text"));
        }
        Ok(())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name in lower case and without the extensions of compressed files.
    pub fn text_name(&self) -> String {
        plain_name(&self.name)
    }

    /// Returns the decompressed beginning.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns true if the beginning is the whole input.
    pub fn head_is_complete(&self) -> bool {
        self.complete
    }

    /// Fills `buffer` up to `size` bytes; returns true if the input has ended.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] for damaged compressed streams.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<bool> {
        let before = buffer.len();
        let from_head = size.saturating_sub(buffer.len()).min(self.head.len() - self.taken);
        buffer.extend_from_slice(&self.head[self.taken..self.taken + from_head]);
        self.taken += from_head;
        if self.taken == self.head.len() {
            self.head = Vec::new();
            self.taken = 0;
        }
        let wanted = size.saturating_sub(buffer.len()) as u64;
        let read = (&mut self.rest).take(wanted).read_to_end(buffer).map_err(|e| {
            self.bytes += (buffer.len() - before) as u64;
            self.read_error(&e)
        })?;
        self.bytes += (buffer.len() - before) as u64;
        Ok((read as u64) < wanted)
    }

    fn read_error(&self, error: &std::io::Error) -> Error {
        use std::io::ErrorKind::{InvalidData, InvalidInput, Other, OutOfMemory, UnexpectedEof, Unsupported};
        let read = self.bytes.max(self.head.len() as u64);
        let at = self.raw_bytes.load(Ordering::Relaxed);
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof | Other | OutOfMemory | Unsupported => Error::input(
                &self.name,
                format!(
                    "the compressed stream is damaged or cut short: {error} ({read} bytes of text were read, \
                     up to byte {at} of the file)"
                ),
            ),
            kind => Error::io(&self.name, std::io::Error::new(kind, error.to_string())),
        }
    }

    fn fault(&self, fault: Fault) -> Error {
        match fault {
            Fault::Read(error) => self.read_error(&error),
            Fault::Refused(reason) => Error::input(&self.name, reason),
        }
    }
}
