//! The list of all games that were left out or cut short, a line each.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// A file that appears when it is finished.
pub struct SkippedList {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl SkippedList {
    /// # Errors
    /// [`Error::Usage`] when `path` exists and `force` is not set, [`Error::Io`] when its folder
    /// cannot be written.
    pub fn create(path: &Path, force: bool) -> Result<Self> {
        if !force && path.exists() {
            return Err(Error::Usage(format!("{}: exists; use --force to replace it", path.display())));
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new().prefix(".gputexel-").tempfile_in(folder);
        let file = BufWriter::new(file.map_err(|e| Error::io(path, e))?);
        Ok(Self { path: path.to_path_buf(), file })
    }

    pub fn add(&mut self, line: &str) -> Result<()> {
        writeln!(self.file, "{line}").map_err(|e| Error::io(&self.path, e))
    }

    pub fn finish(self) -> Result<()> {
        let finish = |file: BufWriter<NamedTempFile>| -> std::io::Result<()> {
            let file = file.into_inner().map_err(|e| e.into_error())?;
            file.as_file().sync_all()?;
            crate::files::set_default_permissions(file.as_file())?;
            file.persist(&self.path).map_err(|e| e.error)?;
            Ok(())
        };
        finish(self.file).map_err(|e| Error::io(&self.path, e))
    }
}
