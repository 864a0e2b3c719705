//! Reads regular files of a sane size as a whole, and writes new files next to them.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use gputexel_io::{Error, Result};

/// Maximum size of a file that is read, bytes: sources with embedded networks have some megabytes.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Found {
    pub bytes: Vec<u8>,
    /// Mode, owner and group, passed on to a file that replaces it.
    pub metadata: Metadata,
}

impl Found {
    pub fn has_other_names(&self) -> bool {
        #[cfg(unix)]
        return std::os::unix::fs::MetadataExt::nlink(&self.metadata) > 1;
        // On other systems, the standard library does not provide it.
        #[cfg(not(unix))]
        false
    }
}

pub(super) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let metadata = std::fs::metadata(path).map_err(|e| Error::io(path, e))?;
    // Opening a pipe would wait for its other end. Reading a folder fails with the system's message.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(Error::input(path, "is not a regular file"));
    }
    gputexel_io::read_whole(path, MAX_BYTES).map_err(|e| Error::io(path, e))
}

pub(super) fn find(path: &Path) -> Result<Option<Found>> {
    let metadata = match std::fs::metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(|e| Error::io(path, e))?,
    };
    Ok(Some(Found { bytes: read_file(path)?, metadata }))
}

/// Does the same as [`find`] for a path whose links were resolved; rejects a link created there since.
pub(super) fn find_unlinked(path: &Path) -> Result<Option<Found>> {
    match path.ancestors().filter(|path| path.is_symlink()).last() {
        Some(link) => Err(Error::input(link, "is a link, and links are not followed here")),
        None => find(path),
    }
}

pub(super) fn staged(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}.gputexel-new", path.file_name().unwrap_or_default().to_string_lossy()))
}

/// Writes and syncs a file, replacing any of that name, with mode, owner and group of another file or, by
/// default, those of any new file.
pub(super) fn write_new(path: &Path, bytes: &[u8], like: Option<&Metadata>) -> Result<bool> {
    remove(path)?;
    let write = || -> std::io::Result<bool> {
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if like.is_some() {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let mut file = options.open(path)?;
        file.write_all(bytes)?;
        let kept = like.map_or(Ok(true), |like| pass_on(like, &file))?;
        file.sync_all()?;
        Ok(kept)
    };
    write().map_err(|e| Error::io(path, e))
}

fn pass_on(from: &Metadata, to: &File) -> std::io::Result<bool> {
    #[cfg(unix)]
    let kept = {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let now = to.metadata()?;
        let same = (now.uid(), now.gid()) == (from.uid(), from.gid());
        same || fchown(to, Some(from.uid()), Some(from.gid())).is_ok()
    };
    #[cfg(not(unix))]
    let kept = true;
    to.set_permissions(from.permissions())?;
    Ok(kept)
}

pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to).map_err(|e| Error::io(to, e))
}

pub(super) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path, e)),
        _ => Ok(()),
    }
}

pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| Error::io(folder, e))?;
    }
    Ok(())
}
