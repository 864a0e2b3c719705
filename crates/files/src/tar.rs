//! Tar archives, read from their beginning to their end, so that pipes and compressed archives do.
//!
//! Formats: POSIX.1-2017, `pax`, sections "pax Interchange Format" and "ustar Interchange Format"; long names as
//! in the manual of GNU tar, "Basic Tar Format". A member is a reader of its own that need not borrow the
//! archive, which is why the archive is shared.

use std::io::{Error, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::archive::{Archive, Choice, Fault, Member, read_up_to};

/// Bytes of a header, and what contents are padded to.
pub(super) const BLOCK: usize = 512;

/// Longest name or extended header that is read, bytes.
const MAX_EXTENSION: u64 = 1 << 20;

/// The archive's bytes and the place in them.
struct Stream {
    inner: Box<dyn Read + Send>,
    offset: u64,
    /// Bytes of the current member that were not read.
    left: u64,
    /// Bytes between the member and the next header.
    padding: u64,
}

impl Stream {
    fn read_member(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.inner.read(&mut buffer[..wanted])?;
        if count == 0 {
            let reason = format!("the archive ends at byte {}, {} bytes too early", self.offset, self.left);
            return Err(Error::new(ErrorKind::UnexpectedEof, reason));
        }
        self.left -= count as u64;
        self.offset += count as u64;
        Ok(count)
    }

    /// Passes over the rest of the member and its padding.
    fn skip(&mut self) -> std::io::Result<()> {
        self.left = self.left.saturating_add(self.padding);
        self.padding = 0;
        let mut buffer = [0; 1 << 14];
        while self.left > 0 {
            self.read_member(&mut buffer)?;
        }
        Ok(())
    }

    /// The next header; `None` at the end of the bytes.
    fn block(&mut self) -> std::io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let count = read_up_to(&mut self.inner, &mut block)?;
        self.offset += count as u64;
        match count {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => {
                let reason = format!("the archive ends at byte {}, within a header", self.offset);
                Err(Error::new(ErrorKind::UnexpectedEof, reason))
            }
        }
    }

    /// The whole content of an extension.
    fn extension(&mut self) -> Result<Vec<u8>, Fault> {
        if self.left > MAX_EXTENSION {
            return Err(damaged(format!("a name of {} bytes at byte {}", self.left, self.offset)));
        }
        let mut bytes = Vec::new();
        let mut buffer = [0; BLOCK];
        while self.left > 0 {
            let count = self.read_member(&mut buffer)?;
            bytes.extend_from_slice(&buffer[..count]);
        }
        Ok(bytes)
    }
}

fn damaged(reason: String) -> Fault {
    Fault::Read(Error::new(ErrorKind::InvalidData, reason))
}

/// Whether a block is the header of a member: its checksum holds.
pub(super) fn is_header(block: &[u8; BLOCK]) -> bool {
    let Some(stated) = number(&block[148..156]) else { return false };
    // The sum is taken with blanks for itself; old archives add signed bytes.
    let others = || block[..148].iter().chain(&block[156..]);
    let unsigned: i64 = others().map(|b| i64::from(*b)).sum::<i64>() + 8 * i64::from(b' ');
    let signed: i64 = others().map(|b| i64::from(b.cast_signed())).sum::<i64>() + 8 * i64::from(b' ');
    let stated = i64::try_from(stated).unwrap_or(-1);
    block[0] != 0 && (stated == unsigned || stated == signed)
}

/// A number in octal digits, or in GNU tar's binary form for what does not fit them.
fn number(field: &[u8]) -> Option<u64> {
    if let [first @ (0x80 | 0xff), rest @ ..] = field {
        // 0xff begins negative numbers.
        return if *first == 0xff { None } else { rest.iter().try_fold(0u64, push_byte) };
    }
    let text = field.split(|b| *b == 0).next()?.trim_ascii();
    let octal = |all: u64, digit: &u8| match digit {
        b'0'..=b'7' => all.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    };
    text.iter().try_fold(0, octal)
}

fn push_byte(all: u64, byte: &u8) -> Option<u64> {
    all.checked_mul(256)?.checked_add(u64::from(*byte))
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}

/// The records of an extended header, each `LENGTH KEY=VALUE` and a line end.
fn records(mut bytes: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let blank = memchr::memchr(b' ', bytes)?;
        let length: usize = std::str::from_utf8(&bytes[..blank]).ok()?.parse().ok()?;
        let record = bytes.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let equals = memchr::memchr(b'=', record)?;
        records.push((&record[..equals], &record[equals + 1..]));
        bytes = &bytes[length..];
    }
    Some(records)
}

/// A tar archive.
pub(super) struct Tar {
    stream: Arc<Mutex<Stream>>,
    choice: Choice,
    /// Remarks on the end of the archive.
    ending: Option<String>,
}

/// What the headers before a member's own say of it.
#[derive(Default)]
struct Extended {
    name: Option<String>,
    size: Option<u64>,
}

impl Tar {
    pub fn new(inner: Box<dyn Read + Send>) -> Self {
        let stream = Stream { inner, offset: 0, left: 0, padding: 0 };
        Self { stream: Arc::new(Mutex::new(stream)), choice: Choice::default(), ending: None }
    }

    fn stream(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next header that is not zero, and where it is.
    fn header(&mut self) -> Result<Option<([u8; BLOCK], u64)>, Fault> {
        let mut stream = self.stream();
        stream.skip()?;
        let mut zeros = false;
        loop {
            let at = stream.offset;
            let Some(block) = stream.block()? else {
                drop(stream);
                if !zeros {
                    self.ending = Some(format!(
                        "the archive ends at byte {at} without an end mark; if it was cut short there, files are missing"
                    ));
                }
                return Ok(None);
            };
            if block.iter().any(|b| *b != 0) {
                if is_header(&block) {
                    return Ok(Some((block, at)));
                }
                drop(stream);
                if zeros {
                    self.ending = Some(format!(
                        "the archive ends before byte {at}; what follows is no part of it and was left out"
                    ));
                    return Ok(None);
                }
                return Err(damaged(format!("no header of a file at byte {at} of the archive")));
            }
            zeros = true;
        }
    }

    /// The next regular file with its name.
    fn file(&mut self) -> Result<Option<String>, Fault> {
        let mut extended = Extended::default();
        loop {
            let Some((block, at)) = self.header()? else { return Ok(None) };
            let size = extended.size.take().or_else(|| number(&block[124..136]));
            let size =
                size.ok_or_else(|| damaged(format!("a file without a size at byte {at} of the archive")))?;
            let kind = block[156];
            // Links and folders have no content, whatever size is stated.
            let size = if (b'1'..=b'6').contains(&kind) { 0 } else { size };
            {
                let mut stream = self.stream();
                stream.left = size;
                stream.padding = size.next_multiple_of(BLOCK as u64).saturating_sub(size);
            }
            let unreadable = || damaged(format!("an unreadable extended header at byte {at} of the archive"));
            match kind {
                b'L' => extended.name = Some(text(&self.stream().extension()?)),
                b'x' => {
                    let bytes = self.stream().extension()?;
                    for (key, value) in records(&bytes).ok_or_else(unreadable)? {
                        match key {
                            b"path" => extended.name = Some(text(value)),
                            b"size" => extended.size = Some(decimal(value).ok_or_else(unreadable)?),
                            _ if key.starts_with(b"GNU.sparse.") => return Err(sparse()),
                            _ => {}
                        }
                    }
                }
                b'S' => return Err(sparse()),
                0 | b'0' | b'7' => {
                    let name = extended.name.take().unwrap_or_else(|| full_name(&block));
                    if !name.ends_with('/') {
                        return Ok(Some(name));
                    }
                }
                b'1' | b'2' => {
                    self.choice.link();
                    extended = Extended::default();
                }
                // Global headers and long targets of links say nothing of the next file.
                b'g' | b'K' => {}
                _ => extended = Extended::default(),
            }
        }
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn sparse() -> Fault {
    Fault::Refused("is an archive with sparse files, which cannot be read; unpack it".to_string())
}

fn full_name(block: &[u8; BLOCK]) -> String {
    let name = text(&block[..100]);
    let prefix = if &block[257..263] == b"ustar\0" { text(&block[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read_member(buffer)
    }
}
