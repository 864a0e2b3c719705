//! Replacing many files, all or none.
//!
//! First the old files are copied and the journal says what will happen; then every new file is written
//! beside the old one, where a full disk or a folder without rights shows; only then are they renamed
//! into place, one by one. An error on the way puts the old files back. After an interruption the
//! journal tells [`recover`] what to put back; every command does that first.

use std::path::{Path, PathBuf};

use super::folder::{FilePlace, Folder, Found};
use super::journal::{FOLDER, FileRecord, Journal, Progress, checksum, has_checksum, replacements};
use super::lock::PatchLock;
use super::plan::{Change, PatchPlan};
use gputexel_files::{Error, NewFolders, Result};

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
pub enum WriteStep<'a> {
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
    /// What the files have lost by it: other names, owners; one line each.
    pub warnings: Vec<String>,
}

/// Writes the files of a plan, all or none.
///
/// # Errors
/// [`Error::Io`], or [`Error::Input`] for a file that is read-only or was changed since it was read. All
/// files are then as they were.
pub fn write(plan: &PatchPlan, sources: &Path, command: &str, backup: &Backup) -> Result<Written> {
    write_observed(plan, sources, command, backup, &mut |_| Ok(()))
}

/// As [`write()`], asking before each step: an error stops the work and puts back what was done.
///
/// # Errors
/// Those of [`write()`] and of the observer.
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
    let lock = PatchLock::open(sources)?;
    if let Some(recovered) = recover_at(&lock)? {
        // The plan was made from a tree that was half written; see `recover`.
        return Err(Error::input(sources, format!("{recovered}; run again")));
    }
    let found: Vec<(FilePlace, Option<Found>)> =
        plan.changes.iter().map(|change| find_unchanged(&lock, change)).collect::<Result<_>>()?;
    let (root, fresh) = match backup {
        Backup::In(folder) => {
            let fresh = NewFolders::make(folder)?;
            let root = open(folder).and_then(|folder| folder.make(Path::new(&tree_name(lock.sources()))));
            (root.inspect_err(|_| fresh.remove_empty())?, fresh)
        }
        Backup::Beside | Backup::No => (lock.folder().below(Path::new(""))?, NewFolders::default()),
    };
    // What was made for the old files, and holds none.
    let tidy = || {
        if let Backup::In(folder) = backup
            && let Ok(folder) = open(folder)
        {
            folder.remove_empty(tree_name(lock.sources()));
            fresh.remove_empty();
        }
    };
    let created = create_folder(&lock, &root, command);
    let opened = created.and_then(|name| Ok((root.below(Path::new(&name))?, name)));
    let (folder, name) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            lock.clear_pending()?;
            tidy();
            return Err(error);
        }
    };
    let work = Replacement { plan, found, lock: &lock, folder: &folder };
    let give_up = |error: Error| -> Result<Written> {
        work.found.iter().for_each(|(place, _)| drop(place.folder.remove(place.staged())));
        let _ = root.remove_folder(&name);
        tidy();
        lock.clear_pending()?;
        Err(error)
    };
    let (journal, warnings) = match work.prepare(command, observe) {
        Ok(prepared) => prepared,
        Err(error) => return give_up(error),
    };
    if let Err(error) = work.replace(&journal, observe) {
        roll_back(&lock, &journal, &folder)?;
        return give_up(error);
    }
    lock.clear_pending()?;
    if *backup == Backup::No {
        root.remove_folder(&name)?;
        return Ok(Written { backup: None, warnings });
    }
    Ok(Written { backup: Some(folder.path().to_path_buf()), warnings })
}

/// Opens a folder that the user has named.
fn open(folder: &Path) -> Result<Folder> {
    Folder::open(&folder.canonicalize().map_err(|e| Error::io(folder, e))?)
}

/// What a source folder is called in a backup folder, which may serve several trees.
fn tree_name(sources: &Path) -> String {
    let name = sources.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(40).collect();
    format!("{name}-{}", &checksum(sources.as_os_str().as_encoded_bytes())[..8])
}

/// The folder with the replacements of a tree in a backup folder, or that folder itself if it has none
/// of that name: the tree may have been moved. None if there is no such folder.
pub(super) fn backup_root(lock: &PatchLock, backup: Option<&Path>) -> Result<Option<Folder>> {
    let Some(backup) = backup.filter(|backup| backup.exists()) else { return Ok(None) };
    let (root, name) = (open(backup)?, tree_name(lock.sources()));
    if root.has(&name)? { root.below(Path::new(&name)).map(Some) } else { Ok(Some(root)) }
}

/// Makes the folder of the next replacement; its name. It is noted first, so that what an interruption leaves of it
/// is taken away by the next command.
fn create_folder(lock: &PatchLock, root: &Folder, command: &str) -> Result<String> {
    let mut number = replacements(root)?.last().map_or(0, |(number, _)| *number);
    loop {
        let full = || Error::input(root.path(), "has no number left for the old files");
        number = number.checked_add(1).ok_or_else(full)?;
        let name = format!("{number:04}-{command}");
        lock.set_pending(&root.path().join(&name))?;
        if root.create_folder(&name)? {
            return Ok(name);
        }
    }
}

/// A file that is to be replaced, as it is now; none if it is not there.
fn find_unchanged(lock: &PatchLock, change: &Change) -> Result<(FilePlace, Option<Found>)> {
    let missing = || Error::io(&change.shown, std::io::Error::from(std::io::ErrorKind::NotFound));
    let place = FilePlace::of(lock.tree(), &change.path)?.ok_or_else(missing)?;
    let mut found = place.find()?;
    if found.as_ref().map(|found| &found.bytes) != change.before.as_ref() {
        return Err(Error::input(&change.shown, "was changed by another program just now"));
    }
    if let Some(found) = &mut found {
        if found.read_only {
            return Err(Error::input(&change.shown, "is read-only"));
        }
        found.bytes = Vec::new();
    }
    Ok((place, found))
}

/// The work on the files of a plan.
struct Replacement<'a> {
    plan: &'a PatchPlan,
    /// In the order of the plan's changes; without bytes, which are the plan's.
    found: Vec<(FilePlace, Option<Found>)>,
    lock: &'a PatchLock,
    /// That of the replacement.
    folder: &'a Folder,
}

impl Replacement<'_> {
    fn files(&self) -> impl Iterator<Item = (&Change, &FilePlace, Option<&Found>)> {
        let files = self.plan.changes.iter().zip(&self.found);
        files.map(|(change, (place, found))| (change, place, found.as_ref()))
    }

    /// Copies the old files, writes the journal and stages the new files; also returns what they lose.
    fn prepare(
        &self,
        command: &str,
        observe: &mut dyn FnMut(WriteStep<'_>) -> std::io::Result<()>,
    ) -> Result<(Journal, Vec<String>)> {
        let sources = self.lock.sources();
        let (mut entries, mut warnings) = (Vec::new(), Vec::new());
        for (i, (change, place, found)) in self.files().enumerate() {
            // No ending that a build could take for a source.
            let backup = format!("{i:04}-{}.before", place.name.to_string_lossy());
            if let (Some(found), Some(before)) = (found, &change.before) {
                self.folder.write(&backup, before, Some(&found.rights))?;
            }
            entries.push(FileRecord {
                path: change.path.strip_prefix(sources).unwrap_or(&change.path).to_path_buf(),
                shown: change.shown.clone(),
                backup: change.before.as_ref().map(|_| backup),
                before: change.before.as_deref().map(checksum),
                after: checksum(&change.after),
                params: change.params,
            });
        }
        let journal = Journal::new(command, sources, entries);
        journal.write(self.folder, self.lock.key())?;
        for (change, place, found) in self.files() {
            observe(WriteStep::Stage(&change.path)).map_err(|e| Error::io(&change.shown, e))?;
            let rights = found.map(|found| &found.rights);
            let shown = change.shown.display();
            if !place.folder.write(place.staged(), &change.after, rights)? {
                let who = "its owner or group could not be kept; it is yours now";
                warnings.push(format!("{shown}: {who}"));
            }
            // Renaming parts a file from its other names. Writing to it instead would be no way to
            // replace all files or none, and in a foreign tree the other name may be of any file.
            match found.map_or(0, |found| found.other_names) {
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
        Ok((journal, warnings))
    }

    fn replace(
        &self,
        journal: &Journal,
        observe: &mut dyn FnMut(WriteStep<'_>) -> std::io::Result<()>,
    ) -> Result<()> {
        for (change, place, _) in self.files() {
            observe(WriteStep::Replace(&change.path)).map_err(|e| Error::io(&change.shown, e))?;
            place.folder.rename(place.staged(), &place.name)?;
        }
        for (_, place, _) in self.files() {
            place.folder.sync()?;
        }
        observe(WriteStep::Finish).map_err(|e| Error::io(self.folder.path(), e))?;
        journal.at(Progress::Done).write(self.folder, self.lock.key())
    }
}

/// What a file is by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Old,
    New,
    /// Neither.
    Changed,
}

pub(super) fn file_state(tree: &Folder, entry: &FileRecord) -> Result<FileState> {
    let found = entry.place(tree)?.map(|place| place.find()).transpose()?.flatten();
    Ok(match (found, &entry.before) {
        (None, None) => FileState::Old,
        (Some(found), Some(before)) if has_checksum(&found.bytes, before) => FileState::Old,
        (Some(found), _) if has_checksum(&found.bytes, &entry.after) => FileState::New,
        _ => FileState::Changed,
    })
}

/// A file that is about to be as it was.
pub(super) struct Restoration {
    place: FilePlace,
    /// Whether the old file is there beside it; else there was none.
    staged: bool,
}

impl Restoration {
    /// Writes the old file beside the new one; none if there is no place where one could be.
    fn stage(tree: &Folder, entry: &FileRecord, folder: &Folder) -> Result<Option<Self>> {
        let Some(backup) = &entry.backup else {
            return Ok(entry.place(tree)?.map(|place| Self { place, staged: false }));
        };
        let missing = |path: &Path| Error::io(path, std::io::Error::from(std::io::ErrorKind::NotFound));
        let old = folder.find(backup)?.ok_or_else(|| missing(&folder.path().join(backup)))?;
        if !entry.before.as_ref().is_some_and(|sum| has_checksum(&old.bytes, sum)) {
            let reason = "is not what was put there; nothing is made of it";
            return Err(Error::input(folder.path().join(backup), reason));
        }
        let place = match (entry.place(tree)?, entry.path.parent()) {
            (Some(place), _) => place,
            (None, Some(parent)) if entry.path.is_relative() => FilePlace {
                folder: tree.make(parent)?,
                name: entry.path.file_name().unwrap_or_default().into(),
            },
            (None, _) => return Err(missing(&entry.path)),
        };
        let rights = place.find()?.map_or(old.rights, |now| now.rights);
        let staged = place.folder.write(place.staged(), &old.bytes, Some(&rights));
        if let Err(error) = staged {
            // Half a file is in nobody's way, but a mess.
            let _ = place.folder.remove(place.staged());
            return Err(error);
        }
        Ok(Some(Self { place, staged: true }))
    }

    /// Puts the old file in its place, or removes one that was not there before.
    fn replace(&self) -> Result<()> {
        let Self { place, staged } = self;
        if *staged {
            place.folder.rename(place.staged(), &place.name)
        } else {
            place.folder.remove(&place.name)
        }
    }

    /// Takes away what was written.
    fn give_up(&self) {
        if self.staged {
            let _ = self.place.folder.remove(self.place.staged());
        }
    }
}

/// Writes the old files of entries beside the new ones; all or, where that fails, none.
fn stage_all(tree: &Folder, entries: &[&FileRecord], folder: &Folder) -> Result<Vec<Restoration>> {
    let mut staged: Vec<Restoration> = Vec::new();
    for entry in entries {
        match Restoration::stage(tree, entry, folder) {
            Ok(next) => staged.extend(next),
            Err(error) => {
                staged.iter().for_each(Restoration::give_up);
                return Err(error);
            }
        }
    }
    Ok(staged)
}

/// Puts old files in their places. Where that fails, the others stay as they are; also returns how many were put
/// back.
pub(super) fn replace_all(staged: &[Restoration]) -> (usize, Result<()>) {
    for (i, restoration) in staged.iter().enumerate() {
        if let Err(error) = restoration.replace() {
            staged[i..].iter().for_each(Restoration::give_up);
            return (i, Err(error));
        }
    }
    (staged.len(), staged.iter().try_for_each(|restoration| restoration.place.folder.sync()))
}

/// Writes the old files that are not there beside the new ones, where a full disk or a folder without rights shows;
/// after an error, no file has changed.
pub(super) fn stage_undo(lock: &PatchLock, journal: &Journal, folder: &Folder) -> Result<Vec<Restoration>> {
    let mut changed = Vec::new();
    for entry in &journal.files {
        if file_state(lock.tree(), entry)? != FileState::Old {
            changed.push(entry);
        }
    }
    stage_all(lock.tree(), &changed, folder)
}

/// Puts back all that is new.
fn roll_back(lock: &PatchLock, journal: &Journal, folder: &Folder) -> Result<()> {
    let mut new = Vec::new();
    for entry in &journal.files {
        if let Some(place) = entry.place(lock.tree())? {
            place.folder.remove(place.staged())?;
        }
        match file_state(lock.tree(), entry)? {
            FileState::Old => {}
            FileState::New => new.push(entry),
            FileState::Changed => {
                let reason = format!(
                    "was changed after an interruption; its old text is in {}; put it right and delete {}",
                    folder.path().join(entry.backup.as_deref().unwrap_or_default()).display(),
                    folder.path().display()
                );
                return Err(Error::input(lock.sources().join(&entry.path), reason));
            }
        }
    }
    replace_all(&stage_all(lock.tree(), &new, folder)?).1
}

/// Whether an interrupted command has left a source folder half written.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for records that come from elsewhere.
pub fn interrupted(sources: &Path) -> Result<bool> {
    super::lock::is_interrupted(sources)
}

/// Refuses a source folder that an interrupted command has left half written, where nothing is to be written.
pub(super) fn check_complete(sources: &Path) -> Result<()> {
    if interrupted(sources)? {
        let reason = "a 'gputexel patch' command was interrupted here; run 'gputexel patch undo' first";
        return Err(Error::input(sources, reason));
    }
    Ok(())
}

/// Puts back what an interrupted command has left in a source folder; says what that was.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for records that come from elsewhere, and for a file that was changed
/// since, which is left alone.
pub fn recover(sources: &Path) -> Result<Option<String>> {
    let sources = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    if std::fs::symlink_metadata(sources.join(FOLDER)).is_err() {
        return Ok(None);
    }
    recover_at(&PatchLock::open(&sources)?)
}

pub(super) fn recover_at(lock: &PatchLock) -> Result<Option<String>> {
    let Some(path) = lock.pending()? else { return Ok(None) };
    let folder = lock.replacement(&path)?;
    let journal = folder.as_ref().map(|folder| lock.journal(folder)).transpose()?.flatten();
    let (Some(folder), Some(journal)) = (folder, journal) else {
        // Nothing was touched yet, or the user has thrown the journal away.
        lock.remove(&path)?;
        lock.clear_pending()?;
        return Ok(None);
    };
    let said = match journal.progress {
        Progress::Writing => {
            roll_back(lock, &journal, &folder)?;
            lock.remove(&path)?;
            Some(format!(
                "'patch {}' was interrupted; all its files are as they were before it",
                journal.command
            ))
        }
        Progress::Undoing => {
            replace_all(&stage_undo(lock, &journal, &folder)?).1?;
            journal.at(Progress::Undone).write(&folder, lock.key())?;
            Some(format!("'patch undo' of a '{}' was interrupted, and is finished now", journal.command))
        }
        Progress::Done | Progress::Undone => None,
    };
    lock.clear_pending()?;
    Ok(said)
}
