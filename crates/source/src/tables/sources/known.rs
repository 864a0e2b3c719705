//! Values that a source may hold before it is filled: those that a run started from, and those that it ended
//! with.

use std::path::Path;

use super::values::TableValues;
use gputexel_io::run_folder::parameters_at;
use gputexel_io::{Error, Result};
use gputexel_model::ParameterFile;
use serde::Deserialize;

/// What is read of the record of a run, `run.json`: whose result a parameter file is, and from which values
/// that run started.
#[derive(Deserialize)]
struct StartRecord {
    config: StartConfig,
}

#[derive(Deserialize)]
struct StartConfig {
    /// The prior's description.
    prior: String,
    seed: u64,
    /// θ at the start: middlegame, then endgame values, centipawns.
    start: Vec<f64>,
}

/// Values that are known to have been in the sources, besides the tuned ones.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    /// Where tuning started.
    pub(super) start: Option<TableValues>,
    /// What the user says that the sources hold.
    pub(super) given: Option<TableValues>,
}

impl KnownValues {
    /// Looks for the start of the run that a parameter file is the result of: `run.json`, in the folder
    /// given or beside the file, if it is of the same run. `given` are the values that the user says to be in
    /// the sources, a parameter file or a run's folder.
    ///
    /// # Errors
    /// Those of reading `given`; [`Error::Input`] where it lacks a parameter.
    pub fn find(values: &TableValues, params: &Path, given: Option<&Path>) -> Result<Self> {
        let given = given.map(|path| same_parameters(values, path)).transpose()?;
        Ok(Self { start: start_of_run(values, params)?, given })
    }
}

/// θ that the run started from whose result a parameter file is, in the order of its parameters; none where
/// there is no record of the run beside it.
///
/// # Errors
/// Those of [`ParameterFile::read`].
pub fn start_of(path: &Path) -> Result<Option<Vec<f64>>> {
    let values = TableValues::read(path)?;
    Ok(start_of_run(&values, path)?.map(|start| start.theta))
}

/// The values of a parameter file with the parameters of another one.
fn same_parameters(values: &TableValues, path: &Path) -> Result<TableValues> {
    let other = TableValues::read(path)?;
    let places: std::collections::HashMap<&str, usize> =
        other.features.iter().enumerate().map(|(id, feature)| (feature.name.as_str(), id)).collect();
    let count = other.features.len();
    let mut theta = [Vec::new(), Vec::new()];
    for feature in &values.features {
        let &id = places.get(feature.name.as_str()).ok_or_else(|| {
            Error::input(
                path,
                format!("parameter '{}' is missing; it must have those of PARAMS", feature.name),
            )
        })?;
        theta[0].push(other.theta[id]);
        theta[1].push(other.theta[count + id]);
    }
    Ok(values.with_theta(theta.concat()))
}

/// Where the run started whose result a file is; none where there is no record of it.
fn start_of_run(values: &TableValues, params: &Path) -> Result<Option<TableValues>> {
    let file = parameters_at(params);
    let record = file.with_file_name("run.json");
    // Whatever else has this name is no record, and might never end.
    if !std::fs::metadata(&record).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let text = gputexel_io::read_whole_text(&record, gputexel_io::SETTINGS_BYTES)
        .map_err(|e| Error::io(&record, e))?;
    // Of other programs, and other versions, there may be a file of this name.
    let Ok(StartRecord { config }) = serde_json::from_str::<StartRecord>(&text) else { return Ok(None) };
    let provenance = ParameterFile::read(&file)?.provenance;
    let same = provenance.prior == config.prior
        && provenance.seed == config.seed
        && config.start.len() == values.theta.len()
        && config.start.iter().all(|value| value.is_finite());
    Ok(same.then(|| values.with_theta(config.start)))
}
