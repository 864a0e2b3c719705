//! The folder of a run: what is in it, and how it comes into being.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use gputexel::tuning::{Checkpoint, RunRecord};
use gputexel::{Error, Result, write_atomically};

/// A run's folder.
pub struct RunFolder {
    path: PathBuf,
    /// Whether this process made it, so that it may go again when nothing came of the run.
    fresh: bool,
}

impl RunFolder {
    /// Makes the folder, or with `None` a dated one under `runs`.
    ///
    /// # Errors
    /// [`Error::Usage`] when it exists and holds something, unless `force` is set; [`Error::Io`].
    pub fn create(path: Option<&Path>, force: bool) -> Result<Self> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => dated_path(),
        };
        if path.exists() {
            let mut entries = std::fs::read_dir(&path).map_err(|e| Error::io(&path, e))?;
            if entries.next().is_some() && !force {
                return Err(Error::Usage(format!(
                    "{}: exists and is not empty; use --force to write into it, or --resume to go on",
                    path.display()
                )));
            }
            if force {
                // What an earlier run left must not be taken for this one's.
                for name in
                    ["checkpoint.safetensors", "metrics.jsonl", "params.json", "z.json", "report.html"]
                {
                    match std::fs::remove_file(path.join(name)) {
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(Error::io(path.join(name), error));
                        }
                        _ => {}
                    }
                }
            }
            return Ok(Self { path, fresh: false });
        }
        std::fs::create_dir_all(&path).map_err(|e| Error::io(&path, e))?;
        Ok(Self { path, fresh: true })
    }

    /// An existing run.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Input`] when it is not the folder of a run.
    pub fn open(path: &Path) -> Result<(Self, RunRecord)> {
        Self::open_with(path, "run.json", "run")
    }

    /// An existing folder with a record of what is done in it, under the name given; `what` is
    /// for people.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Input`] when it has none.
    pub fn open_with<T: serde::de::DeserializeOwned>(
        path: &Path,
        name: &str,
        what: &str,
    ) -> Result<(Self, T)> {
        let record = path.join(name);
        let text =
            gputexel::read_whole_text(&record, gputexel::SETTINGS_BYTES).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::input(path, format!("is not the folder of a {what}: it has no {name}"))
                }
                _ => Error::io(&record, e),
            })?;
        let record = serde_json::from_str(&text)
            .map_err(|e| Error::line(&record, e.line() as u64, format!("not the record of a {what}: {e}")))?;
        Ok((Self { path: path.to_path_buf(), fresh: false }, record))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file of the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where the state is kept.
    pub fn checkpoint(&self) -> PathBuf {
        self.file("checkpoint.safetensors")
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&self, name: &str, contents: &str) -> Result<()> {
        write_atomically(&self.file(name), contents.as_bytes())
    }

    /// Writes the record of the run.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_record(&self, record: &RunRecord) -> Result<()> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|e| Error::Numeric(format!("the record of the run cannot be written: {e}")))?;
        self.write("run.json", &(text + "\n"))
    }

    /// The state of the run, if one was stored.
    ///
    /// # Errors
    /// Those of [`Checkpoint::read`].
    pub fn read_checkpoint(&self) -> Result<Option<Checkpoint>> {
        let path = self.checkpoint();
        if path.exists() { Checkpoint::read(&path).map(Some) } else { Ok(None) }
    }

    /// Leaves of a finished run's state only that it is finished; its result is in params.json.
    ///
    /// # Errors
    /// Those of [`Checkpoint::read`] and [`Checkpoint::write`].
    pub fn slim_checkpoint(&self) -> Result<()> {
        let Some(mut checkpoint) = self.read_checkpoint()? else { return Ok(()) };
        checkpoint.optimizer.vectors.clear();
        checkpoint.progress.best_parameters.clear();
        checkpoint.write(&self.checkpoint())
    }

    /// Opens the metrics file behind its first `keep` lines; later ones belong to steps that the
    /// checkpoint does not know and that are done again.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn metrics(&self, keep: u64) -> Result<File> {
        let path = self.file("metrics.jsonl");
        let open = || -> std::io::Result<File> {
            let mut kept = 0u64;
            if let Ok(file) = File::open(&path) {
                let mut reader = BufReader::new(file);
                let mut line = Vec::new();
                for _ in 0..keep {
                    line.clear();
                    reader.read_until(b'\n', &mut line)?;
                    if !line.ends_with(b"\n") {
                        break; // torn by a crash
                    }
                    kept += line.len() as u64;
                }
            }
            let file = OpenOptions::new().create(true).append(true).open(&path)?;
            file.set_len(kept)?;
            Ok(file)
        };
        open().map_err(|e| Error::io(&path, e))
    }

    /// Takes the folder away again if this process made it and it is empty.
    pub fn discard(&self) {
        if self.fresh {
            // A folder that is not empty stays, which is what is wanted.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// Appends a line of metrics.
///
/// # Errors
/// [`Error::Io`].
pub fn append_line(file: &mut File, path: &Path, line: &serde_json::Value) -> Result<()> {
    writeln!(file, "{line}").map_err(|e| Error::io(path, e))
}

/// `runs/` and the time, with a number behind it where that exists.
fn dated_path() -> PathBuf {
    let stamp = jiff::Timestamp::now().strftime("%Y-%m-%d-%H%M%S").to_string();
    let mut path = Path::new("runs").join(&stamp);
    let mut number = 2;
    while path.exists() {
        path = Path::new("runs").join(format!("{stamp}-{number}"));
        number += 1;
    }
    path
}
