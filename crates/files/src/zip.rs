//! Zip archives in files, stored or deflated.
//!
//! Format: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.4. The directory at the end of the file says what
//! there is; each file's checksum and size are verified.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::archive::{Archive, Choice, Fault, Member};

/// Largest directory that is read, bytes.
const MAX_DIRECTORY: u64 = 1 << 28;

/// Bytes of the record that ends a zip file, without its comment, which has at most 65535.
const END_BYTES: usize = 22;

/// A file as the directory lists it.
#[derive(Clone, Debug)]
struct Entry {
    name: String,
    encrypted: bool,
    method: u16,
    checksum: u32,
    compressed: u64,
    size: u64,
    at: u64,
}

/// A zip archive.
pub(super) struct Zip<C> {
    file: File,
    /// Wraps the bytes of a member as they are read from the file.
    counted: C,
    entries: std::vec::IntoIter<Entry>,
    alone: bool,
    choice: Choice,
}

fn damaged(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, reason.into())
}

/// Little-endian numbers, one after another.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

/// Where the directory is, and how many files it lists.
struct Directory {
    entries: u64,
    bytes: u64,
    at: u64,
}

fn end_record(record: &[u8]) -> Option<(Directory, bool)> {
    let mut fields = Fields(record.strip_prefix(b"PK\x05\x06")?);
    let (disk, directory_disk) = (fields.u16()?, fields.u16()?);
    let (here, entries) = (fields.u16()?, fields.u16()?);
    let (bytes, at, comment) = (fields.u32()?, fields.u32()?, fields.u16()?);
    let large = entries == u16::MAX || bytes == u32::MAX || at == u32::MAX;
    let whole = (disk == 0 && directory_disk == 0 && here == entries) || large;
    let directory = Directory { entries: entries.into(), bytes: bytes.into(), at: at.into() };
    (usize::from(comment) == record.len() - END_BYTES && whole).then_some((directory, large))
}

fn end_record64(record: &[u8]) -> Option<Directory> {
    let mut fields = Fields(record.strip_prefix(b"PK\x06\x06")?);
    // Its size, versions and disk numbers, and the number of files on this disk.
    fields.take(8 + 4 + 8 + 8)?;
    Some(Directory { entries: fields.u64()?, bytes: fields.u64()?, at: fields.u64()? })
}

fn read_at(file: &mut File, at: u64, count: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn find_directory(file: &mut File) -> std::io::Result<Directory> {
    let length = file.metadata()?.len();
    let tail_bytes = length.min((END_BYTES + usize::from(u16::MAX)) as u64);
    let tail = read_at(file, length - tail_bytes, tail_bytes as usize)?;
    let found =
        memchr::memmem::rfind_iter(&tail, b"PK\x05\x06").find_map(|at| Some((at, end_record(&tail[at..])?)));
    let Some((at, (directory, large))) = found else {
        return Err(damaged("the zip archive has no directory at its end"));
    };
    if !large {
        return Ok(directory);
    }
    let locator = at.checked_sub(20).and_then(|start| tail[start..at].strip_prefix(b"PK\x06\x07"));
    let place = locator.and_then(|rest| {
        let mut fields = Fields(rest);
        fields.u32()?;
        fields.u64()
    });
    // Archives with exactly 65535 files need no larger record.
    let Some(place) = place else { return Ok(directory) };
    let record = read_at(file, place, 56)?;
    end_record64(&record).ok_or_else(|| damaged(format!("no end of the zip directory at byte {place}")))
}

fn entry(fields: &mut Fields<'_>) -> Option<Entry> {
    if fields.take(4)? != b"PK\x01\x02" {
        return None;
    }
    fields.take(4)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let (checksum, compressed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.take(8)?;
    let at = fields.u32()?;
    let name = String::from_utf8_lossy(fields.take(name.into())?).into_owned();
    let mut extra = Fields(fields.take(extra.into())?);
    let mut entry = Entry {
        name,
        encrypted: flags & 1 != 0,
        method,
        checksum,
        compressed: compressed.into(),
        size: size.into(),
        at: at.into(),
    };
    while let (Some(kind), Some(length)) = (extra.u16(), extra.u16()) {
        let Some(field) = extra.take(length.into()) else { break };
        if kind == 1 {
            // Numbers of 64 bits, for those that have no room above.
            let mut large = Fields(field);
            if size == u32::MAX {
                entry.size = large.u64()?;
            }
            if compressed == u32::MAX {
                entry.compressed = large.u64()?;
            }
            if at == u32::MAX {
                entry.at = large.u64()?;
            }
        }
    }
    fields.take(comment.into())?;
    Some(entry)
}

impl<C> Zip<C> {
    /// Reads the directory of a file.
    pub fn open(mut file: File, counted: C) -> Result<Self, Fault> {
        let directory = find_directory(&mut file)?;
        if directory.bytes > MAX_DIRECTORY {
            return Err(damaged(format!("a zip directory of {} bytes", directory.bytes)).into());
        }
        let end = directory.at.checked_add(directory.bytes);
        if end.is_none_or(|end| file.metadata().is_ok_and(|file| file.len() < end)) {
            return Err(damaged("the zip directory lies beyond the end of the file").into());
        }
        let bytes = read_at(&mut file, directory.at, directory.bytes as usize)?;
        let mut fields = Fields(&bytes);
        let mut entries = Vec::new();
        while !fields.0.is_empty() {
            let at = directory.at + (bytes.len() - fields.0.len()) as u64;
            let entry = entry(&mut fields)
                .ok_or_else(|| damaged(format!("the zip directory is damaged at byte {at}")))?;
            // Folders are entries of their own.
            if !entry.name.ends_with('/') {
                entries.push(entry);
            } else if entry.size > 0 {
                return Err(damaged(format!("a folder with content at byte {at}")).into());
            }
        }
        if entries.len() as u64 > directory.entries {
            return Err(damaged("the zip directory lists more files than it states").into());
        }
        let alone = entries.len() == 1;
        Ok(Self { file, counted, entries: entries.into_iter(), alone, choice: Choice::default() })
    }

    fn member(&mut self, entry: Entry) -> Result<Member, Fault>
    where
        C: Fn(File) -> Box<dyn Read + Send>,
    {
        if entry.encrypted {
            return Err(Fault::Refused(format!("is a zip archive whose file {} is encrypted", entry.name)));
        }
        let header = read_at(&mut self.file, entry.at, 30)?;
        let mut fields = Fields(&header);
        let lengths = (fields.take(4) == Some(b"PK\x03\x04"))
            .then(|| {
                fields.take(22)?;
                Some(u64::from(fields.u16()?) + u64::from(fields.u16()?))
            })
            .flatten()
            .ok_or_else(|| damaged(format!("no header of {} at byte {}", entry.name, entry.at)))?;
        self.file.seek(SeekFrom::Start(entry.at + 30 + lengths))?;
        // Clones share the place in the file, but only one is read at a time.
        let bytes = (self.counted)(self.file.try_clone()?).take(entry.compressed);
        let content: Box<dyn Read + Send> = match entry.method {
            0 => Box::new(Checked::new(bytes, &entry)),
            8 => {
                Box::new(Checked::new(DeflateDecoder::new(BufReader::with_capacity(1 << 16, bytes)), &entry))
            }
            other => {
                return Err(Fault::Refused(format!(
                    "is a zip archive whose file {} is packed with method {other}; only stored and deflated \
                     ones can be read",
                    entry.name
                )));
            }
        };
        Ok(Member { name: entry.name, content })
    }
}

impl<C: Fn(File) -> Box<dyn Read + Send> + Send> Archive for Zip<C> {
    fn next(&mut self) -> Result<Option<Member>, Fault> {
        while let Some(entry) = self.entries.next() {
            if self.choice.takes(&entry.name, self.alone)? {
                return self.member(entry).map(Some);
            }
        }
        self.choice.finish()?;
        Ok(None)
    }

    fn notes(&self) -> Vec<String> {
        self.choice.notes()
    }
}

/// Verifies size and checksum at the end.
struct Checked<R> {
    inner: R,
    sum: Crc,
    size: u64,
    checksum: u32,
    left: u64,
}

impl<R> Checked<R> {
    fn new(inner: R, entry: &Entry) -> Self {
        Self { inner, sum: Crc::new(), size: entry.size, checksum: entry.checksum, left: entry.size }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.sum.update(&buffer[..count]);
        match self.left.checked_sub(count as u64) {
            None => Err(damaged(format!("more than the {} bytes that the directory states", self.size))),
            Some(left) if count == 0 && !buffer.is_empty() && left > 0 => Err(Error::new(
                ErrorKind::UnexpectedEof,
                format!("only {} of {} bytes", self.size - left, self.size),
            )),
            Some(0) if count == 0 && !buffer.is_empty() && self.sum.sum() != self.checksum => {
                Err(damaged("the checksum does not match"))
            }
            Some(left) => {
                self.left = left;
                Ok(count)
            }
        }
    }
}
