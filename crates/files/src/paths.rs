//! Whether paths lead to the same place.

use std::path::{Path, PathBuf};

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
