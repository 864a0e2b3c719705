//! Where paths lead.

use std::path::{Path, PathBuf};

/// Whether two paths lead to the same place, whether or not anything is there.
pub fn is_one(one: &Path, other: &Path) -> bool {
    without_links(one) == without_links(other)
}

/// The path from the root of the file system, links left as they are; the path itself where there is no current folder.
pub fn absolute(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// The folder that a file is in, or would be.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The path without links, also of a file that is not there yet.
pub fn without_links(path: &Path) -> PathBuf {
    let made = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(made).unwrap_or_else(|| path.to_path_buf())
}
