//! Reads whole files, up to a limit.

use std::fs::File;
use std::io::{Read, Take};
use std::path::Path;

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
