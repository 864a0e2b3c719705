//! Records of a tree that was moved or copied, or that came from another computer, become this tree's.
//!
//! The user says so; that does not make the records honest. What is adopted can change files of the tree
//! alone, which whoever made it could have changed anyway: paths outside are dropped, and hidden files
//! unless this user's own seal vouches for them.

use std::path::{Component, Path, PathBuf};

use super::folder::Folder;
use super::journal::{FOLDER, FileRecord, Journal, Origin, replacements};
use super::lock::PatchLock;
use super::remedy::Remedy;
use super::sources::is_hidden;
use super::transaction::backup_root;
use gputexel_files::{Error, Result};

/// Makes the records in a source folder, and those in the backup folder of commands if one is given, the
/// tree's own. Returns the files named in them that are outside of the tree or hidden, which are left alone.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for records with paths that no journal has, or that belong to another tree which is
/// still there.
pub fn adopt(sources: &Path, backup: Option<&Path>) -> Result<Vec<PathBuf>> {
    if !sources.is_dir() {
        return Err(Error::input(sources, "is not a folder").advise(Remedy::AdoptSources));
    }
    let mut left = Vec::new();
    if backup.is_none() && std::fs::symlink_metadata(sources.join(FOLDER)).is_err() {
        return Ok(left);
    }
    let lock = PatchLock::open_unchecked(sources)?;
    adopt_all(&lock, lock.folder(), false, &mut left)?;
    if let Some(root) = backup_root(&lock, backup)? {
        adopt_all(&lock, &root, true, &mut left)?;
    }
    adopt_pending(&lock, &mut left)?;
    left.sort();
    left.dedup();
    Ok(left)
}

/// Adopts the replacements in a folder, which for one outside of the tree may be another tree's still.
fn adopt_all(lock: &PatchLock, root: &Folder, outside: bool, left: &mut Vec<PathBuf>) -> Result<()> {
    for (_, name) in replacements(root)? {
        adopt_one(lock, &root.below(Path::new(&name))?, outside, left)?;
    }
    Ok(())
}

fn adopt_one(lock: &PatchLock, folder: &Folder, outside: bool, left: &mut Vec<PathBuf>) -> Result<()> {
    let Some((journal, origin)) = Journal::read(folder, lock.key())? else { return Ok(()) };
    if origin == Origin::Own && journal.sources == lock.sources() {
        return Ok(());
    }
    if outside && journal.sources.is_dir() {
        let reason = format!("has the old files of {}, which is still there", journal.sources.display());
        return Err(Error::input(folder.path(), reason));
    }
    let inside = |entry: &&FileRecord| {
        entry.path.components().all(|part| matches!(part, Component::Normal(_)))
            && (origin == Origin::Own || !is_hidden(&entry.path))
    };
    let (files, others): (Vec<FileRecord>, Vec<FileRecord>) =
        journal.files.clone().into_iter().partition(|entry| inside(&entry));
    left.extend(others.into_iter().map(|entry| entry.path));
    journal.rebound(lock.sources(), files).write(folder, lock.key())
}

/// Adopts the note of an interrupted command.
fn adopt_pending(lock: &PatchLock, left: &mut Vec<PathBuf>) -> Result<()> {
    let Some((noted, path, origin)) = lock.pending_unchecked()? else { return Ok(()) };
    if origin == Origin::Own && noted == lock.sources() {
        return Ok(());
    }
    let in_tree = path.parent().and_then(Path::file_name).is_some_and(|name| name == FOLDER);
    let path = match path.file_name() {
        Some(name) if in_tree => lock.folder().path().join(name),
        Some(_) if origin == Origin::Own => {
            if let Some(folder) = lock.replacement(&path)? {
                adopt_one(lock, &folder, true, left)?;
            }
            path
        }
        _ => {
            let note = lock.folder().path().join("pending");
            let reason = format!(
                "names a folder outside of the tree, {path:?}, which nothing vouches for; delete this note"
            );
            return Err(Error::input(note, reason));
        }
    };
    lock.set_pending(&path)
}
