//! Inputs of runs: datasets are used directly, games and positions are extracted with the default settings.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::event::{RunEvent, RunObserver};
use gputexel_chess::PhaseSettings;
use gputexel_dataset::{Dataset, read};
use gputexel_ingest::extraction::{self, ExtractSettings, Hooks, Progress, Report};
use gputexel_io::input::{CONTAINER_BYTES, is_container};
use gputexel_io::run_folder::{Kind, RunFolder, run_of};
use gputexel_io::{Error, Result, some_of};
use gputexel_model::{FeatureKind, FeatureSet};
use gputexel_tune::RunRecord;

pub fn begins_as_dataset(path: &Path) -> Result<bool> {
    let mut head = Vec::with_capacity(CONTAINER_BYTES);
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    file.take(CONTAINER_BYTES as u64).read_to_end(&mut head).map_err(|e| Error::io(path, e))?;
    Ok(is_container(&head))
}

pub fn are_datasets(inputs: &[PathBuf]) -> Result<bool> {
    let mut kinds = inputs.iter().map(|path| match path.as_os_str() == "-" {
        true => Ok(false),
        // Games and positions are never in folders, datasets may be.
        false if path.is_dir() => Ok(true),
        // A `.bin` that is not a container is a damaged dataset, not a list of positions, unless it is training data.
        false => {
            let named = path.extension().is_some_and(|e| e == "bin");
            Ok(begins_as_dataset(path)? || (named && !extraction::is_training_data(path)?))
        }
    });
    let first = kinds.next().transpose()?.unwrap_or(true);
    for kind in kinds {
        if kind? != first {
            return Err(Error::Usage("datasets cannot be mixed with games or positions".to_string()));
        }
    }
    Ok(first)
}

const GAMES: [&str; 7] = ["pgn", "epd", "fen", "fens", "csv", "plain", "binpack"];

/// Returns a warning about folders that are read for their datasets alone, although they also have games or positions.
pub(crate) fn passed_over(inputs: &[PathBuf]) -> Option<String> {
    let folder = inputs.iter().filter(|path| path.is_dir());
    let mut texts = folder.filter_map(|folder| {
        let names =
            std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let is_games = |name: &String| name.split('.').skip(1).any(|ending| GAMES.contains(&ending));
        let mut names: Vec<String> = names.filter(is_games).collect();
        names.sort();
        let some = Some(some_of(&names, 1)).filter(|some| !some.is_empty())?;
        Some(format!("of the folder {}, datasets (*.bin) are read, not {some}", folder.display()))
    });
    texts.next()
}

/// Returns the datasets of the run in a folder, or of the run that a file in it names; none unless the folder has such
/// a run, and all of them still exist, as files or folders.
pub fn datasets_of(params: &Path) -> Vec<PathBuf> {
    let Ok(record) = RunFolder::view(&run_of(params)).record::<RunRecord>(Kind::Run) else {
        return Vec::new();
    };
    let datasets: Vec<PathBuf> = record.config.datasets.iter().map(PathBuf::from).collect();
    if datasets.iter().all(|path| path.is_file() || path.is_dir()) { datasets } else { Vec::new() }
}

/// Returns the features used by [`extract`]: one value per piece and square.
pub fn default_features() -> FeatureSet {
    FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
}

pub(crate) fn default_extraction() -> ExtractSettings {
    ExtractSettings::new(default_features())
}

/// Extracts games or labeled positions, plain or compressed, with the default settings. See [`extraction`]
/// for other settings, and for datasets to keep.
///
/// # Errors
/// Errors of [`extraction::extract`]; [`Error::Io`] when the temporary folder cannot be written.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("positions.epd");
/// std::fs::write(&file, "Q7/8/8/8/8/7k/8/K7 w - - c9 \"1-0\";\nq7/8/8/8/8/7K/8/k7 w - - c9 \"0-1\";\n")?;
/// let data = gputexel_runs::extract(&[file])?;
/// assert_eq!((data.len(), data.feature_count()), (2, 384));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn extract<P: AsRef<Path>>(inputs: &[P]) -> Result<Dataset> {
    let folder = temporary_folder()?;
    let path = folder.path().join("dataset.bin");
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| path.as_ref().to_path_buf()).collect();
    extract_to(&inputs, &default_extraction(), &path, &AtomicBool::new(false), &mut |_| Ok(()))?;
    read(&path)
}

pub(crate) fn extract_to(
    inputs: &[PathBuf],
    settings: &ExtractSettings,
    output: &Path,
    cancel: &AtomicBool,
    observe: &mut RunObserver<'_>,
) -> Result<Report> {
    reporting(observe, |progress| {
        extraction::extract(inputs, settings, output, &mut Hooks { cancel, progress })
    })
}

/// Reads inputs and reports progress to the observer of a run.
pub(crate) fn reporting<T>(
    observe: &mut RunObserver<'_>,
    read: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T>,
) -> Result<T> {
    let mut refused = None;
    let report = read(&mut |at: Progress| {
        if refused.is_none() {
            refused = observe(RunEvent::Extracting(at)).err();
        }
    })?;
    refused.map_or(Ok(report), Err)
}

pub(crate) fn temporary_folder() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|e| Error::io(std::env::temp_dir(), e))
}
