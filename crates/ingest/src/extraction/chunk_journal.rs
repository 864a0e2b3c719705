//! File of an unfinished extraction: its inputs and settings, and then the chunks that were read, in order.
//!
//! Each record is preceded by its length and a checksum, so that truncated or damaged records are detected.
//! They and what follows are read from the inputs again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::encode::Encoded;
use super::stored_chunk::{ChunkPlace, StoredChunk, read_rows, write_rows};
use crate::reading::Stamp;
use gputexel_io::{Error, Result};

/// Number of bytes of a record's length and checksum.
const PREFIX_BYTES: u64 = 16;

/// Largest number of bytes of a record: a chunk has a few megabytes of rows.
const MAX_RECORD_BYTES: u64 = 1 << 32;

/// Number of bytes after which written data are synced.
const SYNC_BYTES: u64 = 64 << 20;

const FORMAT: &str = "gputexel extraction";

/// Identity of an extraction: everything that affects its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    format: String,
    /// Version of the program, since others may compute other features.
    version: String,
    /// Inputs as they were named.
    pub inputs: Vec<String>,
    /// Settings by name.
    pub settings: BTreeMap<String, String>,
}

impl Header {
    pub fn new(inputs: &[PathBuf], settings: BTreeMap<String, String>) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            inputs: inputs.iter().map(|path| path.display().to_string()).collect(),
            settings,
        }
    }

    /// Describes the difference from the extraction that was begun, if there is one.
    fn difference(&self, begun: &Self) -> Option<String> {
        if self.version != begun.version {
            return Some(format!("was begun by version {}, and this is {}", begun.version, self.version));
        }
        if self.inputs != begun.inputs {
            return Some("was begun with other inputs, or in another order".to_string());
        }
        let names = self.settings.keys().chain(begun.settings.keys());
        let value = |header: &Self, name: &String| {
            let value = header.settings.get(name).cloned().unwrap_or_else(|| "none".to_string());
            // A feature set is too long for a message.
            if value.len() > 60 { "another".to_string() } else { value }
        };
        let differs = |name: &&String| self.settings.get(*name) != begun.settings.get(*name);
        names.into_iter().find(differs).map(|name| match (value(begun, name), value(self, name)) {
            (old, new) if old == new => format!("was begun with another setting of {name}"),
            (old, new) => format!("was begun with {name} {old}, not {new}"),
        })
    }
}

/// Chunk in the file.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Place of the chunk.
    pub place: ChunkPlace,
    /// State of its source file, for the last chunk of a file.
    pub stamp: Option<Stamp>,
    /// Offset of its record, and the number of the record's bytes.
    offset: u64,
    bytes: u64,
}

/// An unfinished extraction: its file, the chunks in it, and the offset of damage, if any.
pub type Begun = (ChunkJournal, Vec<Kept>, Option<u64>);

/// Open file of an unfinished extraction.
#[derive(Debug)]
pub struct ChunkJournal {
    path: PathBuf,
    file: File,
    /// Reader of earlier records.
    reader: BufReader<File>,
    /// Number of bytes of whole records.
    length: u64,
    unsynced: u64,
}

impl ChunkJournal {
    /// Creates the file, replacing an existing one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        let io = |e| Error::io(path, e);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
        let mut journal = Self::of(path, file.map_err(io)?)?;
        journal.append(&serde_json::to_vec(header).map_err(|e| io(e.into()))?)?;
        journal.sync()?;
        Ok(journal)
    }

    /// Opens the file to continue it; `None` if it has no complete header. Returns the chunks in it, and the
    /// offset of damage, if any, from which the file is cut off. A truncated record at its end does not count
    /// as damage.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] if the file belongs to another extraction than that of `header`.
    pub fn open(path: &Path, header: &Header) -> Result<Option<Begun>> {
        let io = |e| Error::io(path, e);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
        let end = file.metadata().map_err(io)?.len();
        let mut journal = Self::of(path, file)?;
        let foreign = || Error::input(path, "is not the file of an unfinished extraction, or damaged");
        let Some(first) = journal.next_record(end)? else {
            return if journal.is_damaged_at_its_end(end)? { Err(foreign()) } else { Ok(None) };
        };
        let begun = serde_json::from_slice(&first).ok().filter(|begun: &Header| begun.format == FORMAT);
        let begun = begun.ok_or_else(foreign)?;
        if let Some(difference) = header.difference(&begun) {
            return Err(Error::input(path, difference));
        }
        let mut kept = Vec::new();
        loop {
            let offset = journal.length;
            let record = journal.next_record(end)?;
            let own = |(chunk, _): &(StoredChunk, &[u8])| chunk.place.source < begun.inputs.len();
            match record.as_deref().and_then(split).filter(own) {
                Some((chunk, _)) => {
                    let bytes = journal.length - offset;
                    kept.push(Kept { place: chunk.place, stamp: chunk.stamp, offset, bytes });
                }
                None => {
                    journal.length = offset;
                    break;
                }
            }
        }
        let damaged = journal.is_damaged_at_its_end(end)?;
        let length = journal.length;
        journal.file.set_len(length).and_then(|()| journal.file.seek(SeekFrom::Start(length))).map_err(io)?;
        Ok(Some((journal, kept, damaged.then_some(length))))
    }

    fn of(path: &Path, file: File) -> Result<Self> {
        let reader = file.try_clone().map_err(|e| Error::io(path, e))?;
        let reader = BufReader::with_capacity(1 << 20, reader);
        Ok(Self { path: path.to_path_buf(), file, reader, length: 0, unsynced: 0 })
    }

    /// Reads the record at `length`, and moves `length` on; `None` if there is no whole one.
    fn next_record(&mut self, end: u64) -> Result<Option<Vec<u8>>> {
        let io = |e| Error::io(&self.path, e);
        let Some(room) = end.checked_sub(self.length + PREFIX_BYTES) else { return Ok(None) };
        self.reader.seek(SeekFrom::Start(self.length)).map_err(io)?;
        let mut prefix = [0; PREFIX_BYTES as usize];
        self.reader.read_exact(&mut prefix).map_err(io)?;
        let (bytes, checksum) = parts(&prefix);
        if bytes > room || bytes > MAX_RECORD_BYTES {
            return Ok(None);
        }
        let mut record = vec![0; bytes as usize];
        self.reader.read_exact(&mut record).map_err(io)?;
        if xxh3_64(&record) != checksum {
            return Ok(None);
        }
        self.length += PREFIX_BYTES + bytes;
        Ok(Some(record))
    }

    /// Returns true if more than one truncated record follows the whole records.
    fn is_damaged_at_its_end(&mut self, end: u64) -> Result<bool> {
        let Some(room) = end.checked_sub(self.length + PREFIX_BYTES) else { return Ok(false) };
        let io = |e| Error::io(&self.path, e);
        self.reader.seek(SeekFrom::Start(self.length)).map_err(io)?;
        let mut prefix = [0; PREFIX_BYTES as usize];
        self.reader.read_exact(&mut prefix).map_err(io)?;
        let (bytes, _) = parts(&prefix);
        Ok(bytes <= room || bytes > MAX_RECORD_BYTES)
    }

    /// Loads the record of a chunk.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] when it has changed.
    pub fn load(&mut self, kept: &Kept) -> Result<(StoredChunk, Encoded)> {
        let (length, end) = (self.length, kept.offset + kept.bytes);
        self.length = kept.offset;
        let record = self.next_record(end);
        self.length = length;
        let changed = || Error::input(&self.path, "was changed by another program");
        let record = record?.ok_or_else(changed)?;
        let (mut chunk, rows) = split(&record).ok_or_else(changed)?;
        let rest = std::mem::take(&mut chunk.rest);
        let encoded = read_rows(rows, chunk.rows, rest).ok_or_else(changed)?;
        Ok((chunk, encoded))
    }

    /// Appends a record; see [`record_of`].
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn append(&mut self, record: &[u8]) -> Result<()> {
        let io = |e| Error::io(&self.path, e);
        let mut prefix = [0; PREFIX_BYTES as usize];
        prefix[..8].copy_from_slice(&(record.len() as u64).to_le_bytes());
        prefix[8..].copy_from_slice(&xxh3_64(record).to_le_bytes());
        self.file.seek(SeekFrom::Start(self.length)).map_err(io)?;
        self.file.write_all(&prefix).and_then(|()| self.file.write_all(record)).map_err(io)?;
        let bytes = PREFIX_BYTES + record.len() as u64;
        self.length += bytes;
        self.unsynced += bytes;
        if self.unsynced >= SYNC_BYTES { self.sync() } else { Ok(()) }
    }

    /// Syncs the appended records, so that they survive a system crash.
    fn sync(&mut self) -> Result<()> {
        self.unsynced = 0;
        self.file.sync_data().map_err(|e| Error::io(&self.path, e))
    }
}

fn parts(prefix: &[u8; PREFIX_BYTES as usize]) -> (u64, u64) {
    let number = |range: std::ops::Range<usize>| {
        prefix[range].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    (number(0..8), number(8..16))
}

/// Encodes the record of a chunk: the length of its JSON, the JSON, the rows.
pub fn record_of(chunk: &StoredChunk, encoded: &Encoded) -> Vec<u8> {
    let mut record = vec![0; 4];
    // Maps with plain keys and finite numbers: this cannot fail.
    if serde_json::to_writer(&mut record, chunk).is_ok() {
        let length = (record.len() - 4) as u32;
        record[..4].copy_from_slice(&length.to_le_bytes());
    }
    write_rows(encoded, &mut record);
    record
}

/// Splits a record into the chunk and its rows; `None` for anything not written by an extraction.
fn split(record: &[u8]) -> Option<(StoredChunk, &[u8])> {
    let (length, rest) = record.split_first_chunk()?;
    let (json, rows) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let chunk: StoredChunk = serde_json::from_slice(json).ok()?;
    chunk.rest.is_plausible().then_some((chunk, rows))
}
