//! `undo`: restores the files as they were before the last command.

use std::path::{Path, PathBuf};

use super::files::{Found, find_unlinked, sync_folder, write_new};
use super::records::{FileRecord, Progress, Records, Replacement, tree_folder};
use super::remedy::Remedy;
use super::transaction::{FileState, file_state, recover_at, replace_all, stage_old};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Undone {
    pub command: String,
    pub files: Vec<PathBuf>,
    /// Files that did not exist before, and were removed.
    pub removed: Vec<PathBuf>,
    /// Files that were changed since and were left alone: `.params` files that tuning has changed.
    pub kept: Vec<PathBuf>,
    /// Files that were changed since and restored anyway, as named by the user then, with copies of their last
    /// contents.
    pub changed: Vec<(PathBuf, PathBuf)>,
    pub interrupted: bool,
}

/// Restores the files of a source folder as they were before the last command that is not undone. With
/// `force`, sources that were changed since are restored, too; their contents are kept with the old files.
///
/// # Errors
/// [`Error::Input`] if there is nothing to undo, or a source was changed since.
pub fn undo(sources: &Path, force: bool) -> Result<Undone> {
    let here = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    let nothing = || Error::input(sources, "there is nothing to undo");
    if !tree_folder(&here)?.is_dir() {
        return Err(nothing());
    }
    let records = Records::open(&here)?;
    if let Some(undone) = recovered(&records)? {
        return Ok(undone);
    }
    let is_done = |replacement: &Replacement| replacement.record.progress == Progress::Done;
    undo_last(records.all()?.into_iter().rfind(is_done).ok_or_else(nothing)?, force)
}

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

fn split_by_existence(files: &[FileRecord]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (old, new): (Vec<&FileRecord>, Vec<&FileRecord>) =
        files.iter().partition(|file| file.before.is_some());
    let shown = |files: Vec<&FileRecord>| files.into_iter().map(|file| file.shown.clone()).collect();
    (shown(old), shown(new))
}

fn undo_last(mut replacement: Replacement, force: bool) -> Result<Undone> {
    let command = replacement.record.command.clone();
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
    let folder = replacement.folder.join("changed").join(below.unwrap_or(Path::new("outside")));
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
