//! Journals: a configuration in the first line and then a line for every event, in JSON, so that an
//! interrupted run can be resumed.
//!
//! The first line is written as a whole or not at all, a last line that was cut off is ignored, and only the
//! process that holds the lock of the folder writes. What the lines mean is up to the callers.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::appending::AppendFile;
use crate::error::{Error, Result};
use crate::folder_lock::{FolderLock, no_record};
use crate::lines::{Lines, check_length};

/// Where a journal is, and what it is called in messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The name of the file.
    pub name: &'static str,
    /// What it is the journal of, such as "match".
    pub what: &'static str,
}

impl Place<'_> {
    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    /// The error that the journal cannot be opened.
    fn missing(&self, error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                no_record(self.folder, self.name, self.what)
            }
            _ => Error::io(self.path(), error),
        }
    }
}

/// What a journal holds.
pub struct Contents<H, E> {
    /// The first line.
    pub header: H,
    /// The others, with their numbers from 2.
    pub entries: Vec<(u64, E)>,
}

/// Reads a journal, which may be in use. `check` sees the header before anything else is read.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is none, or is damaged elsewhere than in a last line
/// that was cut off; what `check` says.
pub fn read<H: DeserializeOwned, E: DeserializeOwned>(
    place: Place<'_>,
    check: impl FnOnce(&H) -> Result<()>,
) -> Result<Contents<H, E>> {
    let mut entries = Vec::new();
    let (header, _) = scan(place, check, |line, entry| {
        entries.push((line.number, entry));
        Ok(())
    })?;
    Ok(Contents { header, entries })
}

/// Where an entry stands in its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 2.
    pub number: u64,
    /// Its first byte.
    pub offset: u64,
    /// Its bytes, without the line feed.
    pub bytes: usize,
}

/// As [`read`], for journals that may be larger than the memory: `each` sees one entry at a time. Returns the
/// header and the bytes of whole lines.
///
/// # Errors
/// Those of [`read`], and of `each`.
pub fn scan<H: DeserializeOwned, E: DeserializeOwned>(
    place: Place<'_>,
    check: impl FnOnce(&H) -> Result<()>,
    mut each: impl FnMut(Line, E) -> Result<()>,
) -> Result<(H, u64)> {
    let path = place.path();
    let mut lines = Lines::open(&path).map_err(|e| place.missing(e))?;
    let damaged = |line, e: &dyn std::fmt::Display| {
        Error::line(&path, line, format!("not the journal of a {}, or damaged: {e}", place.what))
    };
    let (mut header, mut whole) = (None, 0);
    let mut check = Some(check);
    while let Some(line) = lines.next_line()?.filter(|line| line.ended) {
        let (number, text) = (line.number, line.bytes);
        match (&header, check.take()) {
            (None, Some(check)) => {
                let found = serde_json::from_slice(text).map_err(|e| damaged(number, &e))?;
                check(&found)?;
                header = Some(found);
            }
            _ if text.is_empty() => {}
            _ => {
                let entry = serde_json::from_slice(text).map_err(|e| damaged(number, &e))?;
                each(Line { number, offset: line.offset, bytes: text.len() }, entry)?;
            }
        }
        whole = line.offset + text.len() as u64 + 1;
    }
    match header {
        Some(header) => Ok((header, whole)),
        None => Err(Error::input(&path, "contains no configuration; no games were played")),
    }
}

/// The entry that stands at a place which [`scan`] or [`LineJournal::append`] has named.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is damaged.
pub fn read_at<E: DeserializeOwned>(file: &mut File, path: &Path, line: Line) -> Result<E> {
    let mut text = vec![0; line.bytes];
    let read = file.seek(SeekFrom::Start(line.offset)).and_then(|_| file.read_exact(&mut text));
    read.map_err(|e| Error::io(path, e))?;
    serde_json::from_slice(&text).map_err(|e| Error::line(path, line.number, format!("damaged: {e}")))
}

/// An open journal.
#[derive(Debug)]
pub struct LineJournal {
    file: AppendFile,
    /// Held as long as the journal is open.
    lock: FolderLock,
}

impl LineJournal {
    /// Begins a journal in its folder, replacing one that is there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create<H: Serialize>(lock: &FolderLock, place: Place<'_>, header: &H) -> Result<Self> {
        let path = place.path();
        let mut line = serde_json::to_vec(header).map_err(|e| Error::io(&path, e.into()))?;
        line.push(b'\n');
        check_length(&path, &line)?;
        // Nothing can be resumed without it.
        crate::write_atomically(&path, &line)?;
        Ok(Self { file: AppendFile::open(&path)?, lock: lock.clone() })
    }

    /// Opens a journal to continue it. A last line that was cut off is removed.
    ///
    /// # Errors
    /// Those of [`read`], [`Error::Io`] when it cannot be written.
    pub fn open<H: DeserializeOwned, E: DeserializeOwned>(
        lock: &FolderLock,
        place: Place<'_>,
        check: impl FnOnce(&H) -> Result<()>,
    ) -> Result<(Self, Contents<H, E>)> {
        let mut entries = Vec::new();
        let (journal, header) = Self::open_each(lock, place, check, |line, entry| {
            entries.push((line.number, entry));
            Ok(())
        })?;
        Ok((journal, Contents { header, entries }))
    }

    /// As [`open`](Self::open), for journals that may be larger than the memory; see [`scan`].
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and of `each`.
    pub fn open_each<H: DeserializeOwned, E: DeserializeOwned>(
        lock: &FolderLock,
        place: Place<'_>,
        check: impl FnOnce(&H) -> Result<()>,
        each: impl FnMut(Line, E) -> Result<()>,
    ) -> Result<(Self, H)> {
        let path = place.path();
        let file = OpenOptions::new().read(true).append(true).open(&path).map_err(|e| place.missing(e))?;
        let (header, whole) = scan(place, check, each)?;
        let length = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        if whole < length {
            file.set_len(whole).map_err(|e| Error::io(&path, e))?;
        }
        let file = AppendFile::of(&path, file).map_err(|e| Error::io(&path, e))?;
        Ok((Self { file, lock: lock.clone() }, header))
    }

    /// Adds an event; once this returns, it survives the end of the process.
    ///
    /// # Errors
    /// [`Error::Io`]; those of [`check`](Self::check).
    pub fn append<E: Serialize>(&mut self, entry: &E) -> Result<()> {
        let path = self.lock.folder();
        let mut line = serde_json::to_vec(entry).map_err(|e| Error::io(path, e.into()))?;
        line.push(b'\n');
        self.lock.check()?;
        self.file.append_line(&line)
    }

    /// Checks that what was added is still there.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder or the journal was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        self.lock.check()?;
        self.file.check()
    }
}
