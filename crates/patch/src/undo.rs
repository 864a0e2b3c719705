//! `undo`: the files as they were before the last command.

use std::path::{Path, PathBuf};

use super::folder::{FilePlace, Folder, Found};
use super::journal::{FOLDER, FileRecord, Journal, Origin, Progress, replacements};
use super::lock::PatchLock;
use super::remedy::Remedy;
use super::seal::Key;
use super::transaction::{FileState, backup_root, file_state, recover_at, replace_all, stage_undo};
use gputexel_files::{Error, Result};

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
    /// Files that were changed since and were put back all the same, as the user called them then, with
    /// the copies of what they were.
    pub changed: Vec<(PathBuf, PathBuf)>,
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
/// [`Error::Input`] if there is nothing to undo, a source was changed since, or the records are another
/// tree's.
pub fn undo(place: &Path, backup: Option<&Path>, force: bool) -> Result<Undone> {
    if !place.is_dir() {
        let e = std::io::Error::from(std::io::ErrorKind::NotADirectory);
        return Err(std::fs::metadata(place).map_or_else(|e| Error::io(place, e), |_| Error::io(place, e)));
    }
    let here = place.canonicalize().map_err(|e| Error::io(place, e))?;
    let opened = Folder::open(&here)?;
    let in_tree = opened.has(FOLDER)?;
    if !in_tree && backup.is_none() && Journal::is_in(&opened)? {
        return undo_replacement(&opened, force);
    }
    let nothing = || Error::input(place, "there is nothing to undo");
    if !in_tree && backup.is_none() {
        return Err(nothing());
    }
    let lock = PatchLock::open(place)?;
    if let Some(undone) = recovered(&lock)? {
        return Ok(undone);
    }
    let root = match backup {
        Some(_) => backup_root(&lock, backup)?.ok_or_else(nothing)?,
        None => lock.folder().below(Path::new(""))?,
    };
    for (_, name) in replacements(&root)?.into_iter().rev() {
        let folder = root.below(Path::new(&name))?;
        if lock.journal(&folder)?.is_some_and(|journal| journal.progress == Progress::Done) {
            return undo_one(&lock, &folder, force);
        }
    }
    Err(nothing())
}

/// Undoes the replacement of a folder in [`FOLDER`], or in a backup folder, where the journal knows the
/// sources.
fn undo_replacement(folder: &Folder, force: bool) -> Result<Undone> {
    let above = folder.path().parent().unwrap_or(folder.path());
    let sources = match (above.file_name(), above.parent()) {
        (Some(name), Some(sources)) if name == FOLDER => sources.to_path_buf(),
        _ => {
            let Some((journal, origin)) = Journal::read(folder, &Key::load()?)? else {
                return Err(Error::input(folder.path(), "there is nothing to undo"));
            };
            if origin != Origin::Own {
                origin.check(&journal.sources, &journal.sources, folder.path())?;
            }
            journal.sources
        }
    };
    let lock = PatchLock::open(&sources)?;
    if let Some(undone) = recovered(&lock)? {
        return Ok(undone);
    }
    if let Some(later) = later(&lock, folder)?.filter(|_| !force) {
        let reason = format!("{later} came later; undo it first");
        return Err(Error::input(folder.path(), reason).advise(Remedy::UndoLaterFirst));
    }
    undo_one(&lock, folder, force)
}

/// The last replacement after that of a folder, if it is not undone.
fn later(lock: &PatchLock, folder: &Folder) -> Result<Option<String>> {
    let root = Folder::open(folder.path().parent().unwrap_or(folder.path()))?;
    for (_, name) in replacements(&root)?.into_iter().rev() {
        if folder.path().file_name().is_some_and(|own| own == name.as_str()) {
            break;
        }
        let other = Journal::read(&root.below(Path::new(&name))?, lock.key())?;
        let of_tree = |journal: &Journal| journal.sources == lock.sources();
        if other.is_some_and(|(journal, _)| journal.progress == Progress::Done && of_tree(&journal)) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Puts back what an interrupted command has left, which counts as undoing it.
fn recovered(lock: &PatchLock) -> Result<Option<Undone>> {
    let folder = lock.pending()?.map(|path| lock.replacement(&path)).transpose()?.flatten();
    let Some(journal) = folder.map(|folder| lock.journal(&folder)).transpose()?.flatten() else {
        return Ok(None);
    };
    let (files, removed) = split_by_existence(journal.files.iter());
    let (kept, changed) = (Vec::new(), Vec::new());
    let undone = Undone { command: journal.command, files, removed, kept, changed, interrupted: true };
    Ok(recover_at(lock)?.map(|_| undone))
}

/// Files as the user called them: those that were there before, and those that were not.
fn split_by_existence<'a>(entries: impl Iterator<Item = &'a FileRecord>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (old, new): (Vec<&FileRecord>, Vec<&FileRecord>) = entries.partition(|entry| entry.before.is_some());
    let shown = |entries: Vec<&FileRecord>| entries.into_iter().map(|entry| entry.shown.clone()).collect();
    (shown(old), shown(new))
}

fn undo_one(lock: &PatchLock, folder: &Folder, force: bool) -> Result<Undone> {
    let Some(mut journal) = lock.journal(folder)? else {
        return Err(Error::input(folder.path(), "there is nothing to undo"));
    };
    if journal.progress == Progress::Undone {
        return Err(Error::input(folder.path(), "is undone already"));
    }
    let (mut undone, mut kept) = (Vec::new(), Vec::new());
    let (mut remaining, mut changed) = (Vec::new(), Vec::new());
    for entry in &journal.files {
        match file_state(lock.tree(), entry)? {
            FileState::Old => {}
            FileState::Changed if entry.params => {
                kept.push(entry.shown.clone());
                continue;
            }
            FileState::Changed if !force => {
                let reason = format!("was changed after 'patch {}'", journal.command);
                return Err(Error::input(&entry.shown, reason).advise(Remedy::UndoChanged));
            }
            FileState::Changed => {
                changed.push(entry);
                undone.push(entry.clone());
            }
            FileState::New => undone.push(entry.clone()),
        }
        remaining.push(entry.clone());
    }
    let mut copies = Vec::new();
    for entry in changed {
        // A file that was deleted leaves nothing to keep.
        if let Some(place) = entry.place(lock.tree())?
            && let Some(found) = place.find()?
        {
            copies.push((entry.shown.clone(), keep(folder, entry, &place, &found)?));
        }
    }
    // What is left alone is no business of an interrupted undo, either.
    let done = journal.clone();
    journal.files = remaining;
    journal.progress = Progress::Undoing;
    let mut replaced = 0;
    let mut put_back = || {
        lock.set_pending(folder.path())?;
        journal.write(folder, lock.key())?;
        let outcome;
        (replaced, outcome) = replace_all(&stage_undo(lock, &journal, folder)?);
        outcome
    };
    if let Err(error) = put_back() {
        // Where no file has changed, all is as before. Where one has, or not even that can be said, the next
        // command finishes it.
        if replaced == 0 && done.write(folder, lock.key()).is_ok() {
            lock.clear_pending()?;
        }
        return Err(error);
    }
    journal.at(Progress::Undone).write(folder, lock.key())?;
    lock.clear_pending()?;
    let (files, removed) = split_by_existence(undone.iter());
    Ok(Undone { command: journal.command, files, removed, kept, changed: copies, interrupted: false })
}

/// Copies a changed file to where nothing is yet: below `changed`, in folders as in the tree.
fn keep(folder: &Folder, entry: &FileRecord, place: &FilePlace, found: &Found) -> Result<PathBuf> {
    let below = match entry.path.parent() {
        Some(parent) if entry.path.is_relative() => Path::new("changed").join(parent),
        // Two names that are not the tree's may well be equal.
        _ => PathBuf::from("changed/outside"),
    };
    let folder = folder.make(&below)?;
    // No ending that a build could take for a source.
    let name = format!("{}.changed", place.name.to_string_lossy());
    let (mut copy, mut number) = (name.clone(), 1);
    while folder.has(&copy)? {
        number += 1;
        copy = format!("{name}.{number}");
    }
    folder.write(&copy, &found.bytes, Some(&found.rights))?;
    folder.sync()?;
    Ok(folder.path().join(copy))
}
