//! A source folder's note of what is at work in it, held by one process at a time.
//!
//! While a replacement is at work, the file `pending` in the source folder's [`FOLDER`] names its folder.
//! A folder with records that were not made by this user in this tree is refused before anything in it is
//! used or written.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::journal::{FOLDER, Journal, Origin, replacements};
use super::seal::Key;
use gputexel_files::{Error, Result};

const PENDING: &str = "pending";
const LOCK: &str = "lock";
const IGNORE: &str = ".gitignore";
const KIND: &str = "pending";

/// The note.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    sources: PathBuf,
    /// The folder of the replacement at work.
    folder: PathBuf,
}

/// A locked source folder.
#[derive(Debug)]
pub(super) struct PatchLock {
    tree: Folder,
    folder: Folder,
    key: Key,
    _file: std::fs::File,
}

impl PatchLock {
    /// Locks a source folder; git is told to leave the records alone.
    ///
    /// # Errors
    /// [`Error::Input`] for records that come from elsewhere, and while another process is at work.
    pub fn open(sources: &Path) -> Result<Self> {
        let tree = open_tree(sources)?;
        let key = Key::load()?;
        if tree.has(FOLDER)? {
            check_origin(&tree, &tree.below(Path::new(FOLDER))?, &key)?;
        }
        Self::lock(tree, key)
    }

    /// As [`open`](Self::open), whatever the records are: to make them this tree's.
    pub fn open_unchecked(sources: &Path) -> Result<Self> {
        let (tree, key) = (open_tree(sources)?, Key::load()?);
        Self::lock(tree, key)
    }

    fn lock(tree: Folder, key: Key) -> Result<Self> {
        loop {
            let folder = tree.make(Path::new(FOLDER))?;
            // Links and pipes are refused before anything is made.
            for name in [PENDING, LOCK, IGNORE] {
                folder.check_regular(name)?;
            }
            let file = match folder.lock_file(LOCK) {
                Ok(file) => file,
                // Who was at work has just removed the folder.
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && !tree.has(FOLDER)? =>
                {
                    continue;
                }
                Err(error) => {
                    tree.remove_empty(FOLDER);
                    return Err(error);
                }
            };
            match file.try_lock() {
                Ok(()) if is_removed(&file) => continue,
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(Error::input(tree.path(), "another 'gputexel patch' is at work there"));
                }
                // File systems without locks: alone is assumed.
                Ok(()) | Err(std::fs::TryLockError::Error(_)) => {}
            }
            let lock = Self { tree, folder, key, _file: file };
            if !lock.folder.has(IGNORE)? {
                lock.folder.write(IGNORE, b"*\n", None)?;
            }
            return Ok(lock);
        }
    }

    pub fn tree(&self) -> &Folder {
        &self.tree
    }

    /// The source folder, links resolved.
    pub fn sources(&self) -> &Path {
        self.tree.path()
    }

    /// The folder with the records.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The journal of a replacement, if it is of this tree; none if there is no journal.
    pub fn journal(&self, folder: &Folder) -> Result<Option<Journal>> {
        let Some((journal, origin)) = Journal::read(folder, &self.key)? else { return Ok(None) };
        origin.check(&journal.sources, self.sources(), folder.path())?;
        Ok(Some(journal))
    }

    /// The folder of the replacement that was interrupted.
    pub fn pending(&self) -> Result<Option<PathBuf>> {
        let Some((noted, folder, origin)) = note(&self.folder, &self.key)? else { return Ok(None) };
        origin.check(&noted, self.sources(), self.folder.path())?;
        Ok(Some(folder))
    }

    /// As [`pending`](Self::pending), with what it claims of its tree and where it comes from.
    pub fn pending_unchecked(&self) -> Result<Option<(PathBuf, PathBuf, Origin)>> {
        note(&self.folder, &self.key)
    }

    /// The folder of a replacement by its path; none if it is gone.
    pub fn replacement(&self, path: &Path) -> Result<Option<Folder>> {
        if let Some(name) = path.file_name()
            && let Some(parent) = self.parent_of(path)?
            && parent.has(name)?
        {
            return parent.below(Path::new(name)).map(Some);
        }
        Ok(None)
    }

    /// Removes the folder of a replacement.
    pub fn remove(&self, path: &Path) -> Result<()> {
        match (self.parent_of(path)?, path.file_name()) {
            (Some(parent), Some(name)) => parent.remove_folder(name),
            _ => Ok(()),
        }
    }

    fn parent_of(&self, path: &Path) -> Result<Option<Folder>> {
        let parent = path.parent().unwrap_or(path);
        if parent == self.folder.path() {
            return self.folder.below(Path::new("")).map(Some);
        }
        match Folder::open(parent) {
            Ok(folder) => Ok(Some(folder)),
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub fn set_pending(&self, folder: &Path) -> Result<()> {
        let note = Pending { sources: self.sources().to_path_buf(), folder: folder.to_path_buf() };
        let sealed = self.key.seal(note, KIND).map_err(|e| Error::input(folder, e.to_string()))?;
        self.folder.replace(PENDING, &sealed)
    }

    pub fn clear_pending(&self) -> Result<()> {
        self.folder.remove(PENDING)
    }
}

impl Drop for PatchLock {
    /// Leaves nothing in a source folder that keeps no backup.
    fn drop(&mut self) {
        let Ok(names) = self.folder.names() else { return };
        if names.iter().all(|name| name == IGNORE || name == LOCK) {
            let _ = self.folder.remove(IGNORE);
            let _ = self.folder.remove(LOCK);
            self.tree.remove_empty(FOLDER);
        }
    }
}

/// Whether a command was interrupted in a source folder; changes nothing.
pub(super) fn is_interrupted(sources: &Path) -> Result<bool> {
    let tree = open_tree(sources)?;
    if !tree.has(FOLDER)? {
        return Ok(false);
    }
    let folder = tree.below(Path::new(FOLDER))?;
    if folder.read(PENDING)?.is_none() {
        return Ok(false);
    }
    let key = Key::load()?;
    let Some((noted, pending, origin)) = note(&folder, &key)? else { return Ok(false) };
    origin.check(&noted, tree.path(), folder.path())?;
    Ok(pending.join(super::journal::JOURNAL).is_file())
}

/// A source folder, links on the way to it resolved.
fn open_tree(sources: &Path) -> Result<Folder> {
    Folder::open(&sources.canonicalize().map_err(|e| Error::io(sources, e))?)
}

/// The tree and the folder that the note of a folder names.
fn note(folder: &Folder, key: &Key) -> Result<Option<(PathBuf, PathBuf, Origin)>> {
    let Some(bytes) = folder.read(PENDING)? else { return Ok(None) };
    if let Some((Pending { sources, folder }, ours)) = key.unseal::<Pending>(&bytes, KIND) {
        return Ok(Some((sources, folder, Origin::of(ours))));
    }
    // The former version wrote no more than the path.
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some((PathBuf::new(), PathBuf::from(text.trim_end_matches('\n')), Origin::Former)))
}

/// Refuses a folder that holds any record that was not made by this user in this tree.
fn check_origin(tree: &Folder, folder: &Folder, key: &Key) -> Result<()> {
    if let Some((noted, _, origin)) = note(folder, key)? {
        origin.check(&noted, tree.path(), folder.path())?;
    }
    for (_, name) in replacements(folder)? {
        if let Some((journal, origin)) = Journal::read(&folder.below(Path::new(&name))?, key)? {
            origin.check(&journal.sources, tree.path(), folder.path())?;
        }
    }
    Ok(())
}

/// Whether whoever held the lock before has removed its file.
#[cfg(unix)]
fn is_removed(file: &std::fs::File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

/// Elsewhere, files that are open stay.
#[cfg(not(unix))]
fn is_removed(_file: &std::fs::File) -> bool {
    false
}
