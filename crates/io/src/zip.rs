//! Zip archives in files, stored or deflated.

use std::fs::File;
use std::io::{BufReader, Error, ErrorKind, Read, Seek as _, SeekFrom};

use ::zip::result::ZipError;
use ::zip::{CompressionMethod, ZipArchive};
use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::archive::{Archive, Choice, Fault, Member};

pub(super) struct Zip<C> {
    archive: ZipArchive<File>,
    file: File,
    /// Wraps the bytes of a member as they are read from the file.
    counted: C,
    next: usize,
    alone: bool,
    choice: Choice,
}

fn damaged(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, reason.into())
}

/// Returns the error for an archive as a whole, or for `what` in it.
fn unreadable(what: &str, error: ZipError) -> Fault {
    match error {
        ZipError::Io(error) => error.into(),
        ZipError::UnsupportedArchive(reason) => {
            Fault::Refused(format!("is a zip archive that cannot be read: {reason}"))
        }
        error => damaged(format!("{what}: {error}")).into(),
    }
}

impl<C> Zip<C> {
    pub fn open(file: File, counted: C) -> Result<Self, Fault> {
        let archive = ZipArchive::new(file.try_clone()?)
            .map_err(|e| unreadable("the zip archive has no directory at its end, or a damaged one", e))?;
        if archive.has_duplicate_names() {
            let reason = "is a zip archive with several files of one name, which cannot be read";
            return Err(Fault::Refused(reason.to_string()));
        }
        // Folders have their own entries.
        let alone = archive.file_names_raw().filter(|name| !name.ends_with(b"/")).count() == 1;
        Ok(Self { archive, file, counted, next: 0, alone, choice: Choice::default() })
    }

    fn member(&mut self, index: usize, name: String) -> Result<Member, Fault>
    where
        C: Fn(File) -> Box<dyn Read + Send>,
    {
        let failed = |error| unreadable(&format!("no header of {name}"), error);
        let entry = self.archive.by_index_data(index).map_err(failed)?;
        if entry.encrypted() {
            return Err(Fault::Refused(format!("is a zip archive whose file {name} is encrypted")));
        }
        let (method, size, checksum) = (entry.compression(), entry.size(), entry.crc32());
        let compressed = entry.compressed_size();
        let start = self.archive.by_index_raw(index).map_err(failed)?.data_start();
        let start = start.ok_or_else(|| damaged(format!("no header of {name}")))?;
        self.file.seek(SeekFrom::Start(start))?;
        // Clones share the position in the file, but only one is read at a time.
        let bytes = (self.counted)(self.file.try_clone()?).take(compressed);
        let inner: Box<dyn Read + Send> = match method {
            CompressionMethod::Stored => Box::new(bytes),
            CompressionMethod::Deflated => {
                Box::new(DeflateDecoder::new(BufReader::with_capacity(1 << 16, bytes)))
            }
            other => {
                return Err(Fault::Refused(format!(
                    "is a zip archive whose file {name} is packed with method {other}; only stored and deflated \
                     ones can be read"
                )));
            }
        };
        let content = Box::new(Checked { inner, sum: Crc::new(), size, checksum, left: size });
        Ok(Member { name, content })
    }
}

impl<C: Fn(File) -> Box<dyn Read + Send> + Send> Archive for Zip<C> {
    fn next(&mut self) -> Result<Option<Member>, Fault> {
        while let Ok(entry) = self.archive.by_index_data(self.next) {
            let (index, name) = (self.next, String::from_utf8_lossy(entry.name_raw()).into_owned());
            self.next += 1;
            if !name.ends_with('/') && self.choice.takes(&name, self.alone)? {
                return self.member(index, name).map(Some);
            }
        }
        self.choice.finish()?;
        Ok(None)
    }

    fn notes(&self) -> Vec<String> {
        self.choice.notes()
    }
}

struct Checked {
    inner: Box<dyn Read + Send>,
    sum: Crc,
    size: u64,
    checksum: u32,
    left: u64,
}

impl Read for Checked {
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
