//! The journal of a replacement: what was to be written where, and how far it came.
//!
//! A folder for each replacement holds the old files and `journal.json`; while one is at work, the file
//! `pending` in the source folder's [`FOLDER`] names it. Owns these files; the order of steps is the
//! business of `transaction` and `undo`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::files::write_atomically;

/// The folder in a source folder.
pub(super) const FOLDER: &str = ".gputexel-patch";

const JOURNAL: &str = "journal.json";
/// Names the folder of the replacement at work.
pub(super) const PENDING: &str = "pending";

/// How far a replacement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Progress {
    /// Some files may be new, others old.
    Writing,
    /// All are new.
    Done,
    /// Some may be old again.
    Undoing,
    /// All are old again.
    Undone,
}

/// A file of a replacement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Relative to the source folder if it is in there, which may have been moved since.
    pub path: PathBuf,
    pub shown: PathBuf,
    /// The old file's name in the folder of the replacement; none if there was none.
    pub backup: Option<String>,
    /// xxh3 of the old file.
    pub before: Option<String>,
    /// xxh3 of the new file.
    pub after: String,
    pub params: bool,
}

/// A replacement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    pub version: u32,
    pub command: String,
    /// The source folder.
    pub sources: PathBuf,
    pub progress: Progress,
    pub files: Vec<Entry>,
}

/// The checksum by which files are known again.
pub(super) fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

impl Journal {
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(JOURNAL);
        let bytes = std::fs::read(&path).map_err(|e| Error::io(&path, e))?;
        let journal: Self = serde_json::from_slice(&bytes).map_err(|e| Error::input(&path, e.to_string()))?;
        let plain = |name: &String| Path::new(name).file_name() == Some(name.as_ref());
        if journal.version != 1 || !journal.files.iter().filter_map(|file| file.backup.as_ref()).all(plain) {
            return Err(Error::input(&path, "is no journal of this version"));
        }
        Ok(journal)
    }

    /// Where a file is.
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.sources.join(&entry.path)
    }

    /// As [`read`](Self::read), for sources that are in a place by now. Of a tree that was copied or
    /// moved, files outside it are left alone: they may be another's.
    pub fn read_for(folder: &Path, sources: &Path) -> Result<Self> {
        let mut journal = Self::read(folder)?;
        if journal.sources != sources {
            journal.sources = sources.to_path_buf();
            journal.files.retain(|file| file.path.is_relative());
        }
        Ok(journal)
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(JOURNAL);
        let text = serde_json::to_vec_pretty(self).map_err(|e| Error::input(&path, e.to_string()))?;
        write_atomically(&path, &text)?;
        sync(folder)
    }

    pub fn is_in(folder: &Path) -> bool {
        folder.join(JOURNAL).is_file()
    }
}

/// The source folder's note of what is at work, held by one process at a time.
#[derive(Debug)]
pub(super) struct Desk {
    sources: PathBuf,
    folder: PathBuf,
    _lock: std::fs::File,
}

impl Desk {
    /// Opens the folder in a source folder, made if need be; git is told to leave it alone.
    pub fn open(sources: &Path) -> Result<Self> {
        let sources = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
        let folder = sources.join(FOLDER);
        make_folder(&folder)?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(|e| Error::io(&ignore, e))?;
        }
        let path = folder.join("lock");
        let lock = std::fs::File::create(&path).map_err(|e| Error::io(&path, e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { sources, folder, _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(Error::input(&sources, "another 'gputexel patch' is at work there"))
            }
            // File systems without locks: alone is assumed.
            Err(std::fs::TryLockError::Error(_)) => Ok(Self { sources, folder, _lock: lock }),
        }
    }

    /// The source folder, links resolved.
    pub fn sources(&self) -> &Path {
        &self.sources
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the replacement that was interrupted.
    pub fn pending(&self) -> Result<Option<PathBuf>> {
        let path = self.folder.join(PENDING);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(PathBuf::from(text.trim_end_matches('\n')))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::io(path, e)),
        }
    }

    pub fn set_pending(&self, folder: &Path) -> Result<()> {
        let path = self.folder.join(PENDING);
        let text = folder.to_str().ok_or_else(|| Error::input(folder, "has a name that is not UTF-8"))?;
        write_atomically(&path, format!("{text}\n").as_bytes())?;
        sync(&self.folder)
    }

    pub fn clear_pending(&self) -> Result<()> {
        let path = self.folder.join(PENDING);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, e)),
            _ => Ok(()),
        }
    }
}

impl Drop for Desk {
    /// Leaves nothing in a source folder that keeps no backup.
    fn drop(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let ours = |name: &std::ffi::OsStr| name == ".gitignore" || name == "lock";
        if entries.flatten().all(|entry| ours(&entry.file_name())) {
            let _ = std::fs::remove_file(self.folder.join(".gitignore"));
            let _ = std::fs::remove_file(self.folder.join("lock"));
            let _ = std::fs::remove_dir(&self.folder);
        }
    }
}

/// Makes a folder with those above it.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))
}

/// Lets names in a folder survive a power cut.
#[cfg(unix)]
pub(super) fn sync(folder: &Path) -> Result<()> {
    let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|e| Error::io(folder, e))
}

/// Elsewhere, folders cannot be synced.
#[cfg(not(unix))]
pub(super) fn sync(_folder: &Path) -> Result<()> {
    Ok(())
}

/// The numbered folders of replacements below a backup folder, oldest first.
pub(super) fn replacements(root: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(root, e)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Error::io(root, e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.split_once('-').and_then(|(number, _)| number.parse().ok());
        if let Some(number) = number {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}
