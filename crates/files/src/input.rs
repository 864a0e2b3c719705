//! Opening inputs: files or standard input, plain or compressed, as a stream of decompressed
//! bytes with a look at its beginning.
//!
//! Compression is recognized by the first bytes, never by the name. Only the beginning is held in memory. What
//! follows the last gzip member is ignored, as gzip does, with a warning.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::gzip::Members;
use crate::error::{Error, Result};

/// Bytes of the beginning that are decompressed for detection; a few thousand lines.
pub const HEAD_BYTES: usize = 1 << 19;

/// Bytes within which every line ends.
pub const MAX_LINE_BYTES: usize = 1 << 22;

/// What is said of a line that does not end within [`MAX_LINE_BYTES`].
pub fn endless_line(name: &str, line: u64) -> Error {
    Error::line(name, line, format!("the line is longer than {} MiB", MAX_LINE_BYTES >> 20))
}

/// Bytes of the beginning that tell a container of a dataset.
pub const CONTAINER_BYTES: usize = 9;

/// Whether a file begins like a safetensors container: a length, then a JSON object.
pub fn is_container(head: &[u8]) -> bool {
    head.len() >= CONTAINER_BYTES && head[8] == b'{' && head[4..8] == [0; 4]
}

/// An opened input.
pub struct Input {
    name: String,
    head: Vec<u8>,
    /// Bytes of the head that were read already.
    taken: usize,
    complete: bool,
    rest: Box<dyn Read + Send>,
    /// Where compressed data ended before the file did, [`u64::MAX`] until then.
    garbage_at: Arc<AtomicU64>,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("head", &self.head.len())
            .finish_non_exhaustive()
    }
}

/// Counts the bytes that pass, before decompression.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Input {
    /// Opens a path, or standard input for `-`, and decompresses its beginning. Compressed bytes
    /// are counted in `count` as they are read.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::Input`] for folders, foreign compression
    /// formats and damaged streams.
    pub fn open(path: &Path, count: Arc<AtomicU64>) -> Result<Self> {
        let name = path.display().to_string();
        let raw: Box<dyn Read + Send> = if name == "-" {
            Box::new(std::io::stdin())
        } else {
            let file = File::open(path).map_err(|e| Error::io(path, e))?;
            if file.metadata().map_err(|e| Error::io(path, e))?.is_dir() {
                return Err(Error::input(path, "is a folder; name the files in it"));
            }
            Box::new(file)
        };
        let mut input = Self::decompress(name, Counted { inner: raw, count })?;
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

    fn decompress(name: String, mut raw: impl Read + Send + 'static) -> Result<Self> {
        let mut magic = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut magic).map_err(|e| Error::io(&name, e))?;
        let foreign = [
            (&b"BZh"[..], "bzip2"),
            (b"\xfd7zXZ", "xz"),
            (b"PK\x03\x04", "zip"),
            (b"7z\xbc\xaf", "7z"),
            (b"Rar!", "rar"),
        ];
        if let Some((_, format)) = foreign.iter().find(|(start, _)| magic.starts_with(start)) {
            return Err(Error::input(
                name,
                format!(
                    "is compressed with {format}; only zst and gz can be read, or a pipe: … | gputexel extract -"
                ),
            ));
        }
        let stream = std::io::Cursor::new(magic.clone()).chain(raw);
        let garbage_at = Arc::new(AtomicU64::new(u64::MAX));
        // Parallel compressors write many frames, some of them after a skippable one; the decoder
        // goes on over both.
        let skippable = matches!(magic[..], [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        let rest: Box<dyn Read + Send> = if skippable || magic.starts_with(b"\x28\xb5\x2f\xfd") {
            let mut decoder = zstd::stream::read::Decoder::new(stream).map_err(|e| Error::io(&name, e))?;
            // Large collections are written with --long, whose windows are refused by default.
            decoder.window_log_max(31).map_err(|e| Error::io(&name, e))?;
            Box::new(decoder)
        } else if magic.starts_with(b"\x1f\x8b") {
            Box::new(Members::new(BufReader::with_capacity(1 << 16, stream), Arc::clone(&garbage_at)))
        } else {
            Box::new(stream)
        };
        Ok(Self { name, head: Vec::new(), taken: 0, complete: false, rest, garbage_at })
    }

    /// Refuses what is not text: a dataset, or anything with many zeros at its beginning.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn require_text(&self) -> Result<()> {
        if is_container(&self.head) {
            return Err(Error::input(&self.name, "is a dataset already, not games or positions"));
        }
        // Broken text may have a few of them.
        let start = &self.head[..self.head.len().min(4096)];
        if 16 * memchr::memchr_iter(0, start).count() > start.len() {
            return Err(Error::input(&self.name, "is not text"));
        }
        Ok(())
    }

    /// The name as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The decompressed beginning.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether the beginning is everything there is.
    pub fn head_is_complete(&self) -> bool {
        self.complete
    }

    /// What was left out at the end of the file, once that is reached.
    pub fn warning(&self) -> Option<String> {
        match self.garbage_at.load(Ordering::Relaxed) {
            u64::MAX => None,
            offset => Some(format!(
                "the gzip data of {} end at byte {offset}; what follows is not gzip and was left out",
                self.name
            )),
        }
    }

    /// Fills `buffer` up to `size` bytes; returns whether the input has ended.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] for damaged compressed streams.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<bool> {
        let from_head = size.saturating_sub(buffer.len()).min(self.head.len() - self.taken);
        buffer.extend_from_slice(&self.head[self.taken..self.taken + from_head]);
        self.taken += from_head;
        if self.taken == self.head.len() {
            self.head = Vec::new();
            self.taken = 0;
        }
        let wanted = size.saturating_sub(buffer.len()) as u64;
        let read = (&mut self.rest).take(wanted).read_to_end(buffer).map_err(|e| self.read_error(&e))?;
        Ok((read as u64) < wanted)
    }

    fn read_error(&self, error: &std::io::Error) -> Error {
        use std::io::ErrorKind::{InvalidData, InvalidInput, Other, UnexpectedEof};
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof | Other => {
                Error::input(&self.name, format!("the compressed stream is damaged or cut short: {error}"))
            }
            kind => Error::io(&self.name, std::io::Error::new(kind, error.to_string())),
        }
    }
}
