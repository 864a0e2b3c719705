//! Datasets in several files.

use std::path::{Path, PathBuf};

use gputexel_files::{Error, Result};

/// The shards that paths stand for: files are themselves, and a folder is the datasets in it (`*.bin`), by name.
///
/// # Errors
/// [`Error::Io`] for folders that cannot be read; [`Error::Input`] for one without datasets.
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

/// The datasets in a folder, by name.
fn datasets_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |e| Error::io(folder, e);
    let entries = std::fs::read_dir(folder).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<std::io::Result<_>>().map_err(io)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "bin") && file.is_file());
    files.sort();
    Ok(files)
}

/// Refuses a folder that shards cannot be written to: one that has datasets already, which would be taken for shards of
/// the same dataset.
///
/// # Errors
/// [`Error::Usage`] for such a folder; [`Error::Io`] for one that cannot be read.
pub fn check_shard_folder(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    match datasets_in(folder)?.first() {
        Some(file) => {
            let text = format!("{}: the folder has a dataset already", file.display());
            Err(Error::Usage(format!("{text}; remove it, or give another folder")))
        }
        None => Ok(()),
    }
}
