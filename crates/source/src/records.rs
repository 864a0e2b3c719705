//! Records of the replacements made by commands, in the user's folder for program state.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::files::{remove_folder, sync_folder};
use gputexel_io::folder_lock::FolderLock;
use gputexel_io::{Error, Result, write_atomically};

const RECORD: &str = "record.json";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Progress {
    Writing,
    Done,
    Undoing,
    Undone,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FileRecord {
    pub path: PathBuf,
    pub shown: PathBuf,
    /// `None` if there was no file.
    pub copy: Option<String>,
    pub before: Option<String>,
    pub after: String,
    pub params: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub command: String,
    pub sources: PathBuf,
    pub progress: Progress,
    pub files: Vec<FileRecord>,
}

#[derive(Clone, Debug)]
pub(super) struct Replacement {
    pub folder: PathBuf,
    pub record: Record,
}

pub(super) fn checksum(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

impl Replacement {
    /// `None` if there is no record yet.
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

    pub fn save(&mut self, progress: Progress) -> Result<()> {
        let path = self.folder.join(RECORD);
        self.record.progress = progress;
        let bytes =
            serde_json::to_vec_pretty(&self.record).map_err(|e| Error::input(&path, e.to_string()))?;
        write_atomically(&path, &bytes)?;
        sync_folder(&self.folder)
    }

    pub fn is_unfinished(&self) -> bool {
        matches!(self.record.progress, Progress::Writing | Progress::Undoing)
    }

    pub fn remove(&self) -> Result<()> {
        remove_folder(&self.folder)
    }
}

#[derive(Debug)]
pub(super) struct Records {
    pub sources: PathBuf,
    pub folder: PathBuf,
    lock: FolderLock,
}

impl Records {
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] if another process holds the lock, or no records can be kept.
    pub fn open(sources: &Path) -> Result<Self> {
        let sources = sources.canonicalize().map_err(|e| Error::io(sources, e))?;
        let folder = tree_folder(&sources)?;
        let lock = loop {
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
                lock => break lock?,
            }
        };
        Ok(Self { sources, folder, lock })
    }

    /// Removes those that were killed before their record was written.
    pub fn all(&self) -> Result<Vec<Replacement>> {
        let mut all = Vec::new();
        for (_, folder) in numbered(&self.folder)? {
            match Replacement::read(&folder)? {
                Some(replacement) => all.push(replacement),
                None => remove_folder(&folder)?,
            }
        }
        Ok(all)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        self.lock.remove_file();
        let _ = std::fs::remove_dir(&self.folder);
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

fn root() -> Result<PathBuf> {
    let state = dirs::state_dir().or_else(dirs::data_local_dir);
    let needed = || Error::input("gputexel/patch", "copies of old files need a home folder; set HOME");
    Ok(state.ok_or_else(needed)?.join("gputexel/patch"))
}

fn tree_name(sources: &Path) -> String {
    let name = sources.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().take(40).collect();
    format!("{name}-{}", &checksum(sources.as_os_str().as_encoded_bytes())[..16])
}

pub(super) fn tree_folder(sources: &Path) -> Result<PathBuf> {
    Ok(root()?.join(tree_name(sources)))
}

pub(super) fn numbered(folder: &Path) -> Result<Vec<(u32, PathBuf)>> {
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

pub(super) fn is_interrupted(sources: &Path) -> Result<bool> {
    for (_, folder) in numbered(&tree_folder(sources)?)? {
        if Replacement::read(&folder)?.is_some_and(|replacement| replacement.is_unfinished()) {
            return Ok(true);
        }
    }
    Ok(false)
}
