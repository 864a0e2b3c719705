//! Replacing many files, all or none, with copies of the old ones in the user's folder for program state, from which
//! `undo` restores them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::files::{Found, find, find_unlinked, remove, rename, staged, sync_folder, write_new};
use super::plan::PatchPlan;
use super::sources::Change;
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Error, Result, write_atomically};

const RECORD: &str = "record.json";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The folder with the old files; `None` if there was nothing to write.
    pub backup: Option<PathBuf>,
    /// Losses of the files by being replaced: other names, owners; one line each.
    pub warnings: Vec<String>,
}

pub fn write(plan: &PatchPlan, sources: &Path, command: &str) -> Result<Written> {
    write_observed(plan, sources, command, &mut |_| Ok(()))
}

/// Does the same as [`write()`] and calls an observer before a file is put next to the old one, and before it
/// replaces that: its error stops the work and reverts it.
pub fn write_observed(
    plan: &PatchPlan,
    sources: &Path,
    command: &str,
    observe: &mut dyn FnMut(&Path) -> std::io::Result<()>,
) -> Result<Written> {
    if plan.changes.is_empty() {
        return Ok(Written::default());
    }
    let here = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    let locked = Locked::new(&here)?;
    refuse_interrupted(sources)?;
    let old: Vec<Option<Found>> = plan.changes.iter().map(find_unchanged).collect::<Result<_>>()?;
    let mut replacement = next_replacement(&locked.0, here, plan, command)?;
    match replacement.write(plan, &old, observe) {
        Ok(warnings) => Ok(Written { backup: Some(replacement.folder), warnings }),
        Err(error) => {
            replacement.roll_back()?;
            remove_folder(&replacement.folder)?;
            Err(error)
        }
    }
}

fn next_replacement(folder: &Path, sources: PathBuf, plan: &PatchPlan, command: &str) -> Result<Replacement> {
    let last = numbered(folder)?.last().map_or(0, |(number, _)| *number);
    let full = || Error::input(folder, "has no number left for the old files");
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
        sources,
        progress: Progress::Writing,
        files: plan.changes.iter().enumerate().map(file).collect(),
    };
    Ok(Replacement { folder: folder.join(name), record })
}

fn find_unchanged(change: &Change) -> Result<Option<Found>> {
    let found = find_unlinked(&change.path)?;
    if found.as_ref().map(|found| &found.bytes) != change.before.as_ref() {
        return Err(Error::input(&change.shown, "was changed by another program just now"));
    }
    if found.as_ref().is_some_and(|found| found.metadata.permissions().readonly()) {
        return Err(Error::input(&change.shown, "is read-only"));
    }
    Ok(found)
}

/// Puts the new file next to the old one; returns what is lost once it replaces that.
fn stage(change: &Change, old: Option<&Found>) -> Result<Vec<String>> {
    let shown = change.shown.display();
    let mut warnings = Vec::new();
    if !write_new(&staged(&change.path), &change.after, old.map(|old| &old.metadata))? {
        warnings.push(format!("{shown}: its owner or group could not be kept; it is yours now"));
    }
    // Writing to the file instead would not replace all files or none.
    if old.is_some_and(Found::has_other_names) {
        warnings.push(format!("{shown}: has another name, a hard link, which keeps the old text"));
    }
    Ok(warnings)
}

fn sync_folders<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<()> {
    let mut folders: Vec<&Path> = paths.filter_map(Path::parent).collect();
    folders.sort();
    folders.dedup();
    folders.into_iter().try_for_each(sync_folder)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Progress {
    Writing,
    Done,
    Undone,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FileRecord {
    path: PathBuf,
    shown: PathBuf,
    /// Name of the copy and checksum; `None` if there was no file.
    copy: Option<String>,
    before: Option<String>,
    after: String,
    params: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    command: String,
    sources: PathBuf,
    progress: Progress,
    files: Vec<FileRecord>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Old,
    New,
    Changed,
}

impl FileRecord {
    fn state(&self) -> Result<FileState> {
        let now = find_unlinked(&self.path)?.map(|found| checksum(&found.bytes));
        Ok(match now {
            now if now == self.before => FileState::Old,
            Some(now) if now == self.after => FileState::New,
            _ => FileState::Changed,
        })
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

#[derive(Clone, Debug)]
struct Replacement {
    folder: PathBuf,
    record: Record,
}

impl Replacement {
    fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(RECORD);
        let bytes = match std::fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|e| Error::io(&path, e))?,
        };
        let record = serde_json::from_slice(&bytes)
            .map_err(|e| Error::input(path, format!("is not a record of 'gputexel patch': {e}")))?;
        Ok(Some(Self { folder: folder.to_path_buf(), record }))
    }

    fn save(&mut self, progress: Progress) -> Result<()> {
        let path = self.folder.join(RECORD);
        self.record.progress = progress;
        let bytes =
            serde_json::to_vec_pretty(&self.record).map_err(|e| Error::input(&path, e.to_string()))?;
        write_atomically(&path, &bytes)?;
        sync_folder(&self.folder)
    }

    fn write(
        &mut self,
        plan: &PatchPlan,
        old: &[Option<Found>],
        observe: &mut dyn FnMut(&Path) -> std::io::Result<()>,
    ) -> Result<Vec<String>> {
        self.keep_copies(old)?;
        self.save(Progress::Writing)?;
        let mut observed = |change: &Change| observe(&change.path).map_err(|e| Error::io(&change.shown, e));
        let mut warnings = Vec::new();
        for (change, old) in plan.changes.iter().zip(old) {
            observed(change)?;
            warnings.extend(stage(change, old.as_ref())?);
        }
        for change in &plan.changes {
            observed(change)?;
            rename(&staged(&change.path), &change.path)?;
        }
        sync_folders(plan.changes.iter().map(|change| change.path.as_path()))?;
        self.save(Progress::Done)?;
        Ok(warnings)
    }

    fn keep_copies(&self, old: &[Option<Found>]) -> Result<()> {
        std::fs::create_dir(&self.folder).map_err(|e| Error::io(&self.folder, e))?;
        for (file, old) in self.record.files.iter().zip(old) {
            if let (Some(copy), Some(old)) = (&file.copy, old) {
                write_new(&self.folder.join(copy), &old.bytes, Some(&old.metadata))?;
            }
        }
        sync_folder(&self.folder)?;
        sync_folders(std::iter::once(self.folder.as_path()))
    }

    fn roll_back(&self) -> Result<()> {
        let mut new = Vec::new();
        for file in &self.record.files {
            remove(&staged(&file.path))?;
            if file.state()? == FileState::New {
                new.push(file);
            }
        }
        self.put_back(&new)
    }

    /// Restores files; all old ones are put next to the new ones first, which reveals a full disk or missing rights.
    fn put_back(&self, files: &[&FileRecord]) -> Result<()> {
        if let Err(error) = files.iter().try_for_each(|file| self.stage_old(file)) {
            files.iter().for_each(|file| drop(remove(&staged(&file.path))));
            return Err(error);
        }
        for file in files {
            match file.copy {
                Some(_) => rename(&staged(&file.path), &file.path)?,
                None => remove(&file.path)?,
            }
        }
        sync_folders(files.iter().map(|file| file.path.as_path()))
    }

    fn stage_old(&self, file: &FileRecord) -> Result<()> {
        let Some(copy) = &file.copy else { return Ok(()) };
        let copy = self.folder.join(copy);
        let missing = || Error::io(&copy, std::io::Error::from(ErrorKind::NotFound));
        let old = find(&copy)?.ok_or_else(missing)?;
        if Some(checksum(&old.bytes)) != file.before {
            return Err(Error::input(copy, "is not what was put there; nothing is made of it"));
        }
        // A folder of the tree that is missing is created again with its file.
        if let Some(folder) = file.path.parent().filter(|folder| folder.starts_with(&self.record.sources)) {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        }
        let like = find_unlinked(&file.path)?.map_or(old.metadata, |now| now.metadata);
        write_new(&staged(&file.path), &old.bytes, Some(&like))?;
        Ok(())
    }
}

/// The lock of the records of a source folder whose links are resolved.
#[derive(Debug)]
struct Locked(PathBuf, FolderLock);

impl Locked {
    fn new(sources: &Path) -> Result<Self> {
        let folder = tree_folder(sources)?;
        loop {
            make_private(&folder).map_err(|e| {
                let reason =
                    format!("{e}; copies of old files are kept there; XDG_STATE_HOME names another place");
                Error::input(&folder, reason)
            })?;
            match FolderLock::acquire(&folder) {
                // The previous process has just removed the folder.
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
                Err(Error::Busy { .. }) => {
                    return Err(Error::input(sources, "another 'gputexel patch' is at work there"));
                }
                lock => return Ok(Self(folder, lock?)),
            }
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.1.remove_file();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Makes a folder private to the user, since copies there may be of files that nobody else may read.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The folder for the records of a source folder whose links are resolved.
fn tree_folder(sources: &Path) -> Result<PathBuf> {
    let state = dirs::state_dir().or_else(dirs::data_local_dir);
    let needed = || Error::input("gputexel/patch", "copies of old files need a home folder; set HOME");
    let root = state.ok_or_else(needed)?.join("gputexel/patch");
    let name: String = sources.file_name().unwrap_or_default().to_string_lossy().chars().take(40).collect();
    Ok(root.join(format!("{name}-{}", &checksum(sources.as_os_str().as_encoded_bytes())[..16])))
}

fn numbered(folder: &Path) -> Result<Vec<(u32, PathBuf)>> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(found),
        entries => entries.map_err(|e| Error::io(folder, e))?,
    };
    for entry in entries {
        let path = entry.map_err(|e| Error::io(folder, e))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.split_once('-').and_then(|(number, _)| number.parse().ok());
        found.extend(number.filter(|_| path.is_dir()).map(|number| (number, path.clone())));
    }
    found.sort();
    Ok(found)
}

/// The last command in a source folder whose links are resolved that is not undone.
fn last(sources: &Path) -> Result<Option<Replacement>> {
    for (_, folder) in numbered(&tree_folder(sources)?)?.iter().rev() {
        // Without a record, it was killed before it changed a file.
        if let Some(replacement) = Replacement::read(folder)?
            && replacement.record.progress != Progress::Undone
        {
            return Ok(Some(replacement));
        }
    }
    Ok(None)
}

fn remove_folder(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io(path, e)),
        _ => Ok(()),
    }
}

/// Rejects a source folder that an interrupted command has left half written.
pub fn refuse_interrupted(sources: &Path) -> Result<()> {
    let here = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    match last(&here)? {
        Some(replacement) if replacement.record.progress == Progress::Writing => {
            let command = replacement.record.command;
            let reason = format!("'patch {command}' was interrupted here; run 'gputexel patch undo' first");
            Err(Error::input(sources, reason))
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undone {
    pub command: String,
    pub files: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    /// Files that were changed since and were left alone: `.params` files that tuning has changed.
    pub kept: Vec<PathBuf>,
    pub interrupted: bool,
}

/// Restores the files of a source folder as they were before the last command that is not undone.
pub fn undo(sources: &Path) -> Result<Undone> {
    let here = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
    let nothing = || Error::input(sources, "there is nothing to undo");
    last(&here)?.ok_or_else(nothing)?;
    let _locked = Locked::new(&here)?;
    let mut replacement = last(&here)?.ok_or_else(nothing)?;
    let record = replacement.record.clone();
    let (command, interrupted) = (record.command, record.progress == Progress::Writing);
    let (files, removed, kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut undone = Undone { command, files, removed, kept, interrupted };
    let mut restored = Vec::new();
    for file in &record.files {
        match file.state()? {
            FileState::Old => remove(&staged(&file.path))?,
            FileState::New => restored.push(file),
            FileState::Changed if file.params => undone.kept.push(file.shown.clone()),
            FileState::Changed => {
                let old = replacement.folder.join(file.copy.as_deref().unwrap_or_default());
                let (command, old) = (undone.command, old.display());
                let reason = format!("was changed after 'patch {command}'; its old text is in {old}");
                return Err(Error::input(&file.shown, reason));
            }
        }
    }
    replacement.put_back(&restored)?;
    replacement.save(Progress::Undone)?;
    for file in restored {
        let list = if file.before.is_some() { &mut undone.files } else { &mut undone.removed };
        list.push(file.shown.clone());
    }
    Ok(undone)
}

impl Undone {
    pub fn describe(&self) -> String {
        let line = |file: &PathBuf, what: &str| format!("{}: {what}\n", file.display());
        let mut text: String = self.files.iter().map(|file| line(file, "restored")).collect();
        text.extend(self.removed.iter().map(|file| line(file, "removed, because it did not exist before")));
        let changed = "left unchanged, because it was modified since";
        text.extend(self.kept.iter().map(|file| line(file, changed)));
        let how = if self.interrupted { "was interrupted and has been undone" } else { "has been undone" };
        text + &format!("patch {} {how}\n", self.command)
    }
}
