//! Comparison and resolution of paths.

use std::path::{Path, PathBuf};

/// Returns true if two paths lead to the same place, whether or not it exists.
pub fn is_one(one: &Path, other: &Path) -> bool {
    without_links(one) == without_links(other)
}

/// Returns the absolute path, links unresolved; the path itself if there is no current folder.
pub fn absolute(path: impl AsRef<Path>) -> PathBuf {
    let path = path.as_ref();
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub fn without_links(path: &Path) -> PathBuf {
    let made = || Some(folder_of(path).canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(made).unwrap_or_else(|| path.to_path_buf())
}
