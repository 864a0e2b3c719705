//! Unfinished files of killed processes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// Prefix of the names of unfinished files.
pub const TEMPORARY_PREFIX: &str = ".gputexel-";

/// Returns true if a name is that of an unfinished file.
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
