//! `undo`: the files as they were before the last command.

use std::path::{Path, PathBuf};

use super::journal::{Desk, Entry, Journal, Progress, replacements};
use super::transaction::{Now, now, recover_at, restore};
use crate::error::{Error, Result};

/// What was undone.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Undone {
    /// The command that was undone.
    pub command: String,
    /// The files that were put back, as the user called them then.
    pub files: Vec<PathBuf>,
    /// Files that were not there before, and are gone again.
    pub removed: Vec<PathBuf>,
    /// Files that were changed since and were left so: `.params` files that tuning went on with.
    pub kept: Vec<PathBuf>,
    /// Whether the command had been interrupted.
    pub interrupted: bool,
}

/// Puts the files back as they were before the last command that is not undone.
///
/// `place` is the source folder, or the folder of one replacement in a backup folder; `backup` is the
/// backup folder that the command was given, if any. With `force`, sources that were changed since are
/// put back, too; what they were goes to the backup folder.
///
/// # Errors
/// [`Error::Input`] if there is nothing to undo, or a source was changed since.
pub fn undo(place: &Path, backup: Option<&Path>, force: bool) -> Result<Undone> {
    if !place.is_dir() {
        let e = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(std::fs::metadata(place).map_or_else(|e| Error::io(place, e), |_| Error::io(place, e)));
    }
    if Journal::is_in(place) {
        let folder = place.canonicalize().map_err(|e| Error::io(place, e))?;
        // In the source folder, or in a backup folder of its own, which knows the sources.
        let above = folder.parent().unwrap_or(&folder);
        let sources = match (above.file_name(), above.parent()) {
            (Some(name), Some(sources)) if name == super::journal::FOLDER => sources.to_path_buf(),
            _ => Journal::read(&folder)?.sources,
        };
        let desk = Desk::open(&sources)?;
        if let Some(undone) = recovered(&desk)? {
            return Ok(undone);
        }
        if let Some(later) = later(&desk, &folder)?.filter(|_| !force) {
            return Err(Error::input(&folder, format!("{later} came later; undo it first, or use --force")));
        }
        return undo_one(&desk, &folder, force);
    }
    let nothing = || Error::input(place, "there is nothing to undo");
    if !place.join(super::journal::FOLDER).is_dir() && backup.is_none() {
        return Err(nothing());
    }
    let desk = Desk::open(place)?;
    if let Some(undone) = recovered(&desk)? {
        return Ok(undone);
    }
    let root = backup.unwrap_or(desk.folder()).to_path_buf();
    for (_, folder) in replacements(&root)?.into_iter().rev() {
        if !Journal::is_in(&folder) {
            continue;
        }
        let journal = Journal::read(&folder)?;
        // A backup folder may serve several trees.
        let ours = backup.is_none() || journal.sources == desk.sources();
        if ours && journal.progress == Progress::Done {
            return undo_one(&desk, &folder.canonicalize().map_err(|e| Error::io(&folder, e))?, force);
        }
    }
    Err(nothing())
}

/// The last replacement after that of a folder, if it is not undone.
fn later(desk: &Desk, folder: &Path) -> Result<Option<String>> {
    for (_, other) in replacements(folder.parent().unwrap_or(folder))?.into_iter().rev() {
        if other.file_name() == folder.file_name() {
            break;
        }
        let journal = if Journal::is_in(&other) { Journal::read(&other)? } else { continue };
        if journal.progress == Progress::Done && journal.sources == desk.sources() {
            return Ok(other.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Puts back what an interrupted command has left, which counts as undoing it.
fn recovered(desk: &Desk) -> Result<Option<Undone>> {
    let Some(folder) = desk.pending()?.filter(|folder| Journal::is_in(folder)) else { return Ok(None) };
    let journal = Journal::read_for(&folder, desk.sources())?;
    let (files, removed) = parted(journal.files.iter());
    let undone = Undone { command: journal.command, files, removed, kept: Vec::new(), interrupted: true };
    Ok(recover_at(desk)?.map(|_| undone))
}

/// Files as the user called them: those that were there before, and those that were not.
fn parted<'a>(entries: impl Iterator<Item = &'a Entry>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (old, new): (Vec<&Entry>, Vec<&Entry>) = entries.partition(|entry| entry.before.is_some());
    let shown = |entries: Vec<&Entry>| entries.into_iter().map(|entry| entry.shown.clone()).collect();
    (shown(old), shown(new))
}

fn undo_one(desk: &Desk, folder: &Path, force: bool) -> Result<Undone> {
    let mut journal = Journal::read_for(folder, desk.sources())?;
    if journal.progress == Progress::Undone {
        return Err(Error::input(folder, "is undone already"));
    }
    let (mut changed, mut kept) = (Vec::new(), Vec::new());
    let mut remaining = Vec::new();
    for entry in &journal.files {
        match now(&journal, entry)? {
            Now::Old => {}
            Now::Changed if entry.params => {
                kept.push(entry.shown.clone());
                continue;
            }
            Now::Changed if !force => {
                let reason = format!(
                    "was changed after 'patch {}'; --force puts it back all the same",
                    journal.command
                );
                return Err(Error::input(&entry.shown, reason));
            }
            Now::Changed => {
                let name = entry.path.file_name().unwrap_or_default().to_string_lossy();
                let path = journal.path(entry);
                let copy = folder.join(format!("{name}.changed"));
                // A file that was deleted leaves nothing to keep.
                if path.exists() {
                    std::fs::copy(&path, &copy).map_err(|e| Error::io(&copy, e))?;
                }
                changed.push(entry.clone());
            }
            Now::New => changed.push(entry.clone()),
        }
        remaining.push(entry.clone());
    }
    // What is left alone is no business of an interrupted undo, either.
    journal.files = remaining;
    journal.progress = Progress::Undoing;
    desk.set_pending(folder)?;
    journal.write(folder)?;
    finish(&journal, folder)?;
    desk.clear_pending()?;
    let (files, removed) = parted(changed.iter());
    Ok(Undone { command: journal.command, files, removed, kept, interrupted: false })
}

/// Puts back what is not yet, and says so in the journal.
pub(super) fn finish(journal: &Journal, folder: &Path) -> Result<()> {
    for entry in &journal.files {
        if now(journal, entry)? != Now::Old {
            restore(journal, entry, folder)?;
        }
    }
    Journal { progress: Progress::Undone, ..journal.clone() }.write(folder)
}
