//! Opening inputs: files or standard input, plain, compressed, or archives of games, as a stream of decompressed
//! bytes with a look at its beginning.
//!
//! Compression and archives are recognized by the first bytes, never by the name. Only the beginning is held in
//! memory. What follows the last compressed stream is ignored, as gzip does, with a warning.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use super::archive::{Archive, Fault, plain_name};
use super::layers::{Layer, Notes, unpack, zip_in};
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
    archive: Option<Box<dyn Archive>>,
    /// The file of the archive that is being read.
    member: Option<Arc<str>>,
    /// Whether the next bytes are those of the archive's next file.
    between: bool,
    /// Whether what [`fill`](Self::fill) handed on ends with a line end.
    ends_line: bool,
    /// Where compressed data of the current file ended before it did.
    notes: Notes,
    warnings: Vec<String>,
    /// Bytes of the file that were taken so far, and decompressed bytes handed on.
    raw_bytes: Arc<AtomicU64>,
    bytes: u64,
}

/// How far [`Input::fill_member`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The buffer is full; there may be more.
    Full,
    /// A file of an archive has ended; there may be another.
    MemberEnd,
    /// The input has ended.
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

/// Counts the bytes that pass, before decompression.
struct Counted<R> {
    inner: R,
    /// For the caller, over all inputs.
    count: Arc<AtomicU64>,
    /// Of this input.
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
    /// Opens a path, or standard input for `-`, and decompresses its beginning; of an archive, that of its first
    /// file. Compressed bytes are counted in `count` as they are read.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read; [`Error::Input`] for folders, foreign compression
    /// formats, archives of other things than games, and damaged streams.
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
            // Pipes have no place to go back to.
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

    /// Goes on to the archive's next file; returns whether there is one.
    fn next_member(&mut self) -> Result<bool> {
        self.gather_notes();
        self.between = false;
        let Some(archive) = &mut self.archive else { return Ok(false) };
        // Not held any longer: it may hold megabytes for decompression.
        self.rest = Box::new(std::io::empty());
        let member = match archive.next() {
            Ok(member) => member,
            Err(fault) => {
                // What is wrong is the archive, no file in it.
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

    /// The name of the text that is being read, in lower case: that of the archive's file, if it is an archive,
    /// without the endings of compressed files.
    pub fn text_name(&self) -> String {
        plain_name(self.member.as_deref().unwrap_or(&self.name))
    }

    /// The file of an archive that the bytes of the last [`fill_member`](Self::fill_member) belong to; before it,
    /// the first.
    pub fn member(&self) -> Option<&Arc<str>> {
        self.member.as_ref()
    }

    /// The name for messages: with the archive's file, if it is an archive.
    pub fn place(&self) -> String {
        place(&self.name, self.member.as_deref())
    }

    /// The decompressed beginning; of an archive, that of its first file.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether the beginning is everything there is, in the first file if it is an archive.
    pub fn head_is_complete(&self) -> bool {
        self.complete
    }

    /// What was left out, once the end is reached.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Fills `buffer` up to `size` bytes; returns whether the input has ended. The files of an archive follow each
    /// other, with a line end after those that lack it.
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
    ///
    /// # Errors
    /// Those of [`fill`](Self::fill).
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

/// The name of an input for messages, with that of the archive's file, if it is an archive.
pub fn place(name: &str, member: Option<&str>) -> String {
    member.map_or_else(|| name.to_string(), |member| format!("{name}:{member}"))
}
