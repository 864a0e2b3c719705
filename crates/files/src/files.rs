//! Writing files whole or not at all, or line by line, and whose they are; reading them whole up to a
//! limit.
//!
//! A file that is replaced passes its mode on, and where the system allows its owner and group; a new
//! one has what the umask leaves. It is a new file all the same: other hard links to the old one, and
//! its access control lists, stay behind.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::rights::Rights;

/// How the names of files in the making begin.
pub const TEMPORARY: &str = ".gputexel-";

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

/// Writes `contents` to a temporary file beside `path`, syncs it, and renames it into place. A device or
/// pipe, such as `/dev/null` or `/dev/stdout`, is written to and stays what it is.
///
/// # Errors
/// [`Error::Io`]; whatever stood at `path` before is then still there.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = Scratch::beside(path)?;
        file.as_file_mut().write_all(contents)?;
        file.finish()
    };
    write().map_err(|e| Error::io(path, e))
}

/// A file in the making, to be put in its place once it is whole; until then it goes away by itself.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    file: NamedTempFile,
}

impl Scratch {
    /// A temporary file beside `path`; of a device or pipe, in the folder for temporary files.
    ///
    /// # Errors
    /// What creating a file may fail with.
    pub fn beside(path: &Path) -> std::io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(TEMPORARY);
        if let Some(permissions) = permissions_at_birth(path) {
            builder.permissions(permissions);
        }
        let file = builder.tempfile_in(folder_for(path))?;
        // Whoever clears up what killed processes left sees that this one is alive. Elsewhere than on
        // Unix, locks keep others from reading.
        if cfg!(unix) {
            let _ = file.as_file().try_lock();
        }
        Ok(Self { path: path.to_path_buf(), file })
    }

    /// The file, to be read.
    pub fn as_file(&self) -> &File {
        self.file.as_file()
    }

    /// The file, to be written.
    pub fn as_file_mut(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Syncs the file and puts it in its place.
    ///
    /// # Errors
    /// What writing and renaming may fail with; what stood there before is then still there.
    pub fn finish(mut self) -> std::io::Result<()> {
        if is_device(&self.path) {
            let mut target = File::options().write(true).open(&self.path)?;
            self.file.as_file_mut().rewind()?;
            std::io::copy(self.file.as_file_mut(), &mut target)?;
            return target.flush();
        }
        self.as_file().sync_all()?;
        // Without the old owner, nobody gets to read what only the old group could.
        if let Some(rights) = rights_at(&self.path) {
            rights.give(self.as_file())?;
        }
        self.file.persist(&self.path).map_err(|e| e.error)?;
        Ok(())
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.as_file_mut().flush()
    }
}

/// Where what is on its way to `path` is kept until then: beside it, so that a rename will do.
pub fn folder_for(path: &Path) -> PathBuf {
    match path.parent() {
        _ if is_device(path) => std::env::temp_dir(),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Whether two paths lead to the same place, whether or not anything is there.
pub fn is_one(one: &Path, other: &Path) -> bool {
    without_links(one) == without_links(other)
}

/// The path without links, also of a file that is not there yet.
pub fn without_links(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let made = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(made).unwrap_or_else(|| path.to_path_buf())
}

/// Whether something is there that is neither a file nor a folder. Renaming over it would replace it, for
/// all programs of the system.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The rights of files that were removed to be written anew.
static REMOVED: Mutex<BTreeMap<PathBuf, Rights>> = Mutex::new(BTreeMap::new());

/// Removes a file, if it is there, that this process may write anew: it then has the mode and, as far as
/// that is allowed, the owner that it had.
///
/// # Errors
/// What removing may fail with.
pub fn remove_until_rewritten(path: &Path) -> std::io::Result<()> {
    let rights = std::fs::metadata(path).ok().filter(Metadata::is_file).map(|old| Rights::of(&old));
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Some(rights) = rights {
        REMOVED.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), rights);
    }
    Ok(())
}

/// The rights of the file at `path`, or of that which was removed there.
fn rights_at(path: &Path) -> Option<Rights> {
    match std::fs::metadata(path) {
        Ok(old) => Some(Rights::of(&old)),
        Err(_) => removed_rights(path),
    }
}

fn removed_rights(path: &Path) -> Option<Rights> {
    REMOVED.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
}

/// What a file is created with that is to stand at `path`: no more than the file has that is there, or
/// had that was removed there, or what the umask leaves of everything. `None` leaves it to its owner alone.
#[cfg(unix)]
fn permissions_at_birth(path: &Path) -> Option<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = match std::fs::metadata(path) {
        Ok(old) if old.is_file() => old.permissions().mode() & 0o777,
        Ok(_) => return None,
        Err(_) => removed_rights(path).map_or(0o666, |rights| rights.mode() & 0o777),
    };
    Some(std::fs::Permissions::from_mode(mode))
}

/// Elsewhere, files inherit the rights of their folder.
#[cfg(not(unix))]
fn permissions_at_birth(_path: &Path) -> Option<std::fs::Permissions> {
    None
}

/// Whether an open file is the one with this name, and has not been removed, moved or replaced.
pub fn is_at(path: &Path, file: &File) -> bool {
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

/// Elsewhere, open files cannot be replaced.
#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

/// A file that grows line by line, and notices when it is no longer where its lines are looked for.
#[derive(Debug)]
pub struct Growing {
    path: PathBuf,
    file: File,
    /// Devices and pipes cannot be lost.
    is_file: bool,
}

impl Growing {
    /// Opens a file to add to it; makes it where it is not there.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        let open = || OpenOptions::new().create(true).append(true).open(path);
        open().and_then(|file| Self::of(path, file)).map_err(|e| Error::io(path, e))
    }

    /// A file that was opened for appending.
    ///
    /// # Errors
    /// When the system says nothing about it.
    pub fn of(path: &Path, file: File) -> std::io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        if let Some(rights) = removed_rights(path) {
            rights.give(&file)?;
        }
        Ok(Self { path: path.to_path_buf(), file, is_file })
    }

    /// Adds to the end; once this returns, the end of the process does not lose it.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] as with [`check`](Self::check), before anything is written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.check()?;
        self.file.write_all(bytes).map_err(|e| Error::io(&self.path, e))
    }

    /// Sees to it that the file is still there.
    ///
    /// # Errors
    /// [`Error::Input`] when it was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        match !self.is_file || is_at(&self.path, &self.file) {
            true => Ok(()),
            false => Err(gone(&self.path)),
        }
    }
}

/// The error that what is being written is no longer there.
pub fn gone(path: &Path) -> Error {
    Error::input(path, "was removed, moved or replaced while it was being written")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn pipes_stay_pipes() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: no mkfifo");
            return;
        }
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read(path).unwrap()
        });
        write_atomically(&path, b"all of it").unwrap();
        assert_eq!(reader.join().unwrap(), b"all of it");
        assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
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
            // The new file is another one: what has other names keeps them, and what it holds.
            assert_eq!((metadata.nlink(), std::fs::read(&link).unwrap()), (1, b"old".to_vec()));
            for path in [&path, &link] {
                std::fs::remove_file(path).unwrap();
            }
        }
    }

    #[test]
    fn lines_do_not_go_into_a_file_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut growing = Growing::open(&path).unwrap();
        growing.append(b"one\n").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(growing.append(b"two\n").unwrap_err().to_string().contains("was removed"));
        std::fs::write(&path, b"other\n").unwrap();
        assert!(growing.check().is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"other\n");
        Growing::open(Path::new("/dev/null")).unwrap().append(b"x").unwrap();
    }
}
