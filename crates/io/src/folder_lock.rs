//! Lock of a folder that is being written, for one process at a time.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::appending::is_open_at;
use crate::atomic::{clear_temporaries, is_temporary};
use crate::error::{Error, Result};
use crate::reading::read_limited;

pub const LOCK: &str = ".gputexel.lock";
/// Maximum size of a lock file, bytes: it lists the first files of a run.
const LOCK_BYTES: u64 = 1 << 20;
/// Maximum number of times that a lock file may disappear while it is being locked.
const TRIES: usize = 100;
/// Maximum number of times that a lock may seem held because another process checks it, and the duration of a check.
const LOOKS: usize = 5;
const LOOK: std::time::Duration = std::time::Duration::from_millis(10);

/// A folder that no other process of gputexel writes to, as long as this or a clone of it lives.
#[derive(Clone, Debug)]
pub struct FolderLock(Arc<Held>);

#[derive(Debug)]
struct Held {
    folder: PathBuf,
    path: PathBuf,
    state: Mutex<State>,
    unlocked: Option<String>,
}

#[derive(Debug)]
struct State {
    file: File,
    length: usize,
    made: Vec<String>,
}

impl FolderLock {
    /// Locks an existing folder, and deletes unfinished files of killed processes.
    ///
    /// # Errors
    /// [`Error::Busy`] when another process has it; [`Error::Input`] when its file keeps disappearing; [`Error::Io`].
    pub fn acquire(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let mut looks = LOOKS;
        for _ in 0..TRIES {
            let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
            let mut file = options.open(&path).map_err(|e| Error::io(&path, e))?;
            let unlocked = match file.try_lock() {
                Ok(()) => None,
                // Another process may only check whether it is held.
                Err(TryLockError::WouldBlock) if looks > 0 => {
                    looks -= 1;
                    std::thread::sleep(LOOK);
                    continue;
                }
                Err(TryLockError::WouldBlock) => return Err(busy(folder, &mut file)),
                Err(TryLockError::Error(error)) => Some(error.to_string()),
            };
            // The previous holder may have removed the file since it was opened.
            if !is_open_at(&path, &file) {
                continue;
            }
            let text = read_limited(&mut file, LOCK_BYTES).map_err(|e| Error::io(&path, e))?;
            let state = State { file, length: text.len(), made: made(&String::from_utf8_lossy(&text)) };
            let state = Mutex::new(state);
            let lock = Self(Arc::new(Held { folder: folder.to_path_buf(), path, state, unlocked }));
            lock.write()?;
            clear_temporaries(folder);
            return Ok(lock);
        }
        Err(Error::input(&path, "vanishes again and again: is another process removing it?"))
    }

    /// Removes the remains of a killed process in a complete folder: its lock, and unfinished files.
    pub fn clear(folder: &Path) {
        if folder.join(LOCK).is_file() {
            // A process that holds it removes it.
            drop(Self::acquire(folder));
        }
    }

    /// Returns true if some process holds the lock of a folder at this moment; false if unknown. Changes nothing.
    pub fn is_held(folder: &Path) -> bool {
        let Ok(file) = File::open(folder.join(LOCK)) else { return false };
        // For a moment, no other process can acquire it; those that try retry.
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    pub fn warning(&self) -> Option<String> {
        let why = self.0.unlocked.as_ref()?;
        let folder = self.0.folder.display();
        Some(format!("{folder}: cannot be locked ({why}): see to it that no other process writes there"))
    }

    /// Checks that the folder is still there and still locked by this process.
    ///
    /// # Errors
    /// [`Error::Input`] when it was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        let state = self.0.state();
        if is_open_at(&self.0.path, &state.file) { Ok(()) } else { Err(self.gone()) }
    }

    pub fn gone(&self) -> Error {
        Error::lost(&self.0.folder)
    }

    /// Records files of the folder that are about to be made before the record of a run: if the process is
    /// killed before there is a record, they are not worth keeping.
    pub fn making(&self, names: &[&str]) -> Result<()> {
        self.0.state().made = names.iter().map(|name| (*name).to_string()).collect();
        self.write()
    }

    /// Returns the names recorded by [`making`](Self::making), by this process or a killed one.
    pub fn made(&self) -> Vec<String> {
        self.0.state().made.clone()
    }

    pub fn remove_file(&self) {
        self.0.remove_file();
    }

    fn write(&self) -> Result<()> {
        let mut state = self.0.state();
        let mut text = format!("process {}\n", std::process::id());
        for name in &state.made {
            text += &format!("made {name}\n");
        }
        // Never shorter than before: it is written at once, and never partly.
        let length = state.length.max(text.len());
        text += &"\n".repeat(length - text.len());
        state.length = length;
        let written = state.file.rewind().and_then(|()| state.file.write_all(text.as_bytes()));
        written.map_err(|e| Error::io(&self.0.path, e))
    }
}

impl Held {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // It is always in a consistent state.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn remove_file(&self) {
        if cfg!(unix) && is_open_at(&self.path, &self.state().file) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.remove_file();
    }
}

fn busy(folder: &Path, file: &mut File) -> Error {
    // If locks keep others from reading, the holder is unknown.
    let process = read_limited(file, LOCK_BYTES).ok().and_then(|text| {
        let text = String::from_utf8_lossy(&text);
        let number = text.lines().next()?.strip_prefix("process ")?;
        number.parse::<u32>().ok()
    });
    Error::Busy { folder: folder.to_path_buf(), process }
}

fn made(text: &str) -> Vec<String> {
    let plain = |name: &&str| Path::new(name).components().count() == 1 && !name.starts_with('.');
    text.lines().filter_map(|line| line.strip_prefix("made ")).filter(plain).map(str::to_string).collect()
}

/// Returns true if a name in a folder is that of a lock or of an unfinished file.
pub fn is_leftover(name: &OsStr) -> bool {
    name == LOCK || is_temporary(name)
}

/// Returns true if a folder only contains the remains of a process that was killed before there was a record of its
/// run.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read.
pub fn holds_leftovers_only(folder: &Path) -> Result<bool> {
    let path = folder.join(LOCK);
    let noted = crate::read_whole(&path, LOCK_BYTES).unwrap_or_default();
    let noted = made(&String::from_utf8_lossy(&noted));
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let name = entry.map_err(|e| Error::io(folder, e))?.file_name();
        if !is_leftover(&name) && !noted.iter().any(|noted| name == noted.as_str()) {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn no_record(folder: &Path, name: &str, what: &str) -> Error {
    let left = std::fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| entry.is_ok_and(|entry| is_leftover(&entry.file_name())))
    });
    // Abbreviations are pronounced by their letters: an SPSA run.
    let abbreviated = what.starts_with(|first| "AEFHILMNORSX".contains(first));
    let article = if abbreviated { "an" } else { "a" };
    let reason = match left && holds_leftovers_only(folder).unwrap_or(false) {
        true => format!(
            "there is nothing to resume: it has no {name} yet; if {article} {what} was stopped at its start, \
             run the original command again"
        ),
        false => format!("is not the folder of {article} {what}: it has no {name}"),
    };
    Error::input(folder, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::acquire(folder.path()).unwrap();
        let clone = lock.clone();
        let error = FolderLock::acquire(folder.path()).unwrap_err().to_string();
        assert!(error.contains("is being written by "), "{error}");
        assert!(cfg!(not(unix)) || error.ends_with("by this process already"), "{error}");
        drop(lock);
        assert!(FolderLock::acquire(folder.path()).is_err());
        drop(clone);
        assert!(cfg!(not(unix)) || !folder.path().join(LOCK).exists());
        FolderLock::acquire(folder.path()).unwrap().check().unwrap();
    }

    #[test]
    fn what_was_killed_is_cleared_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path(LOCK), "process 123456789\nmade dataset.bin\nmade ../evil\n").unwrap();
        std::fs::write(path("dataset.bin"), "half").unwrap();
        std::fs::write(path(".gputexel-dead"), "half").unwrap();
        assert!(holds_leftovers_only(folder.path()).unwrap());
        let alive = crate::atomic::AtomicFile::beside(&path("x")).unwrap();
        let lock = FolderLock::acquire(folder.path()).unwrap();
        assert_eq!(lock.made(), ["dataset.bin"]);
        assert!(!path(".gputexel-dead").exists());
        alive.finish().unwrap();
        assert!(path("x").exists() && !holds_leftovers_only(folder.path()).unwrap());
        lock.making(&[]).unwrap();
        assert!(!std::fs::read_to_string(path(LOCK)).unwrap().contains("made"));
    }

    #[cfg(unix)]
    #[test]
    fn a_complete_folder_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        FolderLock::clear(folder.path());
        assert_eq!(names(), 0);
        let lock = FolderLock::acquire(folder.path()).unwrap();
        FolderLock::clear(folder.path());
        assert_eq!(names(), 1, "it is in use");
        drop(lock);
        std::fs::write(folder.path().join(LOCK), "process 123456789\n").unwrap();
        std::fs::write(folder.path().join(".gputexel-dead"), "half").unwrap();
        FolderLock::clear(folder.path());
        assert_eq!(names(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_gone_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        std::fs::create_dir(&path).unwrap();
        let lock = FolderLock::acquire(&path).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        assert!(lock.check().unwrap_err().to_string().contains("was removed, moved or replaced"));
        std::fs::create_dir(&path).unwrap();
        let other = FolderLock::acquire(&path).unwrap();
        assert!(lock.check().is_err());
        drop(lock);
        other.check().unwrap();
    }
}
