//! The folder of a run: its contents, creation and ownership.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::advice::Advice;
use crate::appending::AppendFile;
use crate::atomic::write_atomically;
use crate::clock::timestamp;
use crate::error::{Error, Result};
use crate::folder_lock::{FolderLock, holds_leftovers_only, no_record};
use crate::json_lines::wrap_numbers;
use crate::lines::Lines;
use crate::new_folders::NewFolders;
use crate::paths::is_one;
use crate::reading::{SETTINGS_BYTES, read_whole_text};

pub const DATASET: &str = "dataset.bin";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `tune` and `pso`.
    Run,
    Sweep,
    /// `match`, and `spsa verify`.
    Match,
    Spsa,
    SelfPlay,
    Rescore,
    /// `probe`, until it is finished.
    Probe,
    Learn,
    Improve,
    /// Parameters and tables only.
    Parameters,
}

impl Kind {
    const RECORDED: [Self; 9] = [
        Self::Run,
        Self::Sweep,
        Self::Match,
        Self::Spsa,
        Self::SelfPlay,
        Self::Rescore,
        Self::Probe,
        Self::Learn,
        Self::Improve,
    ];

    pub const fn record(self) -> Option<&'static str> {
        match self {
            Self::Run => Some("run.json"),
            Self::Sweep => Some("sweep.json"),
            Self::Match => Some("match.jsonl"),
            Self::Spsa => Some("spsa.jsonl"),
            Self::SelfPlay => Some("selfplay.jsonl"),
            Self::Rescore => Some("rescore.jsonl"),
            Self::Probe => Some("probe.jsonl"),
            Self::Learn => Some("learn.json"),
            Self::Improve => Some("improve.json"),
            Self::Parameters => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Sweep => "sweep",
            Self::Match => "match",
            Self::Spsa => "SPSA run",
            Self::SelfPlay => "self-play run",
            Self::Rescore => "rescoring",
            Self::Probe => "probe",
            Self::Learn => "run of learn",
            Self::Improve => "run of improve",
            Self::Parameters => "parameter file",
        }
    }
}

/// The tuned parameters in the folder of a run; commands that read parameters accept the folder instead of this file.
pub const PARAMETERS: &str = "params.json";
/// The best parameters of an interrupted run. Their tables as source code are [`SO_FAR_TABLES`], in the order of those
/// of the run.
pub const SO_FAR: &str = "so-far.json";
pub const SO_FAR_TABLES: [&str; 3] = ["so-far.h", "so-far.hpp", "so-far.rs"];

const RUNS: &str = "runs";
/// The epochs of a run, one JSON object per line.
pub const METRICS: &str = "metrics.jsonl";

pub const REPORT: &str = "report.html";

/// Returns the file of parameters that a path stands for, whether or not it exists: the folder of a run stands for its
/// parameters.
pub fn parameters_at(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(PARAMETERS) } else { path.to_path_buf() }
}

/// Returns the folder of the run that a parameter file, or a folder that stands for one, comes from: `improve` writes
/// parameters into one of its own, and names the run.
pub fn run_of(params: &Path) -> PathBuf {
    #[derive(serde::Deserialize)]
    struct Improved {
        run: PathBuf,
    }
    let folder = parameters_at(params).parent().unwrap_or(Path::new("")).to_path_buf();
    let is_file = |kind: Kind| kind.record().is_some_and(|name| folder.join(name).is_file());
    if is_file(Kind::Run) || !is_file(Kind::Improve) {
        return folder;
    }
    RunFolder::view(&folder).record::<Improved>(Kind::Improve).map_or(folder, |improved| improved.run)
}

/// Files of an earlier run that must not be mistaken for those of this one. Without its record, a run cannot be resumed,
/// so that is removed first.
const RESULTS: [&str; 13] = [
    "checkpoint.safetensors",
    SO_FAR,
    SO_FAR_TABLES[0],
    SO_FAR_TABLES[1],
    SO_FAR_TABLES[2],
    METRICS,
    PARAMETERS,
    "z.json",
    VALUES,
    VALUES_LIST,
    REPORT,
    "runs.csv",
    "log.csv",
];

/// Values for an engine that reads a file of them.
pub const VALUES: &str = "values.txt";
/// The same as a list for `spsa`, with bounds, and the names of the numbers as comments.
pub const VALUES_LIST: &str = "values.params";

const TABLES: [&str; 3] = ["tables.h", "tables.hpp", "tables.rs"];

pub struct RunFolder {
    path: PathBuf,
    fresh: NewFolders,
    lock: Option<FolderLock>,
}

impl RunFolder {
    /// Makes the folder, or with `None` a dated one under `runs`, and locks it.
    ///
    /// # Errors
    /// [`Error::Usage`] when it exists and is not empty, unless `overwrite` is set, and when it holds a run
    /// of another kind; [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn create(path: Option<&Path>, kind: Kind, overwrite: bool) -> Result<Self> {
        let (path, fresh) = if let Some(path) = path {
            (path.to_path_buf(), NewFolders::missing(path))
        } else {
            let above = NewFolders::make(Path::new(RUNS))?;
            let path = dated_folder().inspect_err(|_| above.remove_empty())?;
            (path.clone(), above.with(&path))
        };
        // On failure, the lock is released first.
        Self::begin(path, fresh.clone(), kind, overwrite).inspect_err(|_| fresh.remove_empty())
    }

    fn begin(path: PathBuf, fresh: NewFolders, kind: Kind, overwrite: bool) -> Result<Self> {
        if fresh.is_empty() {
            check_contents(&path, kind, overwrite)?;
        } else {
            std::fs::create_dir_all(&path).map_err(|e| Error::io(&path, e))?;
        }
        let folder = Self { lock: Some(FolderLock::acquire(&path)?), path, fresh };
        // Another process may have written before the lock was acquired.
        check_contents(&folder.path, kind, overwrite)?;
        let made = folder.lock.as_ref().filter(|_| holds_leftovers_only(&folder.path).unwrap_or(false));
        let stale = made.map(FolderLock::made).unwrap_or_default();
        let tables = TABLES.into_iter().filter(|name| folder.file(name).is_file());
        let earlier = kind.record().into_iter().chain(RESULTS).chain(tables).filter(|_| overwrite);
        for name in stale.iter().map(String::as_str).chain(earlier) {
            folder.remove(name)?;
        }
        folder.making(&[])?;
        Ok(folder)
    }

    /// Returns the locked folder of a run that has begun.
    ///
    /// # Errors
    /// [`Error::Input`] when there is none; [`Error::Busy`] when it is being written; [`Error::Io`].
    pub fn enter(path: &Path, kind: Kind) -> Result<Self> {
        if let Some(record) = kind.record()
            && !path.join(record).exists()
        {
            return Err(no_record(path, record, kind.name()));
        }
        Ok(Self {
            path: path.to_path_buf(),
            fresh: NewFolders::default(),
            lock: Some(FolderLock::acquire(path)?),
        })
    }

    /// Returns a folder for reading; another process may be writing to it.
    pub fn view(path: &Path) -> Self {
        Self { path: path.to_path_buf(), fresh: NewFolders::default(), lock: None }
    }

    /// Returns the record of the run in the folder.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Input`] when it has no such record.
    pub fn record<T: DeserializeOwned>(&self, kind: Kind) -> Result<T> {
        let (name, what) = (kind.record().unwrap_or_default(), kind.name());
        let record = self.path.join(name);
        let text = read_whole_text(&record, SETTINGS_BYTES).map_err(|e| match e.kind() {
            ErrorKind::NotFound => no_record(&self.path, name, what),
            _ => Error::io(&record, e),
        })?;
        serde_json::from_str(&text)
            .map_err(|error| Error::json(&record, &format!("a valid record of a {what}"), &error))
    }

    /// Returns the warning about a folder that could not be locked.
    pub fn warning(&self) -> Option<String> {
        self.lock.as_ref().and_then(FolderLock::warning)
    }

    /// Returns the lock, with which others write to the folder as part of the run.
    ///
    /// # Errors
    /// [`Error::Usage`] for a folder from [`view`](Self::view).
    pub fn lock(&self) -> Result<&FolderLock> {
        let path = self.path.display();
        self.lock.as_ref().ok_or_else(|| Error::Usage(format!("{path}: was opened to be read only")))
    }

    /// Checks that the folder still exists and belongs to this process.
    ///
    /// # Errors
    /// [`Error::Input`] when it was removed, moved or replaced.
    pub fn check(&self) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), FolderLock::check)
    }

    /// Writes a file if the folder still exists, and reports if it was removed in the meantime.
    pub fn guarded(&self, path: &Path, write: impl FnOnce() -> Result<()>) -> Result<()> {
        self.check()?;
        let written = write();
        if let Err(gone) = self.check() {
            if written.is_ok() {
                // Only the following error matters.
                let _ = std::fs::remove_file(path);
            }
            return Err(gone);
        }
        // The new file next to it is gone: the folder is being removed.
        match (written, &self.lock) {
            (Err(Error::Io { source, .. }), Some(lock)) if source.kind() == ErrorKind::NotFound => {
                Err(lock.gone())
            }
            (written, _) => written,
        }
    }

    /// Records files made before the record, see [`FolderLock::making`].
    pub fn making(&self, names: &[&str]) -> Result<()> {
        self.lock.as_ref().map_or(Ok(()), |lock| lock.making(names))
    }

    pub fn remove(&self, name: &str) -> Result<()> {
        match std::fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(self.file(name), error)),
            _ => Ok(()),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn checkpoint(&self) -> PathBuf {
        self.file("checkpoint.safetensors")
    }

    /// Writes a file completely or not at all.
    ///
    /// # Errors
    /// [`Error::Io`]; errors of [`check`](Self::check).
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result<()> {
        let path = self.file(name);
        self.guarded(&path, || write_atomically(&path, contents.as_ref()))
    }

    /// Writes the record of a run, which marks its beginning.
    ///
    /// # Panics
    /// For [`Kind::Parameters`], which has no record.
    pub fn write_record<T: Serialize>(&self, kind: Kind, record: &T) -> Result<()> {
        self.write_text_of(kind, record)?;
        self.making(&[])
    }

    /// Writes the record of a run whose settings may still turn out to be wrong: it can be resumed, but its
    /// files are not worth keeping.
    ///
    /// # Panics
    /// As [`write_record`](Self::write_record).
    pub fn write_first_record<T: Serialize>(&self, kind: Kind, record: &T) -> Result<()> {
        let made = self.lock.as_ref().map(FolderLock::made).unwrap_or_default();
        let names: Vec<&str> = made.iter().map(String::as_str).chain(kind.record()).collect();
        self.making(&names)?;
        self.write_text_of(kind, record)
    }

    fn write_text_of<T: Serialize>(&self, kind: Kind, record: &T) -> Result<()> {
        let name = kind.record().expect("parameters have no record");
        let text = serde_json::to_string_pretty(record)
            .map_err(|e| Error::Numeric(format!("the run's record cannot be written: {e}")))?;
        self.write(name, &(wrap_numbers(&text) + "\n"))
    }

    /// Opens the metrics file after its first `keep` lines; later ones belong to steps after the checkpoint, which are
    /// repeated.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] for a line without an end.
    pub fn metrics(&self, keep: u64) -> Result<AppendFile> {
        let path = self.file(METRICS);
        let mut kept = 0;
        match Lines::open(&path) {
            Ok(mut lines) => {
                for _ in 0..keep {
                    // The last one may be incomplete after a crash.
                    let Some(line) = lines.next_line()?.filter(|line| line.ended) else { break };
                    kept = line.offset + line.bytes.len() as u64 + 1;
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(&path, error)),
        }
        let open = || -> std::io::Result<AppendFile> {
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.set_len(kept)?;
            AppendFile::of(&path, file)
        };
        open().map_err(|e| Error::io(&path, e))
    }

    /// Removes the folder if this process made it and it is empty, with the folders above it that it made, and the
    /// files made in it for a run that did not begin.
    pub fn discard(&self) {
        let Some(lock) = &self.lock else { return };
        // Its contents may now be those of another process.
        if lock.check().is_err() {
            return;
        }
        for name in lock.made() {
            let _ = self.remove(&name);
        }
        if !self.fresh.is_empty() {
            lock.remove_file();
        }
        self.fresh.remove_empty();
    }
}

/// Rejects a folder that is not empty, or with `overwrite` one whose contents are of another kind.
///
/// # Errors
/// [`Error::Usage`], with advice; [`Error::Io`] when it cannot be read.
pub fn check_contents(path: &Path, kind: Kind, overwrite: bool) -> Result<()> {
    let refuse = |what: String, advice: Advice| {
        Err(Error::Usage(format!("{}: {what}", path.display())).advise(advice))
    };
    if holds_leftovers_only(path)? {
        return Ok(());
    }
    if !overwrite {
        let advice = Advice::default().text("use ").setting("force", "").text(" to write into it");
        let advice = match kind.record() {
            Some(_) if matches!(kind, Kind::Learn | Kind::Improve) => {
                Advice::default().text("name another folder")
            }
            Some(_) => advice.text(", or ").setting("resume", "").text(" to continue"),
            None => advice,
        };
        return refuse("exists and is not empty".to_string(), advice);
    }
    let recorded = Kind::RECORDED.into_iter().filter(|other| *other != kind);
    let mut others = recorded.filter_map(|other| Some((other, other.record()?)));
    match others.find(|(_, record)| path.join(record).exists()) {
        Some((other, record)) => {
            let advice = Advice::behind(", which ").setting("force", "");
            let advice = advice.text(" does not overwrite; choose another folder");
            refuse(format!("holds a {} ({record})", other.name()), advice)
        }
        None => Ok(()),
    }
}

pub fn check_inputs(folder: &Path, kind: Kind, inputs: &[&Path]) -> Result<()> {
    let removed: Vec<PathBuf> =
        kind.record().into_iter().chain(RESULTS).map(|name| folder.join(name)).collect();
    match inputs.iter().find(|input| removed.iter().any(|path| is_one(path, &parameters_at(input)))) {
        Some(input) => {
            let folder = folder.display();
            Err(Error::Usage(format!(
                "{}: is also an input; choose a folder other than {folder}",
                input.display()
            )))
        }
        None => Ok(()),
    }
}

/// Appends a record as a line of JSON, such as one of `metrics.jsonl`.
///
/// # Errors
/// As [`AppendFile::append`]; [`Error::Input`] for a line that is too long to be read again.
pub fn append_line(file: &mut AppendFile, record: &impl Serialize) -> Result<()> {
    let line = serde_json::to_string(record)
        .map_err(|e| Error::Numeric(format!("a line of records cannot be written: {e}")))?;
    file.append_line((line + "\n").as_bytes())
}

/// Makes a folder under `runs` named by the time, with a number appended if that exists.
fn dated_folder() -> Result<PathBuf> {
    let runs = Path::new(RUNS);
    let stamp = timestamp().replace('T', "-").replace([':', 'Z'], "");
    let mut path = runs.join(&stamp);
    let mut number = 2;
    loop {
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path = runs.join(format!("{stamp}-{number}"));
                number += 1;
            }
            Err(error) => return Err(Error::io(&path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_improve_are_those_of_its_run() {
        let bench = tempfile::tempdir().unwrap();
        let (run, improved) = (bench.path().join("run"), bench.path().join("improved"));
        std::fs::create_dir(&improved).unwrap();
        assert_eq!(run_of(&improved.join(PARAMETERS)), improved);
        std::fs::write(improved.join("improve.json"), format!(r#"{{"run": {run:?}}}"#)).unwrap();
        assert_eq!((run_of(&improved), run_of(&improved.join(PARAMETERS))), (run.clone(), run.clone()));
        std::fs::write(improved.join("run.json"), "{}").unwrap();
        assert_eq!(run_of(&improved), improved);
    }

    #[test]
    fn what_came_to_nothing_leaves_what_was_there() {
        let bench = tempfile::tempdir().unwrap();
        let there = bench.path().join("there");
        std::fs::create_dir(&there).unwrap();
        for path in [there.join("new/run"), there.join("run"), there.clone()] {
            let folder = RunFolder::create(Some(&path), Kind::Run, false).unwrap();
            assert!(path.is_dir());
            folder.discard();
            assert_eq!(
                std::fs::read_dir(&there).unwrap().count(),
                usize::from(path == there),
                "{}",
                path.display()
            );
        }
        let folder = RunFolder::create(Some(&there.join("new/run")), Kind::Run, false).unwrap();
        std::fs::write(there.join("new/other"), "").unwrap();
        folder.discard();
        assert!(there.join("new/other").exists() && !there.join("new/run").exists());
    }
}
