//! Gzip streams of one or several members, and what follows them: parallel compressors and `cat` write many
//! members; disks and archives pad files with other bytes.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

/// The compressed bytes: counts those taken, and can show two of them beforehand.
struct Source<R> {
    inner: BufReader<R>,
    taken: u64,
    /// A byte that was taken from `inner` to see the next.
    held: Option<[u8; 1]>,
}

impl<R: Read> Source<R> {
    /// The next two bytes, fewer at the end.
    fn peek(&mut self) -> std::io::Result<(Option<u8>, Option<u8>)> {
        let (first, second) = match (self.held, self.inner.fill_buf()?) {
            (Some([first]), next) => (first, next.first().copied()),
            (None, []) => return Ok((None, None)),
            (None, [first, second, ..]) => (*first, Some(*second)),
            (None, &[first]) => {
                self.inner.consume(1);
                self.held = Some([first]);
                (first, self.inner.fill_buf()?.first().copied())
            }
        };
        Ok((Some(first), second))
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        match &self.held {
            Some(byte) => Ok(byte),
            None => self.inner.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        if self.held.is_some() && count > 0 {
            self.held = None;
        } else {
            self.inner.consume(count);
        }
    }
}

/// Decompresses members one after another. Ends where the next bytes begin no member, and notes
/// their offset; a member that is cut short is an error.
pub(super) struct Members<R> {
    /// `None` after the end.
    member: Option<GzDecoder<Source<R>>>,
    garbage_at: Arc<AtomicU64>,
}

impl<R: Read> Members<R> {
    pub(super) fn new(inner: BufReader<R>, garbage_at: Arc<AtomicU64>) -> Self {
        let member = Some(GzDecoder::new(Source { inner, taken: 0, held: None }));
        Self { member, garbage_at }
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut source) = self.member.take().map(GzDecoder::into_inner) else { break };
            match source.peek()? {
                (None, _) => {}
                // A lone first byte is a member that is cut short, which the decoder says.
                (Some(0x1f), Some(0x8b) | None) => self.member = Some(GzDecoder::new(source)),
                _ => self.garbage_at.store(source.taken, Ordering::Relaxed),
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn member(text: &str) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    }

    fn read(bytes: &[u8], capacity: usize) -> (std::io::Result<String>, u64) {
        let garbage_at = Arc::new(AtomicU64::new(u64::MAX));
        let mut members = Members::new(BufReader::with_capacity(capacity, bytes), Arc::clone(&garbage_at));
        let mut text = String::new();
        let read = members.read_to_string(&mut text).map(|_| text);
        (read, garbage_at.load(Ordering::Relaxed))
    }

    #[test]
    fn members_are_joined_and_what_follows_is_noted() {
        let (one, two) = (member("hello "), member("world"));
        let both = [one.clone(), two.clone()].concat();
        // Small buffers put every boundary everywhere.
        for capacity in (1..both.len() + 4).chain([1 << 16]) {
            let good = |bytes: &[u8]| {
                let (text, garbage_at) = read(bytes, capacity);
                (text.unwrap(), garbage_at)
            };
            assert_eq!(good(&both), ("hello world".to_string(), u64::MAX), "{capacity}");
            for garbage in [&b"\0"[..], b"garbage", b"\x1fx", b"\0\x1f\x8b"] {
                let bytes = [&both[..], garbage].concat();
                assert_eq!(good(&bytes), ("hello world".to_string(), both.len() as u64), "{capacity}");
            }
            for end in one.len() + 1..both.len() {
                assert!(read(&both[..end], capacity).0.is_err(), "{capacity} {end}");
            }
            let mut broken = both.clone();
            broken[one.len() + 12] ^= 0x55;
            assert!(read(&broken, capacity).0.is_err());
        }
    }
}
