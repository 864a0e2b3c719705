//! Journals: a configuration in the first line and then a line for every event, in JSON, so that an
//! interrupted run can be resumed.
//!
//! The first line is written as a whole or not at all, a last line that was cut off is ignored, and only the
//! process that holds the lock of the folder writes. What the lines mean is up to the callers.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::appending::AppendFile;
use crate::error::{Error, Result};
use crate::folder_lock::{FolderLock, no_record};

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
    /// Bytes of whole lines.
    whole: u64,
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
    let path = place.path();
    let bytes = crate::read_whole(&path, crate::RECORD_BYTES).map_err(|e| place.missing(e))?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let mut lines = bytes[..whole].split(|byte| *byte == b'\n').zip(1u64..);
    let damaged = |line, e: &dyn std::fmt::Display| {
        Error::line(&path, line, format!("not the journal of a {}, or damaged: {e}", place.what))
    };
    let header = match lines.next() {
        Some((line, _)) if whole > 0 => serde_json::from_slice(line).map_err(|e| damaged(1, &e))?,
        _ => return Err(Error::input(&path, "contains no configuration; no games were played")),
    };
    check(&header)?;
    let mut entries = Vec::new();
    for (line, number) in lines.filter(|(line, _)| !line.is_empty()) {
        entries.push((number, serde_json::from_slice(line).map_err(|e| damaged(number, &e))?));
    }
    Ok(Contents { header, entries, whole: whole as u64 })
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
        let path = place.path();
        let file = OpenOptions::new().read(true).append(true).open(&path).map_err(|e| place.missing(e))?;
        let contents = read(place, check)?;
        let length = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        if contents.whole < length {
            file.set_len(contents.whole).map_err(|e| Error::io(&path, e))?;
        }
        let file = AppendFile::of(&path, file).map_err(|e| Error::io(&path, e))?;
        Ok((Self { file, lock: lock.clone() }, contents))
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
        self.file.append(&line)
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
