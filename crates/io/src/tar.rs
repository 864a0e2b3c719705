//! Tar archives, read sequentially, so that pipes and compressed archives work.

use std::io::{Error, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::tar::{EntryType, Header};

use super::archive::{Archive, Choice, Fault, Member};

/// Size of a header, and unit to which contents are padded, bytes.
pub(super) const BLOCK: usize = 512;

/// Maximum size of the headers of one member, with its long name and extended header, bytes.
const MAX_HEADERS: u64 = 1 << 21;

/// Returns true if a block is the header of a member with a valid checksum.
pub(super) fn is_header(block: &[u8; BLOCK]) -> bool {
    // The sum counts its own field as blanks.
    let others = block[..148].iter().chain(&block[156..]);
    let sum = others.map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
    block[0] != 0 && Header::from_byte_slice(block).cksum().is_ok_and(|stated| stated == sum)
}

/// The archive's bytes and the position in them.
struct Stream {
    inner: Box<dyn Read + Send>,
    offset: u64,
    /// Unread bytes of the current member.
    left: u64,
    /// Bytes between the member and the next header.
    padding: u64,
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.offset += count as u64;
                    return Ok(count);
                }
            }
        }
    }
}

impl Stream {
    fn read_member(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.read(&mut buffer[..wanted])?;
        if count == 0 {
            let reason = format!("the archive ends at byte {}, {} bytes too early", self.offset, self.left);
            return Err(Error::new(ErrorKind::UnexpectedEof, reason));
        }
        self.left -= count as u64;
        Ok(count)
    }

    fn skip(&mut self) -> std::io::Result<()> {
        self.left = self.left.saturating_add(self.padding);
        self.padding = 0;
        let mut buffer = [0; 1 << 14];
        while self.left > 0 {
            self.read_member(&mut buffer)?;
        }
        Ok(())
    }

    /// Reads the headers of the next member; `None` at a block of zeros and at the end of the bytes.
    fn headers(&mut self) -> std::io::Result<Option<Headers>> {
        let mut archive = ::tar::Archive::new(Read::take(&mut *self, MAX_HEADERS));
        let Some(mut entry) = archive.entries()?.next().transpose()? else { return Ok(None) };
        let mut sparse = entry.header().entry_type() == EntryType::GNUSparse;
        if let Some(extensions) = entry.pax_extensions()? {
            for extension in extensions {
                sparse |= extension?.key_bytes().starts_with(b"GNU.sparse.");
            }
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let (kind, size) = (entry.header().entry_type(), entry.size());
        Ok(Some(Headers { name, kind, size, sparse }))
    }
}

struct Headers {
    name: String,
    kind: EntryType,
    size: u64,
    sparse: bool,
}

pub(super) struct Tar {
    stream: Arc<Mutex<Stream>>,
    choice: Choice,
    ending: Option<String>,
}

impl Tar {
    pub fn new(inner: Box<dyn Read + Send>) -> Self {
        let stream = Stream { inner, offset: 0, left: 0, padding: 0 };
        Self { stream: Arc::new(Mutex::new(stream)), choice: Choice::default(), ending: None }
    }

    fn headers(&mut self) -> std::io::Result<Option<Headers>> {
        let mut stream = lock(&self.stream);
        stream.skip()?;
        let mut zeros = false;
        loop {
            let at = stream.offset;
            match stream.headers() {
                Ok(None) if stream.offset > at => zeros = true,
                Ok(None) if zeros => return Ok(None),
                Ok(None) => {
                    self.ending = Some(format!(
                        "the archive ends at byte {at} without an end mark; if it was cut short there, files are missing"
                    ));
                    return Ok(None);
                }
                Ok(Some(headers)) => return Ok(Some(headers)),
                Err(_) if zeros && stream.offset - at >= BLOCK as u64 => {
                    self.ending = Some(format!(
                        "the archive ends before byte {at}; what follows is not part of it and was left out"
                    ));
                    return Ok(None);
                }
                Err(error) => {
                    let reason = format!("no header of a file at byte {at} of the archive: {error}");
                    return Err(Error::new(error.kind(), reason));
                }
            }
        }
    }

    fn file(&mut self) -> Result<Option<String>, Fault> {
        while let Some(Headers { name, kind, size, sparse }) = self.headers()? {
            if sparse {
                let reason = "is an archive with sparse files, which cannot be read; unpack it";
                return Err(Fault::Refused(reason.to_string()));
            }
            // Links, folders and devices have no content, whatever size is declared.
            let size = if (b'1'..=b'6').contains(&kind.as_byte()) { 0 } else { size };
            let mut stream = lock(&self.stream);
            stream.left = size;
            stream.padding = size.checked_next_multiple_of(BLOCK as u64).map_or(0, |padded| padded - size);
            drop(stream);
            match kind {
                EntryType::Regular | EntryType::Continuous if !name.ends_with('/') => return Ok(Some(name)),
                EntryType::Link | EntryType::Symlink => self.choice.link(),
                _ => {}
            }
        }
        Ok(None)
    }
}

fn lock(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Archive for Tar {
    fn next(&mut self) -> Result<Option<Member>, Fault> {
        while let Some(name) = self.file()? {
            if self.choice.takes(&name, false)? {
                let content = Box::new(Content(Arc::clone(&self.stream)));
                return Ok(Some(Member { name, content }));
            }
        }
        self.choice.finish()?;
        Ok(None)
    }

    fn notes(&self) -> Vec<String> {
        self.choice.notes().into_iter().chain(self.ending.clone()).collect()
    }
}

/// The bytes of the current member.
struct Content(Arc<Mutex<Stream>>);

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        lock(&self.0).read_member(buffer)
    }
}
