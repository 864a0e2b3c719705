//! `tune` and `apply` in one call each: recovers from an interruption, makes the plan and writes it.

use std::path::PathBuf;

use super::Options;
use super::apply::{plan_apply, plan_apply_from};
use super::plan::{Change, PatchPlan};
use super::transaction::{Backup, Written, check_complete, recover, write};
use super::tune::plan_tune;
use gputexel_io::Result;
use serde_json::json;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditCommand {
    Tune,
    Apply {
        /// The file with the values; the `.params` file next to the `.tune` file by default.
        params: Option<PathBuf>,
    },
}

impl EditCommand {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tune => "tune",
            Self::Apply { .. } => "apply",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditRequest {
    pub command: EditCommand,
    pub tune: PathBuf,
    pub sources: PathBuf,
    pub options: Options,
    pub backup: Backup,
    pub dry_run: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EditReport {
    pub plan: PatchPlan,
    /// `None` for a dry run.
    pub written: Option<Written>,
    /// Description of an interrupted command that was rolled back or finished first.
    pub recovered: Option<String>,
}

impl EditReport {
    /// Report as the JSON object that `patch tune --json` and `patch apply --json` print: with a diff for a dry
    /// run, else with what was written.
    pub fn to_json(&self, command: &EditCommand) -> serde_json::Value {
        let Self { plan, written, recovered } = self;
        let file = |change: &Change| json!({ "path": change.shown, "new": change.before.is_none(), "params": change.params });
        let said = written.iter().flat_map(|written| &written.warnings);
        let mut object = json!({
            "command": command.name(),
            "blocks": plan.blocks,
            "files": plan.changes.iter().map(file).collect::<Vec<_>>(),
            "params": plan.params,
            "warnings": plan.warnings.iter().chain(said).collect::<Vec<_>>(),
            "dry_run": written.is_none(),
        });
        match written {
            Some(written) => {
                object["backup"] = json!(written.backup);
                object["recovered"] = json!(recovered);
            }
            None => object["diff"] = json!(plan.diff()),
        }
        object
    }
}

/// Makes the plan of `tune` or `apply` and, unless it is a dry run, writes it. Calls `warn` for likely
/// mistakes and losses of files, one line each, as soon as they are known, even if the call fails later.
///
/// # Errors
/// Errors of [`recover`](crate::recover()), [`plan_tune`] or [`plan_apply`], and [`write`](crate::write());
/// for a dry run, [`Error::Input`](gputexel_io::Error::Input) where a command was interrupted.
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
