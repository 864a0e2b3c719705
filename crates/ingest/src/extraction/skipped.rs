//! List of all games that were left out or cut short, one line per game.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use gputexel_io::AtomicFile;
use gputexel_io::{Error, Result};

/// File that only appears once it is complete.
pub struct SkippedList {
    path: PathBuf,
    file: BufWriter<AtomicFile>,
}

impl SkippedList {
    /// Creates the list, which appears at `path` once it is complete.
    ///
    /// # Errors
    /// [`Error::Exists`] when `path` exists and `force` is not set, [`Error::Io`] when its folder
    /// cannot be written.
    pub fn create(path: &Path, force: bool) -> Result<Self> {
        if !force && path.exists() {
            return Err(Error::Exists(path.to_path_buf()));
        }
        let file = BufWriter::new(AtomicFile::beside(path).map_err(|e| Error::io(path, e))?);
        Ok(Self { path: path.to_path_buf(), file })
    }

    pub fn add(&mut self, line: &str) -> Result<()> {
        writeln!(self.file, "{line}").map_err(|e| Error::io(&self.path, e))
    }

    pub fn finish(self) -> Result<()> {
        let file = self.file.into_inner().map_err(|e| Error::io(&self.path, e.into_error()))?;
        file.finish().map_err(|e| Error::io(&self.path, e))
    }
}
