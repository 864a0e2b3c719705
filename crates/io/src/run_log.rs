//! Logs of runs: a header in the first line, then one line per event, in JSON, so that an interrupted run can
//! be resumed.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::appending::AppendFile;
use crate::error::{Error, Result};
use crate::folder_lock::{FolderLock, no_record};
use crate::lines::{Lines, check_length};

#[derive(Clone, Copy, Debug)]
pub struct LogFile {
    pub name: &'static str,
    pub what: &'static str,
}

impl LogFile {
    pub fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.name)
    }

    /// Reads a log, which may be in use and larger than the memory: calls `check` with the header before
    /// anything else is read, then `each` with one entry at a time.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Input`] when it is not a log, or is damaged other than by an incomplete
    /// last line; errors of `check` and `each`.
    pub fn read<H: DeserializeOwned, E: DeserializeOwned>(
        self,
        folder: &Path,
        check: impl FnOnce(&H) -> Result<()>,
        each: impl FnMut(LogLine, E) -> Result<()>,
    ) -> Result<H> {
        self.scan(folder, check, each).map(|(header, _)| header)
    }

    /// Reads as [`read`](Self::read), with the bytes of whole lines.
    fn scan<H: DeserializeOwned, E: DeserializeOwned>(
        self,
        folder: &Path,
        check: impl FnOnce(&H) -> Result<()>,
        mut each: impl FnMut(LogLine, E) -> Result<()>,
    ) -> Result<(H, u64)> {
        let path = self.path(folder);
        let mut lines = Lines::open(&path).map_err(|e| self.missing(folder, e))?;
        let damaged = |line, e: &dyn std::fmt::Display| {
            Error::line(&path, line, format!("not the journal of a {}, or damaged: {e}", self.what))
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
                    each(LogLine { number, offset: line.offset, bytes: text.len() }, entry)?;
                }
            }
            whole = line.offset + text.len() as u64 + 1;
        }
        match header {
            Some(header) => Ok((header, whole)),
            None => Err(Error::input(&path, "contains no configuration; no games were played")),
        }
    }

    fn missing(self, folder: &Path, error: std::io::Error) -> Error {
        match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                no_record(folder, self.name, self.what)
            }
            _ => Error::io(self.path(folder), error),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub number: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its bytes, without the line feed.
    pub bytes: usize,
}

/// Reads the entry at a position from [`LogFile::read`].
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] when it is damaged.
pub fn read_at<E: DeserializeOwned>(file: &mut File, path: &Path, line: LogLine) -> Result<E> {
    let mut text = vec![0; line.bytes];
    let read = file.seek(SeekFrom::Start(line.offset)).and_then(|_| file.read_exact(&mut text));
    read.map_err(|e| Error::io(path, e))?;
    serde_json::from_slice(&text).map_err(|e| Error::line(path, line.number, format!("damaged: {e}")))
}

/// An open log with entries of type `E`.
#[derive(Debug)]
pub struct RunLog<E> {
    file: AppendFile,
    lock: FolderLock,
    entries: PhantomData<fn(E)>,
}

impl<E: Serialize> RunLog<E> {
    /// Creates a log in a locked folder, replacing an existing one.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] for a header that is too long to be read again.
    pub fn create<H: Serialize>(lock: &FolderLock, log: LogFile, header: &H) -> Result<Self> {
        let path = log.path(lock.folder());
        let mut line = serde_json::to_vec(header).map_err(|e| Error::io(&path, e.into()))?;
        line.push(b'\n');
        check_length(&path, &line)?;
        // Without it, nothing can be resumed.
        crate::write_atomically(&path, &line)?;
        Ok(Self { file: AppendFile::open(&path)?, lock: lock.clone(), entries: PhantomData })
    }

    /// Opens a log to continue it, and reads it as [`LogFile::read`]. Removes an incomplete last line.
    ///
    /// # Errors
    /// As [`LogFile::read`]; [`Error::Io`] when it cannot be written.
    pub fn open<H: DeserializeOwned>(
        lock: &FolderLock,
        log: LogFile,
        check: impl FnOnce(&H) -> Result<()>,
        each: impl FnMut(LogLine, E) -> Result<()>,
    ) -> Result<(Self, H)>
    where
        E: DeserializeOwned,
    {
        let path = log.path(lock.folder());
        let opened = OpenOptions::new().read(true).append(true).open(&path);
        let file = opened.map_err(|e| log.missing(lock.folder(), e))?;
        let (header, whole) = log.scan(lock.folder(), check, each)?;
        let length = file.metadata().map_err(|e| Error::io(&path, e))?.len();
        if whole < length {
            file.set_len(whole).map_err(|e| Error::io(&path, e))?;
        }
        let file = AppendFile::of(&path, file).map_err(|e| Error::io(&path, e))?;
        Ok((Self { file, lock: lock.clone(), entries: PhantomData }, header))
    }

    /// Appends an event; once this returns, it survives the end of the process.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] for a line that is too long to be read again; errors of [`check`](Self::check).
    pub fn append(&mut self, entry: &E) -> Result<()> {
        let path = self.lock.folder();
        let mut line = serde_json::to_vec(entry).map_err(|e| Error::io(path, e.into()))?;
        line.push(b'\n');
        self.lock.check()?;
        self.file.append_line(&line)
    }
}

impl<E> RunLog<E> {
    /// Checks that the log still exists.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder or the log was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        self.lock.check()?;
        self.file.check()
    }
}
