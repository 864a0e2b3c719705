//! Wrapping of an input: compression in any number of layers, and one archive, detected by their first bytes,
//! never by names.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};

use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;

use super::archive::{Archive, Fault};
use super::streams::{Noted, Streams};
use super::tar::{BLOCK, Tar, is_header};
use super::zip::Zip;

const MAX_LAYERS: usize = 4;

pub(super) enum Layer {
    Stream(Box<dyn Read + Send>),
    Archive(Box<dyn Archive>),
}

pub(super) type Notes = Vec<Noted>;

/// Returns the name of an unsupported format that begins with these bytes.
fn foreign(head: &[u8]) -> Option<&'static str> {
    let foreign =
        [(&b"7z\xbc\xaf"[..], "7z"), (b"Rar!", "rar"), (b"LZIP", "lzip"), (b"\x04\x22\x4d\x18", "lz4")];
    foreign.into_iter().find(|(start, _)| head.starts_with(start)).map(|(_, name)| name)
}

const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const GZIP: &[u8] = b"\x1f\x8b";
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = b"\xfd7zXZ\0";

/// Returns true if data that begin with these bytes (8 are enough) are compressed, or an archive other than tar.
pub fn is_compressed(head: &[u8]) -> bool {
    let known = [ZSTD, GZIP, BZIP2, XZ].iter().any(|start| head.starts_with(start));
    known || is_zip(head) || foreign(head).is_some()
}

fn is_zip(head: &[u8]) -> bool {
    [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"].iter().any(|start| head.starts_with(*start))
}

/// Removes all compression; notes where compressed data ended before the file did.
pub(super) fn unpack(raw: impl Read + Send + 'static, notes: &mut Notes) -> Result<Layer, Fault> {
    let mut stream: Box<dyn Read + Send> = Box::new(raw);
    for _ in 0..=MAX_LAYERS {
        let mut head = Vec::with_capacity(BLOCK);
        stream.by_ref().take(BLOCK as u64).read_to_end(&mut head)?;
        if let Some(format) = foreign(&head) {
            return Err(Fault::Refused(format!(
                "is compressed with {format}; zst, gz, bz2, xz, tar and zip can be read, or a pipe: \
                 … | gputexel extract -"
            )));
        }
        if is_zip(&head) {
            return Err(Fault::Refused(
                "is a zip archive, which can only be read from a file, because its directory is at its end"
                    .to_string(),
            ));
        }
        let tar = head.first_chunk().is_some_and(is_header);
        let first = head.clone();
        let whole = Cursor::new(head).chain(stream);
        if tar {
            return Ok(Layer::Archive(Box::new(Tar::new(Box::new(whole)))));
        }
        match decoder(&first, whole, notes)? {
            Decoded::Compressed(inner) => stream = inner,
            Decoded::Plain(plain) => return Ok(Layer::Stream(plain)),
        }
    }
    Err(Fault::Refused(format!("is compressed more than {MAX_LAYERS} times over")))
}

enum Decoded {
    Compressed(Box<dyn Read + Send>),
    Plain(Box<dyn Read + Send>),
}

fn decoder(head: &[u8], whole: impl Read + Send + 'static, notes: &mut Notes) -> std::io::Result<Decoded> {
    // Parallel compressors write many frames, some of them after a skippable one; the decoder continues over both.
    let skippable = matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    if skippable || head.starts_with(ZSTD) {
        let mut decoder = zstd::stream::read::Decoder::new(whole)?;
        // Large collections are written with --long, whose windows are rejected by default.
        decoder.window_log_max(31)?;
        return Ok(Decoded::Compressed(Box::new(decoder)));
    }
    let noted = Noted::default();
    let known = noted.clone();
    let buffered = |whole| BufReader::with_capacity(1 << 16, whole);
    let decoder: Box<dyn Read + Send> = if head.starts_with(GZIP) {
        Box::new(Streams::<_, GzDecoder<_>>::new(buffered(whole), noted))
    } else if head.starts_with(BZIP2) {
        Box::new(Streams::<_, BzDecoder<_>>::new(buffered(whole), noted))
    } else if head.starts_with(XZ) {
        Box::new(Streams::<_, XzReader<_>>::new(buffered(whole), noted))
    } else {
        return Ok(Decoded::Plain(Box::new(whole)));
    };
    notes.push(known);
    Ok(Decoded::Compressed(decoder))
}

/// Returns the zip archive in a file, if it is one. `counted` wraps the bytes read from it.
pub(super) fn zip_in(
    file: &mut File,
    counted: impl Fn(File) -> Box<dyn Read + Send> + Send + 'static,
) -> Result<Option<Box<dyn Archive>>, Fault> {
    use std::io::Seek as _;

    let mut head = Vec::new();
    (&*file).take(4).read_to_end(&mut head)?;
    file.rewind()?;
    if !is_zip(&head) {
        return Ok(None);
    }
    if head == b"PK\x07\x08" {
        return Err(Fault::Refused("is a zip archive in several parts, which cannot be read".to_string()));
    }
    Ok(Some(Box::new(Zip::open(file.try_clone()?, counted)?)))
}
