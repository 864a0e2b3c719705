//! `undo`: restores the files as they were before the last command.

use std::path::{Path, PathBuf};

use super::files::{Found, find_unlinked, sync_folder, write_new};
use super::records::{FileRecord, Progress, Records, Replacement, find_by_folder, tree_folder};
use super::remedy::Remedy;
use super::transaction::{FileState, file_state, recover_at, replace_all, stage_old};
use gputexel_io::{Error, Result};

/// Outcome of [`undo`].
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Undone {
    /// The command that was undone.
    pub command: String,
    /// The restored files, as named by the user then.
    pub files: Vec<PathBuf>,
    /// Files that did not exist before, and were removed.
    pub removed: Vec<PathBuf>,
    /// Files that were changed since and were left alone: `.params` files that tuning has changed.
    pub kept: Vec<PathBuf>,
    /// Files that were changed since and restored anyway, as named by the user then, with copies of their last
    /// contents.
    pub changed: Vec<(PathBuf, PathBuf)>,
    /// True if the command had been interrupted.
    pub interrupted: bool,
}

/// Restores the files as they were before the last command that is not undone.
///
/// `place` is the source folder, or the folder with the old files of one command; `backup` restricts the commands to
/// those with old files in that backup folder. With `force`, sources that were changed since are restored, too; their
/// contents are kept with the old files.
///
/// # Errors
/// [`Error::Input`] if there is nothing to undo, or a source was changed since.
pub fn undo(place: &Path, backup: Option<&Path>, force: bool) -> Result<Undone> {
    if !place.is_dir() {
        let e = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(std::fs::metadata(place).map_or_else(|e| Error::io(place, e), |_| Error::io(place, e)));
    }
    let nothing = || Error::input(place, "there is nothing to undo");
    let here = place.canonicalize().map_err(|e| Error::io(place, e))?;
    if !tree_folder(&here)?.is_dir() {
        let asked = find_by_folder(&here)?.filter(|_| backup.is_none()).ok_or_else(nothing)?;
        let records = Records::open(&asked.record.sources)?;
        if let Some(undone) = recovered(&records)? {
            return Ok(undone);
        }
        // Its folder may have another name.
        let mut all = records.all()?;
        let at = all.iter().position(|other| other.name() == asked.name()).ok_or_else(nothing)?;
        let later = all[at + 1..].iter().rev().find(|later| later.record.progress == Progress::Done);
        if let Some(later) = later.filter(|_| !force) {
            let reason = format!("{} came later; undo it first", later.name());
            return Err(Error::input(place, reason).advise(Remedy::UndoLaterFirst));
        }
        return undo_one(all.swap_remove(at), force);
    }
    let records = Records::open(&here)?;
    if let Some(undone) = recovered(&records)? {
        return Ok(undone);
    }
    let root = backup.map(|backup| backup.canonicalize().map_err(|_| nothing())).transpose()?;
    let is_asked = |replacement: &Replacement| {
        let in_root = root.as_ref().is_none_or(|root| replacement.copies().starts_with(root));
        replacement.record.progress == Progress::Done && in_root
    };
    undo_one(records.all()?.into_iter().rfind(is_asked).ok_or_else(nothing)?, force)
}

/// Reverts an interrupted command, which counts as undoing it.
fn recovered(records: &Records) -> Result<Option<Undone>> {
    let Some(replacement) = records.all()?.into_iter().find(Replacement::is_unfinished) else {
        return Ok(None);
    };
    recover_at(records)?;
    let (files, removed) = split_by_existence(&replacement.record.files);
    let (kept, changed) = (Vec::new(), Vec::new());
    let command = replacement.record.command;
    Ok(Some(Undone { command, files, removed, kept, changed, interrupted: true }))
}

/// Splits files, as named by the user: those that existed before, and those that did not.
fn split_by_existence(files: &[FileRecord]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (old, new): (Vec<&FileRecord>, Vec<&FileRecord>) =
        files.iter().partition(|file| file.before.is_some());
    let shown = |files: Vec<&FileRecord>| files.into_iter().map(|file| file.shown.clone()).collect();
    (shown(old), shown(new))
}

fn undo_one(mut replacement: Replacement, force: bool) -> Result<Undone> {
    let command = replacement.record.command.clone();
    if replacement.record.progress == Progress::Undone {
        return Err(Error::input(&replacement.folder, "is undone already"));
    }
    let (mut undone, mut kept, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let mut remaining = Vec::new();
    for file in &replacement.record.files {
        match file_state(file)? {
            FileState::Old => {}
            FileState::Changed if file.params => {
                kept.push(file.shown.clone());
                continue;
            }
            FileState::Changed if !force => {
                let reason = format!("was changed after 'patch {command}'");
                return Err(Error::input(&file.shown, reason).advise(Remedy::UndoChanged));
            }
            FileState::Changed => {
                changed.push(file);
                undone.push(file.clone());
            }
            FileState::New => undone.push(file.clone()),
        }
        remaining.push(file.clone());
    }
    let mut copies = Vec::new();
    for file in changed {
        // A deleted file leaves nothing to keep.
        if let Some(found) = find_unlinked(&file.path)? {
            copies.push((file.shown.clone(), keep(&replacement, file, &found)?));
        }
    }
    // Files left alone are not part of an interrupted undo, either.
    let all = std::mem::replace(&mut replacement.record.files, remaining);
    let mut replaced = 0;
    let mut put_back = || {
        replacement.save(Progress::Undoing)?;
        let outcome;
        (replaced, outcome) = replace_all(&stage_old(&replacement)?);
        outcome
    };
    if let Err(error) = put_back() {
        // If no file has changed, everything is as before. If one has, or that is unknown, the next command finishes
        // it.
        if replaced == 0 {
            replacement.record.files = all;
            let _ = replacement.save(Progress::Done);
        }
        return Err(error);
    }
    replacement.save(Progress::Undone)?;
    let (files, removed) = split_by_existence(&undone);
    Ok(Undone { command, files, removed, kept, changed: copies, interrupted: false })
}

/// Copies a changed file to a new path below `changed`, in folders as in the tree.
fn keep(replacement: &Replacement, file: &FileRecord, found: &Found) -> Result<PathBuf> {
    let below = file.path.parent().and_then(|folder| folder.strip_prefix(&replacement.record.sources).ok());
    // Two names outside of the tree may be equal.
    let folder = replacement.copies().join("changed").join(below.unwrap_or(Path::new("outside")));
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
    // Not an extension that a build could take for a source.
    let name = format!("{}.changed", file.path.file_name().unwrap_or_default().to_string_lossy());
    let numbered = (2..).map(|number| folder.join(format!("{name}.{number}")));
    let mut places = std::iter::once(folder.join(&name)).chain(numbered);
    let copy = places.find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| folder.join(&name));
    write_new(&copy, &found.bytes, Some(&found.metadata))?;
    sync_folder(&folder)?;
    Ok(copy)
}
