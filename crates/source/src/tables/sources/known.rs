//! Values that a source may hold before it is filled: those that a run started from, and those that it ended with.

use std::path::Path;

use super::values::TableValues;
use gputexel_io::run_folder::parameters_at;
use gputexel_io::{Error, Result};
use gputexel_model::ParameterFile;
use serde::Deserialize;

/// The fields of `run.json` that identify a run, and its start.
#[derive(Deserialize)]
struct StartRecord {
    config: StartConfig,
}

#[derive(Deserialize)]
struct StartConfig {
    prior: String,
    seed: u64,
    /// θ at the start: middlegame, then endgame values, centipawns.
    start: Vec<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    pub(super) start: Option<TableValues>,
    pub(super) given: Option<TableValues>,
}

impl KnownValues {
    /// Finds the start of the run that produced a parameter file: `run.json`, in the folder given or in that of the
    /// file, if it is of the same run. `given` are the values that the sources hold according to the user, a parameter
    /// file or the folder of a run.
    pub fn find(values: &TableValues, params: &Path, given: Option<&Path>) -> Result<Self> {
        let given = given.map(|path| same_parameters(values, path)).transpose()?;
        Ok(Self { start: start_of_run(values, params)?, given })
    }
}

/// Returns the θ that the run of a parameter file started from, in the order of its parameters; `None` if its folder
/// has no record of the run.
pub fn start_of(path: &Path) -> Result<Option<Vec<f64>>> {
    let values = TableValues::read(path)?;
    Ok(start_of_run(&values, path)?.map(|start| start.theta))
}

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

fn start_of_run(values: &TableValues, params: &Path) -> Result<Option<TableValues>> {
    let file = parameters_at(params);
    let record = file.with_file_name("run.json");
    // Anything but a regular file of this name is not a record, and might never end.
    if !std::fs::metadata(&record).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let text = gputexel_io::read_whole_text(&record, gputexel_io::SETTINGS_BYTES)
        .map_err(|e| Error::io(&record, e))?;
    // Other programs and versions may use a file of this name.
    let Ok(StartRecord { config }) = serde_json::from_str::<StartRecord>(&text) else { return Ok(None) };
    let provenance = ParameterFile::read(&file)?.provenance;
    let same = provenance.prior == config.prior
        && provenance.seed == config.seed
        && config.start.len() == values.theta.len()
        && config.start.iter().all(|value| value.is_finite());
    Ok(same.then(|| values.with_theta(config.start)))
}
