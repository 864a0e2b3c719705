//! Compression of an input in any number of layers, detected by their first bytes, never by names.

use std::io::{BufReader, Cursor, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;

const MAX_LAYERS: usize = 4;
/// Bytes that identify a layer: a tar archive by its word at 257.
const START: u64 = 512;

#[derive(Debug)]
pub(super) enum Fault {
    Read(std::io::Error),
    Refused(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Read(error)
    }
}

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const GZIP: &[u8] = b"\x1f\x8b";
const BZIP2: &[u8] = b"BZh";

/// Returns the name of an unsupported format that begins with these bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    const FOREIGN: [(&[u8], &str); 8] = [
        (b"\xfd7zXZ\0", "xz"),
        (b"7z\xbc\xaf", "7z"),
        (b"PK\x03\x04", "zip"),
        (b"PK\x05\x06", "zip"),
        (b"PK\x07\x08", "zip"),
        (b"Rar!", "rar"),
        (b"LZIP", "lzip"),
        (b"\x04\x22\x4d\x18", "lz4"),
    ];
    let known = FOREIGN.iter().find(|(start, _)| head.starts_with(start)).map(|(_, name)| *name);
    known.or_else(|| (head.get(257..262) == Some(b"ustar")).then_some("tar"))
}

/// Returns true if data that begin with these bytes (8 are enough) are compressed, or an archive other than tar.
pub fn is_compressed(head: &[u8]) -> bool {
    [ZSTD, GZIP, BZIP2].iter().any(|start| head.starts_with(start)) || foreign(head).is_some()
}

/// Returns the name of a file in lower case without the extensions of compressed files.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let mut plain = name.as_str();
    while let Some(shorter) = [".zst", ".gz", ".bz2"].iter().find_map(|ending| plain.strip_suffix(ending)) {
        plain = shorter;
    }
    plain.to_string()
}

pub(super) fn unpack(raw: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, Fault> {
    let mut stream: Box<dyn Read + Send> = Box::new(raw);
    for _ in 0..=MAX_LAYERS {
        let mut head = Vec::with_capacity(START as usize);
        stream.by_ref().take(START).read_to_end(&mut head)?;
        if let Some(format) = foreign(&head) {
            return Err(Fault::Refused(format!(
                "is packed with {format}; unpack it first (zst, gz and bz2 can be read)"
            )));
        }
        let first = head.clone();
        let whole = Cursor::new(head).chain(stream);
        // Parallel compressors write many frames, some of them after a skippable one; the decoder continues over both.
        let skippable = matches!(first[..], [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
        stream = if skippable || first.starts_with(ZSTD) {
            let mut decoder = zstd::stream::read::Decoder::new(whole)?;
            // Large collections are written with --long, whose windows are rejected by default.
            decoder.window_log_max(31)?;
            Box::new(decoder)
        } else if first.starts_with(GZIP) {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
        } else if first.starts_with(BZIP2) {
            Box::new(MultiBzDecoder::new(BufReader::with_capacity(1 << 16, whole)))
        } else {
            return Ok(Box::new(whole));
        };
    }
    Err(Fault::Refused(format!("is compressed more than {MAX_LAYERS} times over")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_refused_by_name() {
        let mut tar = [0; 1024];
        tar[257..262].copy_from_slice(b"ustar");
        let packed = zstd::encode_all(&tar[..], 3).unwrap();
        for (format, bytes) in [
            ("7z", &b"7z\xbc\xaf\x27\x1c"[..]),
            ("xz", b"\xfd7zXZ\0\0\x04"),
            ("zip", b"PK\x03\x04\x14\0"),
            ("tar", &tar),
            ("tar", &packed),
        ] {
            let refused = unpack(Cursor::new(bytes.to_vec())).err();
            let Some(Fault::Refused(reason)) = refused else { panic!("{format}: {refused:?}") };
            assert!(reason.starts_with(&format!("is packed with {format}; unpack it first")), "{reason}");
        }
        assert!(unpack(Cursor::new(b"1. e4".to_vec())).is_ok());
    }
}
