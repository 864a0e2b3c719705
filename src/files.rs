//! Writing files whole or not at all, and reading them whole up to a limit.

use std::fs::File;
use std::io::{Read, Seek as _, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

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
        let folder = folder_for(path);
        let file = tempfile::Builder::new().prefix(".gputexel-").tempfile_in(folder)?;
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
        set_default_permissions(self.as_file())?;
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
pub(crate) fn folder_for(path: &Path) -> PathBuf {
    match path.parent() {
        _ if is_device(path) => std::env::temp_dir(),
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Whether something is there that is neither a file nor a folder. Renaming over it would replace it, for
/// all programs of the system.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
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
}
