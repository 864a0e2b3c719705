//! Filling marked arrays in one call: reads values, makes the plan and writes it.

use std::path::PathBuf;

use super::{KnownValues, TableValues, TablesOptions, TablesPlan, plan};
use crate::transaction::{Backup, Written, write};
use gputexel_io::Result;

/// Request to [`fill`].
#[derive(Clone, Debug, Default)]
pub struct FillRequest {
    /// A parameter file with the tuned values, or the folder of a run.
    pub params: PathBuf,
    /// The sources with markers.
    pub sources: Vec<PathBuf>,
    /// Values that the sources hold now, if these are neither those that the run started from nor its result: a
    /// parameter file, or the folder of a run.
    pub start: Option<PathBuf>,
    /// Markers to fill, and whether they are trusted.
    pub options: TablesOptions,
    /// Destination of the old files.
    pub backup: Backup,
    /// True to plan only, without changing a file.
    pub dry_run: bool,
}

/// Puts tuned values into the arrays of all markers. Calls `warn` with a line for each thing that files lose by being
/// replaced. Returns the plan, and what was written unless it is a dry run.
///
/// # Errors
/// Errors of [`TableValues::read`], [`KnownValues::find`], [`plan`] and [`write`](fn@write); then nothing is written.
pub fn fill(request: &FillRequest, warn: &mut dyn FnMut(&str)) -> Result<(TablesPlan, Option<Written>)> {
    let FillRequest { params, sources, start, options, backup, .. } = request;
    let values = TableValues::read(params)?;
    let known = KnownValues::find(&values, params, start.as_deref())?;
    let plan = plan(&values, &known, sources, options)?;
    if request.dry_run {
        return Ok((plan, None));
    }
    let written = write(&plan.plan, &plan.folder, "tables", backup)?;
    written.warnings.iter().for_each(|warning| warn(warning));
    Ok((plan, Some(written)))
}
