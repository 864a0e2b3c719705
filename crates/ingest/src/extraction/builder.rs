//! Extraction as a library call: from inputs and settings to a dataset in memory or in a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{ExtractSettings, Hooks, Report, extract};
use gputexel_dataset::Dataset;
use gputexel_io::{Error, Result};

/// Extracts positions from games or labeled positions, in one expression.
///
/// The features are those of [`ExtractSettings::default`] unless [`settings`](Self::settings) specifies
/// others. [`extract`] does the same with progress and cancellation.
///
/// ```
/// use gputexel_ingest::extraction::{ExtractSettings, Extraction};
/// use gputexel_chess::selection::Selection;
///
/// # fn main() -> gputexel_io::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let games = folder.path().join("games.pgn");
/// # std::fs::write(&games, "[Result \"1-0\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n").unwrap();
/// // Every position of every game; the default leaves out openings, captures and checks.
/// let settings = ExtractSettings { selection: Selection::everything(), ..ExtractSettings::default() };
/// let dataset = Extraction::new().input(&games).settings(settings).run()?;
/// assert_eq!(dataset.len(), 7);
/// assert!(dataset.results().iter().all(|&result| result == 1.0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Extraction {
    inputs: Vec<PathBuf>,
    settings: ExtractSettings,
}

impl Extraction {
    /// Creates an extraction with default settings and no inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input: games (PGN) or labeled positions, plain, compressed or in an archive; `-` is standard
    /// input.
    #[must_use]
    pub fn input(mut self, path: impl Into<PathBuf>) -> Self {
        self.inputs.push(path.into());
        self
    }

    /// Adds several inputs.
    #[must_use]
    pub fn inputs(mut self, paths: impl IntoIterator<Item: Into<PathBuf>>) -> Self {
        self.inputs.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Replaces all settings: features, selection, labels, threads.
    #[must_use]
    pub fn settings(mut self, settings: ExtractSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Extracts and returns the dataset. It is written to a temporary file, which is deleted afterwards.
    pub fn run(&self) -> Result<Dataset> {
        let folder = tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))?;
        let path = folder.path().join("dataset.bin");
        self.write_to(&path)?;
        gputexel_dataset::read(&path)
    }

    /// Extracts, writes the dataset to `path`, and reports what was read and what was left out.
    ///
    /// # Errors
    /// As [`extract`]; an existing file is only replaced if the settings allow it.
    pub fn write_to(&self, path: impl AsRef<Path>) -> Result<Report> {
        let cancel = AtomicBool::new(false);
        let mut hooks = Hooks { cancel: &cancel, progress: &mut |_| {} };
        extract(&self.inputs, &self.settings, path.as_ref(), &mut hooks)
    }
}
