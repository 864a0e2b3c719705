//! Replacing many files, all or none.
//!
//! First the old files are copied and the journal says what will happen; then every new file is written
//! beside the old one, where a full disk or a folder without rights shows; only then are they renamed
//! into place, one by one. An error on the way puts the old files back. After an interruption the
//! journal tells [`recover`] what to put back; every command does that first.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::journal::{Desk, Entry, Journal, Progress, checksum, make_folder, replacements, sync};
use super::plan::{Change, Plan};
use crate::error::{Error, Result};
use crate::files::set_default_permissions;

/// Where the old files are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backup {
    /// In `.gputexel-patch` in the source folder.
    #[default]
    Beside,
    /// In a folder of its own.
    In(PathBuf),
    /// Nowhere, once all is written.
    No,
}

/// What is about to happen to a file; see [`write_observed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It is about to be written beside the old one.
    Stage(&'a Path),
    /// It is about to be renamed into place.
    Replace(&'a Path),
    /// All are in place; the journal does not say so yet.
    Finish,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The folder with the old files; none if there is no backup, or nothing was to be written.
    pub backup: Option<PathBuf>,
}

/// Writes the files of a plan, all or none.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] for a file that is read-only or was changed since it was read. All
/// files are then as they were.
pub fn write(plan: &Plan, sources: &Path, command: &str, backup: &Backup) -> Result<Written> {
    write_observed(plan, sources, command, backup, &mut |_| Ok(()))
}

/// As [`write()`], asking before each step: an error stops the work and puts back what was done.
///
/// # Errors
/// Those of [`write()`] and of the observer.
pub fn write_observed(
    plan: &Plan,
    sources: &Path,
    command: &str,
    backup: &Backup,
    observe: &mut dyn FnMut(Step<'_>) -> std::io::Result<()>,
) -> Result<Written> {
    if plan.changes.is_empty() {
        return Ok(Written::default());
    }
    for change in &plan.changes {
        check_writable(change)?;
    }
    let desk = Desk::open(sources)?;
    if let Some(recovered) = recover_at(&desk)? {
        // The plan was made from a tree that was half written; see `recover`.
        return Err(Error::input(sources, format!("{recovered}; run again")));
    }
    let root = match backup {
        Backup::In(folder) => {
            make_folder(folder)?;
            folder.canonicalize().map_err(|e| Error::io(folder, e))?
        }
        Backup::Beside | Backup::No => desk.folder().to_path_buf(),
    };
    let number = replacements(&root)?.last().map_or(1, |(number, _)| number + 1);
    let folder = root.join(format!("{number:04}-{command}"));
    desk.set_pending(&folder)?;
    let journal = match prepare(plan, &folder, desk.sources(), command, observe) {
        Ok(journal) => journal,
        Err(error) => {
            plan.changes.iter().for_each(|change| remove_staged(&change.path));
            let _ = std::fs::remove_dir_all(&folder);
            desk.clear_pending()?;
            return Err(error);
        }
    };
    if let Err(error) = replace(plan, &journal, &folder, observe) {
        roll_back(&journal, &folder)?;
        let _ = std::fs::remove_dir_all(&folder);
        desk.clear_pending()?;
        return Err(error);
    }
    desk.clear_pending()?;
    if *backup == Backup::No {
        std::fs::remove_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
        return Ok(Written::default());
    }
    Ok(Written { backup: Some(folder) })
}

fn check_writable(change: &Change) -> Result<()> {
    if change.before.is_none() {
        return Ok(());
    }
    let metadata = std::fs::metadata(&change.path).map_err(|e| Error::io(&change.shown, e))?;
    if metadata.permissions().readonly() {
        return Err(Error::input(&change.shown, "is read-only"));
    }
    Ok(())
}

/// Copies the old files, writes the journal and stages the new files.
fn prepare(
    plan: &Plan,
    folder: &Path,
    sources: &Path,
    command: &str,
    observe: &mut dyn FnMut(Step<'_>) -> std::io::Result<()>,
) -> Result<Journal> {
    make_folder(folder)?;
    let mut files = Vec::new();
    for (i, change) in plan.changes.iter().enumerate() {
        let now = match std::fs::read(&change.path) {
            Ok(bytes) => Some(bytes),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(Error::io(&change.shown, e)),
        };
        if now != change.before {
            return Err(Error::input(&change.shown, "was changed by another program just now"));
        }
        let name = change.path.file_name().unwrap_or_default().to_string_lossy();
        // No ending that a build could take for a source.
        let backup = change.before.as_ref().map(|_| format!("{i:04}-{name}.before"));
        if let (Some(backup), Some(before)) = (&backup, &change.before) {
            write_synced(&folder.join(backup), before, None)?;
        }
        files.push(Entry {
            path: change.path.strip_prefix(sources).unwrap_or(&change.path).to_path_buf(),
            shown: change.shown.clone(),
            backup,
            before: change.before.as_deref().map(checksum),
            after: checksum(&change.after),
            params: change.params,
        });
    }
    let (command, sources) = (command.to_string(), sources.to_path_buf());
    let journal = Journal { version: 1, command, sources, progress: Progress::Writing, files };
    journal.write(folder)?;
    for change in &plan.changes {
        observe(Step::Stage(&change.path)).map_err(|e| Error::io(&change.shown, e))?;
        write_synced(&staged(&change.path), &change.after, Some(&change.path))?;
    }
    Ok(journal)
}

fn replace(
    plan: &Plan,
    journal: &Journal,
    folder: &Path,
    observe: &mut dyn FnMut(Step<'_>) -> std::io::Result<()>,
) -> Result<()> {
    for change in &plan.changes {
        let done = observe(Step::Replace(&change.path))
            .and_then(|()| std::fs::rename(staged(&change.path), &change.path));
        done.map_err(|e| Error::io(&change.shown, e))?;
    }
    for change in &plan.changes {
        change.path.parent().map_or(Ok(()), sync)?;
    }
    observe(Step::Finish).map_err(|e| Error::io(folder, e))?;
    Journal { progress: Progress::Done, ..journal.clone() }.write(folder)
}

/// The name of a new file until it takes the place of the old one.
fn staged(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.gputexel-new"))
}

fn remove_staged(path: &Path) {
    let _ = std::fs::remove_file(staged(path));
}

/// Writes and syncs a file, with the rights of another if that is there.
fn write_synced(path: &Path, bytes: &[u8], like: Option<&Path>) -> Result<()> {
    let write = || -> std::io::Result<()> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = std::fs::File::create_new(path)?;
        file.write_all(bytes)?;
        match like.and_then(|like| std::fs::metadata(like).ok()) {
            Some(metadata) => file.set_permissions(metadata.permissions())?,
            None => set_default_permissions(&file)?,
        }
        file.sync_all()
    };
    write().map_err(|e| Error::io(path, e))
}

/// What a file is by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Old,
    New,
    /// Neither.
    Changed,
}

pub(super) fn now(journal: &Journal, entry: &Entry) -> Result<Now> {
    let path = journal.path(entry);
    let sum = match std::fs::read(&path) {
        Ok(bytes) => Some(checksum(&bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(Error::io(path, e)),
    };
    Ok(match sum {
        sum if sum == entry.before => Now::Old,
        Some(sum) if sum == entry.after => Now::New,
        _ => Now::Changed,
    })
}

/// Puts the old file back, or removes one that was not there before.
pub(super) fn restore(journal: &Journal, entry: &Entry, folder: &Path) -> Result<()> {
    let path = journal.path(entry);
    let Some(backup) = &entry.backup else {
        return match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, e)),
            _ => Ok(()),
        };
    };
    let backup = folder.join(backup);
    let bytes = std::fs::read(&backup).map_err(|e| Error::io(&backup, e))?;
    if Some(checksum(&bytes)) != entry.before {
        return Err(Error::input(&backup, "is not what was put there; nothing is made of it"));
    }
    let new = staged(&path);
    write_synced(&new, &bytes, Some(&path))?;
    std::fs::rename(&new, &path).map_err(|e| Error::io(path, e))
}

/// Puts back all that is new.
fn roll_back(journal: &Journal, folder: &Path) -> Result<()> {
    for entry in &journal.files {
        let path = journal.path(entry);
        remove_staged(&path);
        match now(journal, entry)? {
            Now::Old => {}
            Now::New => restore(journal, entry, folder)?,
            Now::Changed => {
                let reason = format!(
                    "was changed after an interruption; its old text is in {}; put it right and delete {}",
                    folder.join(entry.backup.as_deref().unwrap_or_default()).display(),
                    folder.display()
                );
                return Err(Error::input(path, reason));
            }
        }
    }
    Ok(())
}

/// Whether an interrupted command has left a source folder half written.
///
/// # Errors
/// [`Error::Io`].
pub fn interrupted(sources: &Path) -> Result<bool> {
    let note = sources.join(super::journal::FOLDER).join(super::journal::PENDING);
    match std::fs::read_to_string(&note) {
        Ok(folder) => Ok(Journal::is_in(Path::new(folder.trim_end_matches('\n')))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(Error::io(note, e)),
    }
}

/// Puts back what an interrupted command has left in a source folder; says what that was.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for a file that was changed since, which is left alone.
pub fn recover(sources: &Path) -> Result<Option<String>> {
    let sources = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    if !sources.join(super::journal::FOLDER).is_dir() {
        return Ok(None);
    }
    recover_at(&Desk::open(&sources)?)
}

pub(super) fn recover_at(desk: &Desk) -> Result<Option<String>> {
    let Some(folder) = desk.pending()? else { return Ok(None) };
    if !Journal::is_in(&folder) {
        // Nothing was touched yet, or the user has thrown the journal away.
        let _ = std::fs::remove_dir_all(&folder);
        desk.clear_pending()?;
        return Ok(None);
    }
    let journal = Journal::read_for(&folder, desk.sources())?;
    let said = match journal.progress {
        Progress::Writing => {
            roll_back(&journal, &folder)?;
            std::fs::remove_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
            Some(format!(
                "'patch {}' was interrupted; all its files are as they were before it",
                journal.command
            ))
        }
        Progress::Undoing => {
            super::undo::finish(&journal, &folder)?;
            Some(format!("'patch undo' of a '{}' was interrupted, and is finished now", journal.command))
        }
        Progress::Done | Progress::Undone => None,
    };
    desk.clear_pending()?;
    Ok(said)
}
