//! Compressed data in one or several streams, and the data after them: parallel compressors and `cat` write
//! many streams (gzip calls them members); disks pad files with other bytes.

use std::io::{BufRead, BufReader, Read};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;

/// The compressed bytes: counts those read, and can peek at the next two.
pub(super) struct Source<R> {
    inner: BufReader<R>,
    taken: u64,
    /// A byte read from `inner` to see the next.
    held: Option<[u8; 1]>,
}

impl<R: Read> Source<R> {
    /// Returns the next two bytes, fewer at the end.
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

/// A decoder of one stream that reads no byte beyond the end of the stream.
pub(super) trait Decoder<R>: Read {
    const NAME: &'static str;
    /// First bytes of a stream.
    const MAGIC: [u8; 2];

    fn new(source: Source<R>) -> Self;

    fn into_source(self) -> Source<R>;
}

impl<R: Read> Decoder<R> for GzDecoder<Source<R>> {
    const NAME: &'static str = "gzip";
    const MAGIC: [u8; 2] = [0x1f, 0x8b];

    fn new(source: Source<R>) -> Self {
        Self::new(source)
    }

    fn into_source(self) -> Source<R> {
        self.into_inner()
    }
}

impl<R: Read> Decoder<R> for BzDecoder<Source<R>> {
    const NAME: &'static str = "bzip2";
    const MAGIC: [u8; 2] = *b"BZ";

    fn new(source: Source<R>) -> Self {
        Self::new(source)
    }

    fn into_source(self) -> Source<R> {
        self.into_inner()
    }
}

/// Data after the last stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbage {
    pub format: &'static str,
    /// End of the streams, bytes from their beginning.
    pub at: u64,
}

/// Shared place for a [`Garbage`].
pub(super) type Noted = Arc<Mutex<Option<Garbage>>>;

/// Decompresses streams one after another. Ends when the next bytes do not begin a stream, and notes their offset; a
/// truncated stream is an error.
pub(super) struct Streams<R, D> {
    /// `None` after the end and after an error.
    decoder: Option<D>,
    garbage: Noted,
    source: PhantomData<fn() -> R>,
}

impl<R: Read, D: Decoder<R>> Streams<R, D> {
    pub(super) fn new(inner: BufReader<R>, garbage: Noted) -> Self {
        let decoder = Some(D::new(Source { inner, taken: 0, held: None }));
        Self { decoder, garbage, source: PhantomData }
    }

    fn next(&self, mut source: Source<R>) -> std::io::Result<Option<D>> {
        let end = source.taken;
        let [first, second] = D::MAGIC;
        match source.peek()? {
            (None, _) => Ok(None),
            // A single first byte is a truncated stream, which the decoder reports.
            (Some(a), None) if a == first => Ok(Some(D::new(source))),
            (Some(a), Some(b)) if (a, b) == (first, second) => Ok(Some(D::new(source))),
            _ => {
                let garbage = Garbage { format: D::NAME, at: end };
                *self.garbage.lock().unwrap_or_else(PoisonError::into_inner) = Some(garbage);
                Ok(None)
            }
        }
    }
}

impl<R: Read, D: Decoder<R>> Read for Streams<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(mut decoder) = self.decoder.take() {
            // After an error the decoder is not called again, since its behavior is unspecified.
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                self.decoder = Some(decoder);
                return Ok(count);
            }
            self.decoder = self.next(decoder.into_source())?;
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gz(text: &str) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    }

    fn bz2(text: &str) -> Vec<u8> {
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
        bz2.write_all(text.as_bytes()).unwrap();
        bz2.finish().unwrap()
    }

    type Bytes = std::io::Cursor<Vec<u8>>;

    fn read<D: Decoder<Bytes>>(bytes: &[u8], capacity: usize) -> (std::io::Result<String>, Option<u64>) {
        let garbage = Noted::default();
        let buffered = BufReader::with_capacity(capacity, Bytes::new(bytes.to_vec()));
        let mut streams = Streams::<_, D>::new(buffered, Arc::clone(&garbage));
        let mut text = String::new();
        let read = streams.read_to_string(&mut text).map(|_| text);
        assert_eq!(streams.read(&mut [0; 8]).unwrap_or_default(), 0);
        let garbage = garbage.lock().unwrap().map(|garbage| garbage.at);
        (read, garbage)
    }

    type Reader = fn(&[u8], usize) -> (std::io::Result<String>, Option<u64>);

    #[test]
    fn streams_are_joined_and_what_follows_is_noted() {
        for (compress, read, magic) in [
            (gz as fn(&str) -> Vec<u8>, read::<GzDecoder<_>> as Reader, &b"\x1f\x8b"[..]),
            (bz2, read::<BzDecoder<_>>, b"BZ"),
        ] {
            let (one, two) = (compress("hello "), compress("world"));
            let both = [one.clone(), two.clone()].concat();
            let good = |bytes: &[u8], capacity| {
                let (text, garbage) = read(bytes, capacity);
                (text.unwrap(), garbage)
            };
            // Small buffers put every boundary everywhere.
            for capacity in (1..both.len() + 4).chain([1 << 16]) {
                assert_eq!(good(&both, capacity), ("hello world".to_string(), None), "{capacity}");
                let hidden = [b"\0", magic].concat();
                for garbage in [&b"\0"[..], b"garbage", &[magic[0], b'x'], &hidden] {
                    let bytes = [&both[..], garbage].concat();
                    let expected = ("hello world".to_string(), Some(both.len() as u64));
                    assert_eq!(good(&bytes, capacity), expected, "{capacity} {garbage:?}");
                }
            }
            for end in one.len() + 1..both.len() {
                assert!(read(&both[..end], 1 << 16).0.is_err(), "{end}");
            }
            for end in 0..one.len() {
                assert!(read(&one[..end], 1 << 16).0.is_err(), "{end}");
            }
            let mut broken = both.clone();
            broken[one.len() + 12] ^= 0x55;
            assert!(read(&broken, 1 << 16).0.is_err());
        }
    }
}
