//! Atomic writes: a file is written completely or not at all.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{Seek as _, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::appending::is_open_at;
use crate::error::{Error, Result};

/// Maximum number of times that a new file may be removed by another process's cleanup.
const TRIES: usize = 100;

/// Writes `contents` to a temporary file next to `path`, syncs it, and renames it into place.
///
/// # Errors
/// [`Error::Io`]; the previous file at `path` is then unchanged.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = AtomicFile::beside(path)?;
        file.as_file_mut().write_all(contents)?;
        file.finish()
    };
    write().map_err(|e| Error::io(path, e))
}

/// A file that appears in its place once it is complete; it is deleted if dropped before.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl AtomicFile {
    /// Creates a temporary file next to `path`; for a device or pipe, in the folder for temporary files.
    pub fn beside(path: &Path) -> std::io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY_PREFIX);
        if let Some(permissions) = permissions_at_birth(path) {
            builder.permissions(permissions);
        }
        let folder = staging_folder(path);
        // Except on Unix, locks keep others from reading.
        if cfg!(not(unix)) {
            let file = builder.tempfile_in(&folder).map_err(without_path)?;
            return Ok(Self { path: path.to_path_buf(), file });
        }
        clear_temporaries(&folder);
        let mut tries = TRIES;
        let file = loop {
            let file = builder.tempfile_in(&folder).map_err(without_path)?;
            // A cleanup after killed processes sees the lock, unless it was faster.
            let locked = file.as_file().try_lock();
            let is_lost =
                matches!(locked, Err(TryLockError::WouldBlock)) || !is_open_at(file.path(), file.as_file());
            tries -= 1;
            if !is_lost || tries == 0 {
                break file;
            }
        };
        Ok(Self { path: path.to_path_buf(), file })
    }

    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    pub fn as_file_mut(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Syncs the file and puts it in its place.
    ///
    /// # Errors
    /// Errors of writing and renaming; the previous file is then unchanged.
    pub fn finish(mut self) -> std::io::Result<()> {
        if is_device(&self.path) {
            let mut target = File::options().write(true).open(&self.path)?;
            self.file.as_file_mut().rewind()?;
            std::io::copy(self.file.as_file_mut(), &mut target)?;
            return target.flush();
        }
        self.as_file().sync_all()?;
        if let Ok(old) = std::fs::metadata(&self.path).map(|old| old.permissions())
            && self.as_file().metadata()?.permissions() != old
        {
            self.as_file().set_permissions(old)?;
        }
        self.file.persist(&self.path).map_err(|e| e.error)?;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.as_file_mut().flush()
    }
}

/// Returns the system error inside one of `tempfile`, which names a file unknown to the user.
fn without_path(error: std::io::Error) -> std::io::Error {
    // The code is only available in its text.
    let text = error.to_string();
    let code = text.split_once("(os error ").and_then(|(_, rest)| rest.split_once(')')?.0.parse().ok());
    code.map_or(error, std::io::Error::from_raw_os_error)
}

/// Returns the folder for the temporary file that becomes `path`: that of `path`, so that a rename is enough.
pub fn staging_folder(path: &Path) -> PathBuf {
    match path.parent() {
        _ if is_device(path) => std::env::temp_dir(),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Returns true if there is something other than a file or a folder. Renaming over it would replace it for all programs
/// of the system.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Returns the permissions of a new file for `path`, before the umask: those of the existing file, or read
/// and write for all.
#[cfg(unix)]
fn permissions_at_birth(path: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = match std::fs::metadata(path) {
        Ok(old) if old.is_file() => old.permissions().mode() & 0o777,
        Ok(_) => return None,
        Err(_) => 0o666,
    };
    Some(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permissions_at_birth(_path: &Path) -> Option<std::fs::Permissions> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn errors_name_no_temporary_file() {
        let error = write_atomically(Path::new("/proc/self/file"), b"x").unwrap_err().to_string();
        assert!(error.starts_with("/proc/self/file: ") && !error.contains(TEMPORARY_PREFIX), "{error}");
    }

    #[test]
    fn what_killed_processes_left_is_removed_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".gputexel-dead", ".gputexel-alive", ".other-dead"] {
            std::fs::write(path(name), "half").unwrap();
        }
        std::fs::create_dir(path(".gputexel-folder")).unwrap();
        let alive = File::open(path(".gputexel-alive")).unwrap();
        alive.lock().unwrap();
        write_atomically(&path("file"), b"whole").unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".gputexel-alive", ".gputexel-folder", ".other-dead", "file"]);
    }

    #[test]
    fn clearing_up_takes_nothing_from_the_living() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let path = folder.path().join(format!("file{thread}"));
                scope.spawn(move || {
                    for n in 0..200u32 {
                        let mut file = AtomicFile::beside(&path).unwrap();
                        file.write_all(&n.to_le_bytes()).unwrap();
                        super::clear_temporaries(path.parent().unwrap());
                        file.finish().unwrap();
                        assert_eq!(std::fs::read(&path).unwrap(), n.to_le_bytes());
                    }
                });
            }
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn what_is_replaced_keeps_its_mode() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let link = folder.path().join("link");
        for mode in [0o600, 0o640, 0o444, 0o755] {
            std::fs::write(&path, b"old").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            std::fs::hard_link(&path, &link).unwrap();
            write_atomically(&path, b"new").unwrap();
            let metadata = std::fs::metadata(&path).unwrap();
            assert_eq!(metadata.mode() & 0o7777, mode);
            // The new file is another one: other names of the old one keep its contents.
            assert_eq!((metadata.nlink(), std::fs::read(&link).unwrap()), (1, b"old".to_vec()));
            for path in [&path, &link] {
                std::fs::remove_file(path).unwrap();
            }
        }
    }
}

const TEMPORARY_PREFIX: &str = ".gputexel-";

pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with(TEMPORARY_PREFIX)
}

/// Removes unfinished files whose process has ended. A living process locks its own as soon as they exist, and checks
/// that a new one still exists once it is locked.
pub(crate) fn clear_temporaries(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_temporary(&entry.file_name())) {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let file = is_file.then(|| File::open(entry.path()).ok()).flatten();
        // Removed while locked: its process must not find it unlocked and still there.
        if file.as_ref().is_some_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
