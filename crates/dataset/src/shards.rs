//! Datasets in several files.

use std::path::{Path, PathBuf};

use gputexel_io::{Error, Result};

/// Returns the shards that paths stand for: a file is itself, and a folder is the datasets in it (`*.bin`),
/// by name.
pub fn shards<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let path = path.as_ref();
        if !path.is_dir() {
            files.push(path.to_path_buf());
            continue;
        }
        let own = datasets_in(path)?;
        if own.is_empty() {
            return Err(Error::input(path, "is a folder without datasets (*.bin)"));
        }
        files.extend(own);
    }
    Ok(files)
}

fn datasets_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |e| Error::io(folder, e);
    let entries = std::fs::read_dir(folder).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<std::io::Result<_>>().map_err(io)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "bin") && file.is_file());
    files.sort();
    Ok(files)
}
