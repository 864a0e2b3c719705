//! Reads whole files, up to a limit.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Take};
use std::path::Path;

use crate::error::{Error, Result};

/// Maximum size of files written by people or engines, bytes: settings, parameters, lists, schemas, exports.
pub const SETTINGS_BYTES: u64 = 1 << 28;
/// Maximum size of files that grow with a run, bytes: journals, metrics, checkpoints.
pub const RECORD_BYTES: u64 = 1 << 36;

/// Reads a file of at most `limit` bytes; a device or pipe, which may be endless, of at most [`SETTINGS_BYTES`].
///
/// # Errors
/// Errors of reading; [`FileTooLarge`](std::io::ErrorKind::FileTooLarge) beyond the limit.
pub fn read_whole(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let (file, limit) = open_limited(path, limit)?;
    read_limited(file, limit)
}

/// Opens a file to be read piece by piece, within the limits of [`read_whole`].
pub fn open_whole(path: &Path, limit: u64) -> std::io::Result<Take<File>> {
    open_limited(path, limit).map(|(file, limit)| file.take(limit))
}

fn open_limited(path: &Path, limit: u64) -> std::io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let limit = if metadata.is_file() { limit } else { limit.min(SETTINGS_BYTES) };
    if metadata.is_file() && metadata.len() > limit {
        return Err(too_large(limit));
    }
    Ok((file, limit))
}

/// Returns the offset of the first byte that differs between two files; `None` if they are equal.
///
/// # Errors
/// [`Error::Io`] for the one that cannot be read.
pub fn first_difference(one: &Path, other: &Path) -> Result<Option<u64>> {
    let open = |path: &Path| File::open(path).map(BufReader::new).map_err(|error| Error::io(path, error));
    let (mut left, mut right) = (open(one)?, open(other)?);
    let mut same = 0;
    loop {
        let ours = left.fill_buf().map_err(|error| Error::io(one, error))?;
        let theirs = right.fill_buf().map_err(|error| Error::io(other, error))?;
        let length = ours.len().min(theirs.len());
        if let Some(at) = ours.iter().zip(theirs).position(|(a, b)| a != b) {
            return Ok(Some(same + at as u64));
        }
        if length == 0 {
            return Ok((ours.len() != theirs.len()).then_some(same));
        }
        same += length as u64;
        left.consume(length);
        right.consume(length);
    }
}

/// Reads as [`read_whole`], for text in UTF-8.
///
/// # Errors
/// As [`read_whole`]; [`InvalidData`](std::io::ErrorKind::InvalidData) for anything but UTF-8.
pub fn read_whole_text(path: &Path, limit: u64) -> std::io::Result<String> {
    String::from_utf8(read_whole(path, limit)?)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "is not text in UTF-8"))
}

/// Reads at most `limit` bytes, to the end of the reader.
pub fn read_limited(reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn too_large(limit: u64) -> std::io::Error {
    let text = format!("is larger than the {} MiB that are read of such a file", limit >> 20);
    std::io::Error::new(std::io::ErrorKind::FileTooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["one", "other"].map(|name| folder.path().join(name));
        let difference = |one: &[u8], other: &[u8]| {
            std::fs::write(&paths[0], one).unwrap();
            std::fs::write(&paths[1], other).unwrap();
            first_difference(&paths[0], &paths[1]).unwrap()
        };
        let long = vec![7; 100_000];
        let mut changed = long.clone();
        changed[70_001] = 8;
        assert_eq!(
            (difference(b"", b""), difference(b"", b"a"), difference(b"ab", b"a")),
            (None, Some(0), Some(1))
        );
        assert_eq!((difference(&long, &long), difference(&long, &changed)), (None, Some(70_001)));
        assert_eq!(difference(&long[..90_000], &long), Some(90_000));
        let missing = first_difference(&paths[0], &folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none: "), "{missing}");
    }
}
