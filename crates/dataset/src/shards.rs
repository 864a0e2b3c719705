//! Datasets in several files.

use std::path::{Path, PathBuf};

use gputexel_io::{Advice, Error, Result};

/// Name of the file that marks a folder whose shards are not all there yet.
pub const UNFINISHED: &str = "unfinished.extract";

/// Returns the shards that paths stand for: a file is itself, and a folder is the datasets in it (`*.bin`),
/// by name.
///
/// # Errors
/// [`Error::Io`] for folders that cannot be read; [`Error::Input`] for one without datasets, and for one whose
/// shards are not all there.
pub fn shards<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let path = path.as_ref();
        if !path.is_dir() {
            files.push(path.to_path_buf());
            continue;
        }
        if path.join(UNFINISHED).exists() {
            let unfinished =
                Error::input(path, "not all of its shards are there: their extraction was interrupted");
            let advice = Advice::default().text("'gputexel extract' with the same flags and ");
            return Err(unfinished.advise(advice.setting("resume", "").text(" continues it")));
        }
        let own = datasets_in(path)?;
        if own.is_empty() {
            return Err(Error::input(path, "is a folder without datasets (*.bin)"));
        }
        files.extend(own);
    }
    Ok(files)
}

/// Returns the datasets in a folder, by name.
fn datasets_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |e| Error::io(folder, e);
    let entries = std::fs::read_dir(folder).map_err(io)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<std::io::Result<_>>().map_err(io)?;
    files.retain(|file| file.extension().is_some_and(|e| e == "bin") && file.is_file());
    files.sort();
    Ok(files)
}

/// Rejects shards of no positions.
pub(crate) fn check_size(size: usize) -> Result<()> {
    if size == 0 { Err(Error::setting("shard-size", size, "must be at least 1")) } else { Ok(()) }
}

/// Rejects shards of no positions, and a folder that they cannot be written to: one that has datasets
/// already, which would be taken for shards of the same dataset.
///
/// # Errors
/// [`Error::Setting`] for a size of 0; [`Error::Usage`] for such a folder; [`Error::Io`] for one that cannot be read.
pub fn check_shards(folder: &Path, size: usize) -> Result<()> {
    check_size(size)?;
    if !folder.exists() {
        return Ok(());
    }
    if !folder.is_dir() {
        return Err(Error::Usage(format!("{}: is a file; shards need a folder", folder.display())));
    }
    match datasets_in(folder)?.first() {
        Some(file) => {
            let text = format!("{}: the folder has a dataset already", file.display());
            Err(Error::Usage(format!("{text}; remove it, or give another folder")))
        }
        None => Ok(()),
    }
}

/// Removes the shards of a folder: `0001.bin` and so on.
///
/// # Errors
/// [`Error::Io`].
pub fn remove_shards(folder: &Path) -> Result<()> {
    for file in datasets_in(folder)? {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if stem.len() >= 4 && stem.bytes().all(|digit| digit.is_ascii_digit()) {
            std::fs::remove_file(&file).map_err(|e| Error::io(&file, e))?;
        }
    }
    Ok(())
}
