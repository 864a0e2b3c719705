//! Opens inputs: files or standard input, plain, compressed, or archives of games, as a stream of
//! decompressed bytes with access to its beginning.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::archive::{Archive, Fault, plain_name};
use super::layers::{Layer, Notes, unpack, zip_in};
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
    archive: Option<Box<dyn Archive>>,
    member: Option<Arc<str>>,
    /// True if the next bytes are those of the archive's next file.
    between: bool,
    /// True if the output of [`fill`](Self::fill) so far ends with a line end.
    ends_line: bool,
    /// Positions where compressed data of the current file ended before it did.
    notes: Notes,
    warnings: Vec<String>,
    /// Number of bytes of the file read so far, and of decompressed bytes returned.
    raw_bytes: Arc<AtomicU64>,
    bytes: u64,
}

/// Result of [`Input::fill_member`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    Full,
    MemberEnd,
    End,
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
    /// Opens a path, or standard input for `-`, and decompresses its beginning; for an archive, that of its
    /// first file.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::Input`] for folders, unsupported compression formats,
    /// archives of anything but games, and damaged streams.
    pub fn open(path: &Path, count: Arc<AtomicU64>) -> Result<Self> {
        let name = path.display().to_string();
        let raw_bytes = Arc::new(AtomicU64::new(0));
        let mut input = Self {
            name,
            head: Vec::new(),
            taken: 0,
            complete: false,
            rest: Box::new(std::io::empty()),
            archive: None,
            member: None,
            between: false,
            ends_line: true,
            notes: Vec::new(),
            warnings: Vec::new(),
            raw_bytes: Arc::clone(&raw_bytes),
            bytes: 0,
        };
        let layer = if input.name == "-" {
            let raw = Counted { inner: std::io::stdin(), count, own: raw_bytes };
            unpack(raw, &mut input.notes)
        } else {
            let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
            let metadata = file.metadata().map_err(|e| Error::io(path, e))?;
            if metadata.is_dir() {
                return Err(Error::input(path, "is a folder; name the files in it"));
            }
            let (all, own) = (Arc::clone(&count), Arc::clone(&raw_bytes));
            let counted = move |file| -> Box<dyn Read + Send> {
                Box::new(Counted { inner: file, count: Arc::clone(&all), own: Arc::clone(&own) })
            };
            // Pipes cannot be rewound.
            match if metadata.is_file() { zip_in(&mut file, counted) } else { Ok(None) } {
                Ok(Some(archive)) => Ok(Layer::Archive(archive)),
                Ok(None) => unpack(Counted { inner: file, count, own: raw_bytes }, &mut input.notes),
                Err(fault) => Err(fault),
            }
        };
        match layer.map_err(|fault| input.fault(fault))? {
            Layer::Stream(stream) => input.rest = stream,
            Layer::Archive(archive) => {
                input.archive = Some(archive);
                input.next_member()?;
            }
        }
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

    fn next_member(&mut self) -> Result<bool> {
        self.gather_notes();
        self.between = false;
        let Some(archive) = &mut self.archive else { return Ok(false) };
        // Dropped early, since decompression may use megabytes.
        self.rest = Box::new(std::io::empty());
        let member = match archive.next() {
            Ok(member) => member,
            Err(fault) => {
                // The fault is in the archive, not in a file of it.
                self.member = None;
                return Err(self.fault(fault));
            }
        };
        let Some(member) = member else {
            self.warnings.extend(archive.notes());
            self.archive = None;
            return Ok(false);
        };
        self.member = Some(member.name.into());
        match unpack(member.content, &mut self.notes).map_err(|fault| self.fault(fault))? {
            Layer::Stream(stream) => self.rest = stream,
            Layer::Archive(_) => {
                return Err(
                    self.fault(Fault::Refused("is an archive within an archive; unpack it".to_string()))
                );
            }
        }
        Ok(true)
    }

    fn gather_notes(&mut self) {
        let place = self.place();
        for note in self.notes.drain(..) {
            let garbage = *note.lock().unwrap_or_else(PoisonError::into_inner);
            self.warnings.extend(garbage.map(|garbage| {
                let (format, at) = (garbage.format, garbage.at);
                format!(
                    "the {format} data of {place} end at byte {at}; what follows is not {format} and was left out"
                )
            }));
        }
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

    /// Returns the name of the current text, in lower case and without the extensions of compressed files: that of the
    /// archive's file, if it is an archive.
    pub fn text_name(&self) -> String {
        plain_name(self.member.as_deref().unwrap_or(&self.name))
    }

    /// Returns the file of an archive that the bytes of the last [`fill_member`](Self::fill_member) belong to; before
    /// the first call, the first file.
    pub fn member(&self) -> Option<&Arc<str>> {
        self.member.as_ref()
    }

    /// Returns the name for messages: with the archive's file, if it is an archive.
    pub fn place(&self) -> String {
        place(&self.name, self.member.as_deref())
    }

    /// Returns the decompressed beginning; for an archive, that of its first file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns true if the beginning is the whole input, or the whole first file of an archive.
    pub fn head_is_complete(&self) -> bool {
        self.complete
    }

    /// Returns warnings about data left out, once the end is reached.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Fills `buffer` up to `size` bytes; returns true if the input has ended. The files of an archive are
    /// concatenated, with a line end after those that lack it.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] for damaged compressed streams.
    pub fn fill(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<bool> {
        loop {
            let before = buffer.len();
            let filled = self.fill_member(buffer, size)?;
            if let Some(last) = buffer[before..].last() {
                self.ends_line = *last == b'\n';
            }
            match filled {
                Filled::Full => return Ok(false),
                Filled::End => return Ok(true),
                Filled::MemberEnd if !self.ends_line => {
                    buffer.push(b'\n');
                    self.ends_line = true;
                }
                Filled::MemberEnd => {}
            }
        }
    }

    /// Fills `buffer` up to `size` bytes, but not beyond the end of an archive's file.
    pub fn fill_member(&mut self, buffer: &mut Vec<u8>, size: usize) -> Result<Filled> {
        if self.between && !self.next_member()? {
            return Ok(Filled::End);
        }
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
        if read as u64 == wanted {
            return Ok(Filled::Full);
        }
        if self.archive.is_some() {
            self.between = true;
            return Ok(Filled::MemberEnd);
        }
        self.gather_notes();
        Ok(Filled::End)
    }

    fn read_error(&self, error: &std::io::Error) -> Error {
        use std::io::ErrorKind::{InvalidData, InvalidInput, Other, OutOfMemory, UnexpectedEof, Unsupported};
        let read = self.bytes.max(self.head.len() as u64);
        let at = self.raw_bytes.load(Ordering::Relaxed);
        match error.kind() {
            InvalidData | InvalidInput | UnexpectedEof | Other | OutOfMemory | Unsupported => Error::input(
                self.place(),
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
            Fault::Refused(reason) => Error::input(self.place(), reason),
        }
    }
}

/// Returns the name of an input for messages, with that of the archive's file, if it is an archive.
pub fn place(name: &str, member: Option<&str>) -> String {
    member.map_or_else(|| name.to_string(), |member| format!("{name}:{member}"))
}
