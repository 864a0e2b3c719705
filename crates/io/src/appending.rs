//! Files that grow line by line, with checks that they are still where their readers look for them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::lines::check_length;

/// Returns true if an open file is the one with this name, and has not been removed, moved or replaced.
pub fn is_open_at(path: &Path, file: &File) -> bool {
    match (std::fs::metadata(path), file.metadata()) {
        (Ok(there), Ok(ours)) => is_same(&there, &ours),
        _ => false,
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// A file that grows line by line, and detects when it was moved, removed or replaced.
#[derive(Debug)]
pub struct AppendFile {
    path: PathBuf,
    file: File,
    is_file: bool,
}

impl AppendFile {
    pub fn open(path: &Path) -> Result<Self> {
        let open = || OpenOptions::new().create(true).append(true).open(path);
        open().and_then(|file| Self::of(path, file)).map_err(|e| Error::io(path, e))
    }

    /// Wraps a file that was opened for appending.
    ///
    /// # Errors
    /// If the system cannot query it.
    pub fn of(path: &Path, file: File) -> std::io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        Ok(Self { path: path.to_path_buf(), file, is_file })
    }

    /// Appends to the end; once this returns, the data survive the end of the process.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] as with [`check`](Self::check), before anything is written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        self.file.write_all(bytes).map_err(|e| Error::io(&self.path, e))
    }

    /// Appends as [`append`](Self::append), for a line with its end.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`Error::Input`] for a line that is too long to be read again.
    pub(crate) fn append_line(&mut self, line: &[u8]) -> Result<()> {
        check_length(&self.path, line)?;
        self.append(line)
    }

    /// Checks that the file is still there.
    ///
    /// # Errors
    /// [`Error::Input`] when it was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        match !self.is_file || is_open_at(&self.path, &self.file) {
            true => Ok(()),
            false => Err(Error::lost(&self.path)),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_go_into_a_file_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut growing = AppendFile::open(&path).unwrap();
        growing.append(b"one\n").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(growing.append(b"two\n").unwrap_err().to_string().contains("was removed"));
        std::fs::write(&path, b"other\n").unwrap();
        assert!(growing.check().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"other\n");
        AppendFile::open(Path::new("/dev/null")).unwrap().append(b"x").unwrap();
    }
}
