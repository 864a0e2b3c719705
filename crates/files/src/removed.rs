//! Files that are removed and written anew later: the new ones get the rights of the old.
//!
//! The rights are kept for the whole process, because whoever writes such a file again knows no more of it than
//! its path: datasets, checkpoints, tables and metrics of a run that begins anew are written by different parts.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::rights::Rights;

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
pub(crate) fn rights_at(path: &Path) -> Option<Rights> {
    match std::fs::metadata(path) {
        Ok(old) => Some(Rights::of(&old)),
        Err(_) => removed_rights(path),
    }
}

pub(crate) fn removed_rights(path: &Path) -> Option<Rights> {
    REMOVED.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
}
