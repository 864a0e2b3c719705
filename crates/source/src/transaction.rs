//! Replacing many files, all or none.

use std::path::{Path, PathBuf};

use super::files::{Found, find, find_unlinked, remove, rename, staged, sync_folder, write_new};
use super::plan::{Change, PatchPlan};
use super::records::{
    FileRecord, Progress, Record, Records, Replacement, checksum, is_interrupted, numbered, tree_folder,
};
use gputexel_io::{Error, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backup {
    #[default]
    State,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStep<'a> {
    /// The file is about to be written next to the old one.
    Stage(&'a Path),
    Replace(&'a Path),
    /// All files are in place; the record is not updated yet.
    Finish,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// `None` if there is no backup, or nothing to write.
    pub backup: Option<PathBuf>,
    /// Losses of the files by being replaced: other names, owners; one line each.
    pub warnings: Vec<String>,
}

/// # Errors
/// [`Error::Io`], or [`Error::Input`] for a file that is read-only or was changed since it was read. All
/// files then stay as they were.
pub fn write(plan: &PatchPlan, sources: &Path, command: &str, backup: &Backup) -> Result<Written> {
    write_observed(plan, sources, command, backup, &mut |_| Ok(()))
}

/// Does the same as [`write()`] and calls an observer before each step: its error stops the work and reverts
/// it.
pub fn write_observed(
    plan: &PatchPlan,
    sources: &Path,
    command: &str,
    backup: &Backup,
    observe: &mut dyn FnMut(WriteStep<'_>) -> std::io::Result<()>,
) -> Result<Written> {
    if plan.changes.is_empty() {
        return Ok(Written::default());
    }
    let records = Records::open(sources)?;
    if let Some(recovered) = recover_at(&records)? {
        // The plan was made from a tree that was half written; see `recover`.
        return Err(Error::input(sources, format!("{recovered}; run again")));
    }
    let old: Vec<Option<Found>> = plan.changes.iter().map(find_unchanged).collect::<Result<_>>()?;
    let replacement = next_replacement(&records, plan, command)?;
    let mut work = Replacing { plan, old, replacement, observe };
    let warnings = match work.run() {
        Ok(warnings) => warnings,
        Err(error) => {
            roll_back(&work.replacement)?;
            work.replacement.remove()?;
            return Err(error);
        }
    };
    if *backup == Backup::No {
        work.replacement.remove()?;
        return Ok(Written { backup: None, warnings });
    }
    Ok(Written { backup: Some(work.replacement.folder), warnings })
}

fn next_replacement(records: &Records, plan: &PatchPlan, command: &str) -> Result<Replacement> {
    let last = numbered(&records.folder)?.last().map_or(0, |(number, _)| *number);
    let full = || Error::input(&records.folder, "has no number left for the old files");
    let name = format!("{:04}-{command}", last.checked_add(1).ok_or_else(full)?);
    let file = |(i, change): (usize, &Change)| FileRecord {
        path: change.path.clone(),
        shown: change.shown.clone(),
        // Not an extension that a build could take for a source.
        copy: change.before.as_ref().map(|_| {
            format!("{i:04}-{}.before", change.path.file_name().unwrap_or_default().to_string_lossy())
        }),
        before: change.before.as_deref().map(checksum),
        after: checksum(&change.after),
        params: change.params,
    };
    let record = Record {
        command: command.to_string(),
        sources: records.sources.clone(),
        progress: Progress::Writing,
        files: plan.changes.iter().enumerate().map(file).collect(),
    };
    Ok(Replacement { folder: records.folder.join(name), record })
}

/// `None` if it does not exist.
fn find_unchanged(change: &Change) -> Result<Option<Found>> {
    let mut found = find_unlinked(&change.path)?;
    if found.as_ref().map(|found| &found.bytes) != change.before.as_ref() {
        return Err(Error::input(&change.shown, "was changed by another program just now"));
    }
    if let Some(found) = &mut found {
        if found.read_only {
            return Err(Error::input(&change.shown, "is read-only"));
        }
        found.bytes = Vec::new();
    }
    Ok(found)
}

struct Replacing<'a> {
    plan: &'a PatchPlan,
    /// In the order of the plan's changes; without bytes, which the plan holds.
    old: Vec<Option<Found>>,
    replacement: Replacement,
    observe: &'a mut dyn FnMut(WriteStep<'_>) -> std::io::Result<()>,
}

impl Replacing<'_> {
    fn run(&mut self) -> Result<Vec<String>> {
        self.keep_copies()?;
        let warnings = self.stage()?;
        let changes = &self.plan.changes;
        for change in changes {
            (self.observe)(WriteStep::Replace(&change.path)).map_err(|e| Error::io(&change.shown, e))?;
            rename(&staged(&change.path), &change.path)?;
        }
        sync_folders(changes.iter().map(|change| change.path.as_path()))?;
        (self.observe)(WriteStep::Finish).map_err(|e| Error::io(&self.replacement.folder, e))?;
        self.replacement.save(Progress::Done)?;
        Ok(warnings)
    }

    fn keep_copies(&mut self) -> Result<()> {
        let Self { plan, old, replacement, .. } = self;
        std::fs::create_dir(&replacement.folder).map_err(|e| Error::io(&replacement.folder, e))?;
        replacement.save(Progress::Writing)?;
        let copies = &replacement.folder;
        for ((file, change), old) in replacement.record.files.iter().zip(&plan.changes).zip(old) {
            if let (Some(copy), Some(before), Some(old)) = (&file.copy, &change.before, old) {
                write_new(&copies.join(copy), before, Some(&old.metadata))?;
            }
        }
        sync_folder(copies)?;
        sync_folders(std::iter::once(copies.as_path()))
    }

    fn stage(&mut self) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for (change, old) in self.plan.changes.iter().zip(&self.old) {
            (self.observe)(WriteStep::Stage(&change.path)).map_err(|e| Error::io(&change.shown, e))?;
            let like = old.as_ref().map(|old| &old.metadata);
            let shown = change.shown.display();
            if !write_new(&staged(&change.path), &change.after, like)? {
                let who = "its owner or group could not be kept; it is yours now";
                warnings.push(format!("{shown}: {who}"));
            }
            // Renaming separates a file from its other names. Writing to it instead would not replace all files or
            // none, and in a foreign tree the other name may be any file.
            match old.as_ref().map_or(0, |old| old.other_names) {
                0 => {}
                1 => {
                    let what = "has another name, a hard link, which keeps the old text";
                    warnings.push(format!("{shown}: {what}"));
                }
                names => {
                    let what = format!("has {names} other names, hard links, which keep the old text");
                    warnings.push(format!("{shown}: {what}"));
                }
            }
        }
        Ok(warnings)
    }
}

fn sync_folders<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<()> {
    let mut folders: Vec<&Path> = paths.filter_map(Path::parent).collect();
    folders.sort();
    folders.dedup();
    folders.into_iter().try_for_each(sync_folder)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Old,
    New,
    /// Neither the old nor the new file.
    Changed,
}

pub(super) fn file_state(file: &FileRecord) -> Result<FileState> {
    let now = find_unlinked(&file.path)?.map(|found| checksum(&found.bytes));
    Ok(match now {
        now if now == file.before => FileState::Old,
        Some(now) if now == file.after => FileState::New,
        _ => FileState::Changed,
    })
}

pub(super) struct Restoration<'a> {
    path: &'a Path,
    /// True if the old file was written next to it; else there was none.
    staged: bool,
}

impl<'a> Restoration<'a> {
    fn stage(replacement: &Replacement, file: &'a FileRecord) -> Result<Self> {
        let path = file.path.as_path();
        let Some(copy) = &file.copy else { return Ok(Self { path, staged: false }) };
        let copy = replacement.folder.join(copy);
        let missing = || Error::io(&copy, std::io::Error::from(std::io::ErrorKind::NotFound));
        let old = find(&copy)?.ok_or_else(missing)?;
        if Some(checksum(&old.bytes)) != file.before {
            return Err(Error::input(copy, "is not what was put there; nothing is made of it"));
        }
        // A folder of the tree that is missing is created again with its file.
        if let Some(folder) = path.parent().filter(|folder| folder.starts_with(&replacement.record.sources)) {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        }
        let like = find_unlinked(path)?.map_or(old.metadata, |now| now.metadata);
        if let Err(error) = write_new(&staged(path), &old.bytes, Some(&like)) {
            // Half a file is harmless but untidy.
            let _ = remove(&staged(path));
            return Err(error);
        }
        Ok(Self { path, staged: true })
    }

    /// Restores the old file, or removes one that did not exist before.
    fn replace(&self) -> Result<()> {
        if self.staged { rename(&staged(self.path), self.path) } else { remove(self.path) }
    }

    fn give_up(&self) {
        if self.staged {
            let _ = remove(&staged(self.path));
        }
    }
}

/// Writes the missing old files of a replacement next to the new ones, which reveals a full disk or missing
/// rights.
pub(super) fn stage_old(replacement: &Replacement) -> Result<Vec<Restoration<'_>>> {
    let mut staged: Vec<Restoration<'_>> = Vec::new();
    for file in &replacement.record.files {
        let next = match file_state(file) {
            Ok(FileState::Old) => continue,
            Ok(_) => Restoration::stage(replacement, file),
            Err(error) => Err(error),
        };
        match next {
            Ok(next) => staged.push(next),
            Err(error) => {
                staged.iter().for_each(Restoration::give_up);
                return Err(error);
            }
        }
    }
    Ok(staged)
}

pub(super) fn replace_all(staged: &[Restoration<'_>]) -> (usize, Result<()>) {
    for (i, restoration) in staged.iter().enumerate() {
        if let Err(error) = restoration.replace() {
            staged[i..].iter().for_each(Restoration::give_up);
            return (i, Err(error));
        }
    }
    (staged.len(), sync_folders(staged.iter().map(|restoration| restoration.path)))
}

fn roll_back(replacement: &Replacement) -> Result<()> {
    let files = &replacement.record.files;
    files.iter().for_each(|file| drop(remove(&staged(&file.path))));
    for file in files {
        if file_state(file)? == FileState::Changed {
            let reason = format!(
                "was changed after an interruption; its old text is in {}; put it right and delete {}",
                replacement.folder.join(file.copy.as_deref().unwrap_or_default()).display(),
                replacement.folder.display()
            );
            return Err(Error::input(&file.path, reason));
        }
    }
    replace_all(&stage_old(replacement)?).1
}

/// True if an interrupted command has left a source folder half written.
pub fn interrupted(sources: &Path) -> Result<bool> {
    is_interrupted(&sources.canonicalize().map_err(|e| Error::io(sources, e))?)
}

/// Rejects a source folder that an interrupted command has left half written, for commands that write
/// nothing.
pub(super) fn check_complete(sources: &Path) -> Result<()> {
    if interrupted(sources)? {
        let reason = "a 'gputexel patch' command was interrupted here; run 'gputexel patch undo' first";
        return Err(Error::input(sources, reason));
    }
    Ok(())
}

/// Reverts an interrupted command in a source folder; returns its description.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for records that cannot be read, and for a file that was changed since,
/// which is left alone.
pub fn recover(sources: &Path) -> Result<Option<String>> {
    let sources = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    if !tree_folder(&sources)?.is_dir() {
        return Ok(None);
    }
    recover_at(&Records::open(&sources)?)
}

pub(super) fn recover_at(records: &Records) -> Result<Option<String>> {
    let Some(mut replacement) = records.all()?.into_iter().find(Replacement::is_unfinished) else {
        return Ok(None);
    };
    let command = replacement.record.command.clone();
    if replacement.record.progress == Progress::Undoing {
        replace_all(&stage_old(&replacement)?).1?;
        replacement.save(Progress::Undone)?;
        return Ok(Some(format!("'patch undo' of a '{command}' was interrupted, and is finished now")));
    }
    roll_back(&replacement)?;
    replacement.remove()?;
    Ok(Some(format!("'patch {command}' was interrupted; all its files are as they were before it")))
}
