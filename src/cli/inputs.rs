//! Inputs of commands that work on datasets: datasets as they are, games and positions after an
//! extraction with the default settings.

use std::io::Read;
use std::path::{Path, PathBuf};

use gputexel::chess::PhaseSettings;
use gputexel::extraction::{ExtractSettings, Hooks, extract};
use gputexel::model::{FeatureKind, FeatureSet};
use gputexel::{Error, Result};

use super::table::grouped;
use super::{Context, say};

/// Whether a file begins like a safetensors container: a length, then a JSON object.
fn is_container(path: &Path) -> Result<bool> {
    let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut start = [0u8; 9];
    let mut filled = 0;
    while filled < start.len() {
        match file.read(&mut start[filled..]).map_err(|e| Error::io(path, e))? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled == start.len() && start[8] == b'{' && start[4..8] == [0; 4])
}

/// Whether the inputs are datasets.
///
/// # Errors
/// [`Error::Io`] for files that cannot be read, [`Error::Usage`] for a mixture.
pub fn are_datasets(inputs: &[PathBuf]) -> Result<bool> {
    let mut kinds = inputs.iter().map(|path| match path.as_os_str() == "-" {
        true => Ok(false),
        // A `.bin` that is not a container is a damaged dataset and not a list of positions.
        false => Ok(is_container(path)? || path.extension().is_some_and(|e| e == "bin")),
    });
    let first = kinds.next().transpose()?.unwrap_or(true);
    for kind in kinds {
        if kind? != first {
            return Err(Error::Usage("datasets cannot be mixed with games or positions".to_string()));
        }
    }
    Ok(first)
}

/// The feature set of [`extract_first`].
pub fn default_features() -> FeatureSet {
    FeatureSet::new(FeatureKind::Pst, PhaseSettings::default())
}

/// Extracts games or positions into `output` with the default settings.
///
/// # Errors
/// Those of [`extract`].
pub fn extract_first(inputs: &[PathBuf], output: &Path, context: &Context) -> Result<()> {
    let settings = ExtractSettings::new(default_features());
    let mut ignore = |_| {};
    let report =
        extract(inputs, &settings, output, &mut Hooks { cancel: context.cancel, progress: &mut ignore })?;
    for source in &report.sources {
        for warning in &source.warnings {
            let line = format!("gputexel: warning: {}: {warning}", source.record.path);
            eprintln!("{}", gputexel::printable(&line));
        }
        if !context.quiet && !context.json {
            let record = &source.record;
            let left_out: u64 = record.left_out.values().sum();
            say(&format!(
                "extracted   {} positions from {} ({}), left out {}\n",
                grouped(record.positions),
                record.path,
                record.labels.as_deref().unwrap_or(&record.format),
                grouped(left_out),
            ))?;
        }
    }
    if !context.quiet && !context.json {
        say(&format!("dataset     written to {}\n", output.display()))?;
    }
    Ok(())
}
