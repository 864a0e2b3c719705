//! Files that grow line by line, read line by line. Lines without an end are not read into memory beyond a
//! limit.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Take};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::reading::{RECORD_BYTES, open_whole};

/// Maximum size of a line of a journal or of metrics, including its end, bytes.
pub const LINE_BYTES: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    pub number: u64,
    /// Offset of its first byte in the file.
    pub offset: u64,
    pub bytes: &'a [u8],
    /// True if it has an end; the last line of a file has none while it is being written, or if that was interrupted.
    pub ended: bool,
}

#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    reader: BufReader<Take<File>>,
    text: Vec<u8>,
    number: u64,
    offset: u64,
    limit: u64,
}

impl Lines {
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Self::limited(path, LINE_BYTES)
    }

    fn limited(path: &Path, limit: u64) -> std::io::Result<Self> {
        let reader = BufReader::with_capacity(1 << 16, open_whole(path, RECORD_BYTES)?);
        Ok(Self { path: path.to_path_buf(), reader, text: Vec::new(), number: 0, offset: 0, limit })
    }

    /// Returns the next line; `None` at the end of the file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] for a line that is longer than [`LINE_BYTES`].
    pub fn next_line(&mut self) -> Result<Option<Text<'_>>> {
        self.offset += self.text.len() as u64;
        self.number += 1;
        self.text.clear();
        let read = (&mut self.reader).take(self.limit + 1).read_until(b'\n', &mut self.text);
        match read.map_err(|e| Error::io(&self.path, e))? as u64 {
            0 => return Ok(None),
            length if length > self.limit => {
                return Err(Error::line(&self.path, self.number, too_long(self.limit)));
            }
            _ => {}
        }
        let (bytes, ended) =
            self.text.strip_suffix(b"\n").map_or((&self.text[..], false), |bytes| (bytes, true));
        Ok(Some(Text { number: self.number, offset: self.offset, bytes, ended }))
    }
}

fn too_long(limit: u64) -> String {
    format!("the line is longer than the {} MiB that are read of one", limit >> 20)
}

pub(crate) fn check_length(path: &Path, line: &[u8]) -> Result<()> {
    if line.len() as u64 > LINE_BYTES { Err(Error::input(path, too_long(LINE_BYTES))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_places_and_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        std::fs::write(&path, "1234567\n\nab\ncd").unwrap();
        let mut lines = Lines::limited(&path, 8).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            found.push((line.number, line.offset, line.bytes.to_vec(), line.ended));
        }
        let expected = [(1, 0, "1234567", true), (2, 8, "", true), (3, 9, "ab", true), (4, 12, "cd", false)];
        assert_eq!(found, expected.map(|(n, at, text, ended)| (n, at, text.as_bytes().to_vec(), ended)));
        for text in ["a\n12345678\n", "a\n123456789", "a\n1234567890123456789"] {
            std::fs::write(&path, text).unwrap();
            let mut lines = Lines::limited(&path, 8).unwrap();
            assert_eq!(lines.next_line().unwrap().map(|line| line.number), Some(1));
            let error = lines.next_line().unwrap_err().to_string();
            assert!(error.contains("lines:2: the line is longer than the 0 MiB"), "{error}");
        }
    }

    /// The file takes no space on the disk, and no more of its line than the limit is read into memory.
    #[test]
    fn a_line_without_an_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("match.jsonl");
        File::create(&path).unwrap().set_len(8 << 30).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        let error = lines.next_line().unwrap_err().to_string();
        assert!(
            error.ends_with("match.jsonl:1: the line is longer than the 64 MiB that are read of one"),
            "{error}"
        );
        assert!(lines.text.capacity() as u64 <= 2 * LINE_BYTES + 2, "{}", lines.text.capacity());
    }
}
