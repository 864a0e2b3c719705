//! Reading files whole, up to a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Most bytes of files that people or engines write: settings, parameters, lists, schemas, exports.
pub const SETTINGS_BYTES: u64 = 1 << 28;
/// Most bytes of files that grow with a run: journals, metrics, checkpoints.
pub const RECORD_BYTES: u64 = 1 << 36;

/// Reads a file of at most `limit` bytes; a device or pipe, which may have no end, of at most
/// [`SETTINGS_BYTES`].
///
/// # Errors
/// What reading may fail with; [`FileTooLarge`](std::io::ErrorKind::FileTooLarge) beyond the limit.
pub fn read_whole(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let limit = if metadata.is_file() { limit } else { limit.min(SETTINGS_BYTES) };
    if metadata.is_file() && metadata.len() > limit {
        return Err(too_large(limit));
    }
    read_limited(file, limit)
}

/// As [`read_whole`], text in UTF-8.
///
/// # Errors
/// Those of [`read_whole`]; [`InvalidData`](std::io::ErrorKind::InvalidData) for what is no such text.
pub fn read_whole_text(path: &Path, limit: u64) -> std::io::Result<String> {
    String::from_utf8(read_whole(path, limit)?)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "is not text in UTF-8"))
}

/// Reads at most `limit` bytes to the end of something.
///
/// # Errors
/// Those of [`read_whole`].
pub fn read_limited(reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

fn too_large(limit: u64) -> std::io::Error {
    let text = format!("is larger than the {} MiB that are read of such a file", limit >> 20);
    std::io::Error::new(std::io::ErrorKind::FileTooLarge, text)
}
