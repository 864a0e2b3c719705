//! Writing files whole or not at all.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes `contents` to a temporary file beside `path`, syncs it, and renames it into place.
///
/// # Errors
/// [`Error::Io`]; whatever stood at `path` before is then still there.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".gputexel-").tempfile_in(folder)?;
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        set_default_permissions(file.as_file())?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| Error::io(path, e))
}

/// Temporary files are private to their owner; results should be as readable as any other file.
#[cfg(unix)]
pub(crate) fn set_default_permissions(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

/// Elsewhere, files inherit the rights of their folder.
#[cfg(not(unix))]
pub(crate) fn set_default_permissions(_file: &File) -> std::io::Result<()> {
    Ok(())
}
