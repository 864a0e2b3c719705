//! `tune` and `apply` as one call each: what was interrupted is put right, the plan is made and written.

use std::path::{Path, PathBuf};

use super::adopt::adopt;
use super::apply::{plan_apply, plan_apply_from};
use super::plan::PatchPlan;
use super::transaction::{Backup, Written, check_complete, recover, write};
use super::tune::plan_tune;
use super::{Notice, Options};
use gputexel_files::Result;

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
