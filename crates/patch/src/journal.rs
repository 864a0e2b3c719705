//! The journal of a replacement: what was to be written where, and how far it came.
//!
//! A folder for each replacement holds the old files and `journal.json`. Whoever has a tree can write
//! such files, so that they are sealed (see `seal`) and name the tree that they were made in; whether to
//! trust one is for callers to decide, by [`Origin::check`]. `transaction` and `undo` decide the order of
//! steps.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::folder::{FilePlace, Folder};
use super::remedy::Remedy;
use super::seal::Key;
use gputexel_files::{Error, Result};

/// The folder in a source folder.
pub(super) const FOLDER: &str = ".gputexel-patch";

pub(super) const JOURNAL: &str = "journal.json";
const KIND: &str = "journal";
/// The version without seals.
const FORMER: u32 = 1;
const VERSION: u32 = 2;

/// How far a replacement came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Progress {
    /// Some files may be new, others old.
    Writing,
    /// All are new.
    Done,
    /// Some may be old again.
    Undoing,
    /// All are old again.
    Undone,
}

/// A file of a replacement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FileRecord {
    /// Relative to the source folder if it is in there.
    pub path: PathBuf,
    pub shown: PathBuf,
    /// The old file's name in the folder of the replacement; none if there was none.
    pub backup: Option<String>,
    /// The checksum of the old file.
    pub before: Option<String>,
    /// The checksum of the new file.
    pub after: String,
    pub params: bool,
}

/// A replacement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    pub command: String,
    /// The source folder, links resolved.
    pub sources: PathBuf,
    pub progress: Progress,
    pub files: Vec<FileRecord>,
}

/// The checksum by which files are known again: nobody can make another file that has it.
pub(super) fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Whether a file has a checksum. Journals of the former version have shorter ones.
pub(super) fn has_checksum(bytes: &[u8], sum: &str) -> bool {
    if sum.len() == 16 { format!("{:016x}", xxh3_64(bytes)) == sum } else { checksum(bytes) == sum }
}

/// Where a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This user, on this computer.
    Own,
    /// Nobody knows.
    Foreign,
    /// Nobody knows: the former version had no seals.
    Former,
}

impl Origin {
    pub fn of(ours: bool) -> Self {
        if ours { Self::Own } else { Self::Foreign }
    }

    /// Refuses records that were not made by this user in this very tree. `made_in` is where they claim
    /// to have been made; `folder` is the one with the records.
    pub fn check(self, made_in: &Path, tree: &Path, folder: &Path) -> Result<()> {
        let (reason, remedy) = match self {
            Self::Own if made_in == tree => return Ok(()),
            Self::Own => (format!("was made in {}, not here", made_in.display()), Remedy::AdoptMoved),
            Self::Foreign => (
                "was not made by you on this computer; delete it if it came with the sources".to_string(),
                Remedy::AdoptForeign,
            ),
            Self::Former => (
                "was made by a former version, whose records anyone could have written; delete it if it came \
                 with the sources"
                    .to_string(),
                Remedy::AdoptForeign,
            ),
        };
        Err(Error::input(folder, reason).advise(remedy))
    }
}

impl Journal {
    pub fn new(command: &str, sources: &Path, files: Vec<FileRecord>) -> Self {
        let (command, sources) = (command.to_string(), sources.to_path_buf());
        Self { version: VERSION, command, sources, progress: Progress::Writing, files }
    }

    /// The journal in the folder of a replacement, if there is one, and where it comes from.
    ///
    /// # Errors
    /// A file that is no journal, or one with paths that no journal has.
    pub fn read(folder: &Folder, key: &Key) -> Result<Option<(Self, Origin)>> {
        let Some(bytes) = folder.read(JOURNAL)? else { return Ok(None) };
        let sealed = key.unseal::<Self>(&bytes, KIND);
        let former = || Some((serde_json::from_slice::<Self>(&bytes).ok()?, Origin::Former));
        let found = sealed.map(|(journal, ours)| (journal, Origin::of(ours))).or_else(former);
        let wrong = |reason: &str| Error::input(folder.path().join(JOURNAL), reason);
        let Some((journal, origin)) = found else {
            return Err(wrong("is not a journal of 'gputexel patch'"));
        };
        let version = if origin == Origin::Former { FORMER } else { VERSION };
        if journal.version != version {
            return Err(wrong(&format!("is a journal of version {}, which is unknown", journal.version)));
        }
        if let Some(entry) = journal.files.iter().find(|entry| !entry.is_sane()) {
            return Err(wrong(&format!("has a path that no journal has, {:?}", entry.path)));
        }
        if origin != Origin::Own && !journal.is_printable() {
            return Err(wrong("holds control characters"));
        }
        Ok(Some((journal, origin)))
    }

    pub fn write(&self, folder: &Folder, key: &Key) -> Result<()> {
        let sealed = key.seal(self, KIND);
        let sealed = sealed.map_err(|e| Error::input(folder.path().join(JOURNAL), e.to_string()))?;
        folder.replace(JOURNAL, &sealed)
    }

    /// The journal once the replacement has come further.
    pub fn at(&self, progress: Progress) -> Self {
        Self { progress, ..self.clone() }
    }

    /// The journal as that of another tree, or of this version.
    pub fn rebound(self, sources: &Path, files: Vec<FileRecord>) -> Self {
        Self { version: VERSION, sources: sources.to_path_buf(), files, ..self }
    }

    /// Whether messages may quote it on a terminal.
    fn is_printable(&self) -> bool {
        let paths = self.files.iter().flat_map(|entry| [&entry.path, &entry.shown]);
        let mut texts = paths.map(|path| path.to_string_lossy()).chain([self.command.as_str().into()]);
        texts.all(|text| !text.contains(char::is_control))
    }

    pub fn is_in(folder: &Folder) -> Result<bool> {
        folder.has(JOURNAL)
    }
}

impl FileRecord {
    /// Whether the path is below the tree, or a whole one, and the old file lies in the folder.
    fn is_sane(&self) -> bool {
        let plain = |name: &String| {
            let mut parts = Path::new(name).components();
            matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name.as_str())
        };
        let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        let below = self.path.components().all(normal) && self.path.file_name().is_some();
        let own = self.path.components().any(|part| part.as_os_str() == FOLDER);
        (below && !own || self.path.is_absolute())
            && self.backup.as_ref().is_none_or(plain)
            && self.backup.is_some() == self.before.is_some()
    }

    /// Where the file is; none if its folder is gone.
    pub fn place(&self, tree: &Folder) -> Result<Option<FilePlace>> {
        FilePlace::of(tree, &self.path)
    }
}

/// The numbers and names of the replacements in a folder, oldest first.
pub(super) fn replacements(root: &Folder) -> Result<Vec<(u32, String)>> {
    let number = |name: &str| name.split_once('-').and_then(|(number, _)| number.parse().ok());
    let names = root.folder_names()?.into_iter();
    let mut found: Vec<(u32, String)> = names.filter_map(|name| Some((number(&name)?, name))).collect();
    found.sort();
    Ok(found)
}
