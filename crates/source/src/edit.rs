//! `tune` and `apply` in one call each: recovers from an interruption, makes the plan and writes it.

use std::path::{Path, PathBuf};

use super::Options;
use super::apply::{plan_apply, plan_apply_from};
use super::plan::{Change, ParamsSummary, PatchPlan, PlannedBlock};
use super::transaction::{Backup, Written, check_complete, recover, write};
use super::tune::plan_tune;
use gputexel_io::Result;
use serde::Serialize;

/// The two ways to edit sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditCommand {
    /// Replace the marked numbers by names.
    Tune,
    /// Replace numbers or names by values.
    Apply {
        /// The file with the values; the `.params` file next to the `.tune` file by default.
        params: Option<PathBuf>,
    },
}

impl EditCommand {
    /// Returns the name in backup folders and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Apply { .. } => "apply",
        }
    }
}

/// Request to [`edit`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    /// The command.
    pub command: EditCommand,
    /// The `.tune` file.
    pub tune: PathBuf,
    /// The folder with the sources.
    pub sources: PathBuf,
    /// The interpretation of files.
    pub options: Options,
    /// Destination of the old files.
    pub backup: Backup,
    /// True to plan only, without changing a file.
    pub dry_run: bool,
}

/// Outcome of [`edit`].
#[derive(Clone, Debug, PartialEq)]
pub struct EditReport {
    /// The plan.
    pub plan: PatchPlan,
    /// The files written; `None` for a dry run.
    pub written: Option<Written>,
    /// Description of an interrupted command that was rolled back or finished first.
    pub recovered: Option<String>,
}

/// [`EditReport`] for machines; its JSON is the output of `patch tune --json` and `patch apply --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EditSummary<'a> {
    /// `tune` or `apply`.
    pub command: &'static str,
    /// The blocks and their changes, in order.
    pub blocks: &'a [PlannedBlock],
    /// The files that differ.
    pub files: Vec<FileSummary<'a>>,
    /// The parameters, if the command writes them.
    pub params: Option<&'a ParamsSummary>,
    /// Likely mistakes, and losses of files by being replaced, one line each.
    pub warnings: Vec<&'a str>,
    /// True if nothing was written.
    pub dry_run: bool,
    /// A unified diff of all files, for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The files written; `None` for a dry run.
    #[serde(flatten)]
    pub written: Option<WrittenSummary<'a>>,
}

/// A file of [`EditSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSummary<'a> {
    /// The file.
    pub path: &'a Path,
    /// True if it did not exist before.
    pub new: bool,
    /// True for the `.params` file.
    pub params: bool,
}

/// The written part of [`EditSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenSummary<'a> {
    /// The folder with the old files; `None` if there is no backup, or nothing to write.
    pub backup: Option<&'a Path>,
    /// Description of an interrupted command that was rolled back or finished first.
    pub recovered: Option<&'a str>,
}

impl<'a> EditSummary<'a> {
    /// Summarizes the result of a command.
    pub fn new(command: &EditCommand, report: &'a EditReport) -> Self {
        let EditReport { plan, written, recovered } = report;
        let file = |change: &'a Change| FileSummary {
            path: &change.shown,
            new: change.before.is_none(),
            params: change.params,
        };
        let said = written.iter().flat_map(|written| &written.warnings);
        Self {
            command: command.name(),
            blocks: &plan.blocks,
            files: plan.changes.iter().map(file).collect(),
            params: plan.params.as_ref(),
            warnings: plan.warnings.iter().chain(said).map(String::as_str).collect(),
            dry_run: written.is_none(),
            diff: written.is_none().then(|| plan.diff()),
            written: written.as_ref().map(|written| WrittenSummary {
                backup: written.backup.as_deref(),
                recovered: recovered.as_deref(),
            }),
        }
    }
}

/// Makes the plan of `tune` or `apply` and, unless it is a dry run, writes it. Calls `warn` for likely mistakes and
/// losses of files, one line each, as soon as they are known, even if the call fails later.
///
/// # Errors
/// Errors of [`recover`](crate::recover()), [`plan_tune`] or [`plan_apply`], and [`write`](crate::write()); for a
/// dry run, [`Error::Input`](gputexel_io::Error::Input) where a command was interrupted.
pub fn edit(request: &EditRequest, warn: &mut dyn FnMut(&str)) -> Result<EditReport> {
    let EditRequest { command, tune, sources, options, backup, .. } = request;
    // Half-written sources must not be read.
    let recovered = if request.dry_run {
        check_complete(sources)?;
        None
    } else {
        recover(sources)?
    };
    let plan = match command {
        EditCommand::Tune => plan_tune(tune, sources, options)?,
        EditCommand::Apply { params: None } => plan_apply(tune, sources, options)?,
        EditCommand::Apply { params: Some(params) } => plan_apply_from(params, tune, sources, options)?,
    };
    plan.warnings.iter().for_each(|warning| warn(warning));
    let written = match request.dry_run {
        true => None,
        false => Some(write(&plan, sources, command.name(), backup)?),
    };
    written.iter().flat_map(|written| &written.warnings).for_each(|warning| warn(warning));
    Ok(EditReport { plan, written, recovered })
}
