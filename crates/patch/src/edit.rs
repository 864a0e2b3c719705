//! `tune` and `apply` as one call each: what was interrupted is put right, the plan is made and written.

use std::path::{Path, PathBuf};

use super::adopt::adopt;
use super::apply::{plan_apply, plan_apply_from};
use super::plan::{Change, ParamsSummary, PatchPlan, PlannedBlock};
use super::transaction::{Backup, Written, check_complete, recover, write};
use super::tune::plan_tune;
use super::{Notice, Options};
use gputexel_files::Result;
use serde::Serialize;

/// The two ways to edit sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditCommand {
    /// Replace the marked numbers by names.
    Tune,
    /// Replace numbers or names by values.
    Apply {
        /// The file with the values; the `.params` file beside the `.tune` file by default.
        params: Option<PathBuf>,
    },
}

impl EditCommand {
    /// What it is called in the names of backup folders and in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Apply { .. } => "apply",
        }
    }
}

/// What [`edit`] is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    /// What is done.
    pub command: EditCommand,
    /// The `.tune` file.
    pub tune: PathBuf,
    /// The folder with the sources.
    pub sources: PathBuf,
    /// How files are understood.
    pub options: Options,
    /// Where the old files go.
    pub backup: Backup,
    /// Take over the records of a tree that was moved or copied first, see [`adopt`](crate::adopt()).
    pub adopt: bool,
    /// Only plan; no file is changed.
    pub dry_run: bool,
}

/// What [`edit`] has done.
#[derive(Clone, Debug, PartialEq)]
pub struct EditReport {
    /// What was to be done.
    pub plan: PatchPlan,
    /// What was written; `None` of a dry run.
    pub written: Option<Written>,
    /// What an interrupted command had left, which was put back first.
    pub recovered: Option<String>,
}

/// [`EditReport`] for machines; its JSON is what `patch tune --json` and `patch apply --json` print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EditSummary<'a> {
    /// `tune` or `apply`.
    pub command: &'static str,
    /// What becomes of the blocks, in order.
    pub blocks: &'a [PlannedBlock],
    /// The files that differ.
    pub files: Vec<FileSummary<'a>>,
    /// The parameters, if the command writes them.
    pub params: Option<&'a ParamsSummary>,
    /// Likely mistakes, and what files have lost by being replaced, one line each.
    pub warnings: Vec<&'a str>,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// A unified diff of all files, of a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// What there is to say of files that were written.
    #[serde(flatten)]
    pub written: Option<WrittenSummary<'a>>,
}

/// A file of [`EditSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileSummary<'a> {
    /// The file.
    pub path: &'a Path,
    /// Whether it was not there before.
    pub new: bool,
    /// Whether it is the `.params` file.
    pub params: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WrittenSummary<'a> {
    /// The folder with the old files; none if there is no backup, or nothing was to be written.
    pub backup: Option<&'a Path>,
    /// What an interrupted command had left, which was put back first.
    pub recovered: Option<&'a str>,
}

impl<'a> EditSummary<'a> {
    /// Sums up what a command has done.
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

/// Makes the plan of `tune` or `apply` and, unless it is a dry run, writes it. `notice` is told what the user
/// should know as soon as it is known, even where the call fails later.
///
/// # Errors
/// Those of [`adopt`](crate::adopt()), [`recover`](crate::recover()), [`plan_tune`] or [`plan_apply`], and
/// [`write`](crate::write()); for a dry run, [`Error::Input`](gputexel_files::Error::Input) where a command
/// was interrupted.
pub fn edit(request: &EditRequest, notice: &mut dyn FnMut(Notice<'_>)) -> Result<EditReport> {
    let EditRequest { command, tune, sources, options, backup, .. } = request;
    if request.adopt {
        adopt(sources, backup.folder())?.iter().for_each(|path| notice(Notice::LeftAlone(path)));
    }
    // What is half written is no source to read.
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
    plan.warnings.iter().for_each(|warning| notice(Notice::Warning(warning)));
    let written = match request.dry_run {
        true => None,
        false => Some(write(&plan, sources, command.name(), backup)?),
    };
    let said = written.iter().flat_map(|written| &written.warnings);
    said.for_each(|warning| notice(Notice::Warning(warning)));
    Ok(EditReport { plan, written, recovered })
}

impl Backup {
    /// The folder that was asked for.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::In(folder) => Some(folder),
            Self::Beside | Self::No => None,
        }
    }
}
