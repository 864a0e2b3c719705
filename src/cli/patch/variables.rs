//! `gputexel patch expose` and `restore`: marked numbers as variables read from a file, and constants again.

use std::path::PathBuf;

use gputexel::io::counted;
use gputexel::patch::variables::{ExposePlan, VARIABLE, plan_expose, plan_restore};
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::{BackupArgs, warn};

/// Flags of `expose`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The program reads lines of NAME VALUE at its start, from the file that the environment variable GPUTEXEL_VALUES names. \
gputexel_values.params lists names, values and ranges.

Examples:\n  gputexel patch expose src/psqt.h src/evaluate.cpp")]
pub struct ExposeArgs {
    /// Sources in C, C++ or Rust: all with markers ('// gputexel: NAME'), and others that use the names that these declare
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    #[command(flatten)]
    write: WriteArgs,
}

/// Flags of `restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch restore src/psqt.h src/evaluate.cpp --params runs/tuned")]
pub struct RestoreArgs {
    /// Sources that `expose` has changed
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Values to write: a .params file, a parameter file, or the folder of a run [default: those from before]
    #[arg(long, value_name = "FILE.params|PARAMS|RUN")]
    params: Option<PathBuf>,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(Debug, clap::Args)]
struct WriteArgs {
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    backup: BackupArgs,
}

/// # Errors
/// Sources that cannot be read or written, markers that do not match, and names that must stay constant.
pub fn expose(args: &ExposeArgs, context: &Context) -> anyhow::Result<()> {
    let plan = plan_expose(&args.sources)?;
    let end = format!(
        "{}: {}; the program reads values from the file that {VARIABLE} names\n",
        plan.params.display(),
        counted(plan.parameters as u64, "parameter")
    );
    finish(&plan, "expose", &args.write, context, &end)
}

/// # Errors
/// Sources that are not exposed, and values that cannot be written.
pub fn restore(args: &RestoreArgs, context: &Context) -> anyhow::Result<()> {
    let plan = plan_restore(&args.sources, args.params.as_deref())?;
    finish(&plan, "restore", &args.write, context, "")
}

fn finish(
    plan: &ExposePlan,
    command: &str,
    args: &WriteArgs,
    context: &Context,
    end: &str,
) -> anyhow::Result<()> {
    let written = match args.dry_run {
        true => None,
        false => Some(plan.write(command, &args.backup.backup())?),
    };
    for warning in written.iter().flat_map(|written| &written.warnings) {
        warn(warning, context);
    }
    if context.json {
        let mut object = json!({
            "command": command, "files": plan.files, "parameters": plan.parameters, "params": plan.params,
            "dry_run": args.dry_run, "backup": written.as_ref().and_then(|written| written.backup.as_ref()),
        });
        if args.dry_run {
            object["diff"] = json!(plan.plan.diff());
        }
        return Ok(write_stdout(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    let Some(written) = written else {
        return Ok(write_stdout(&super::super::style::diff(&plan.plan.diff()))?);
    };
    let mut text = String::new();
    for own in &plan.files {
        let numbers = counted(own.numbers as u64, "number");
        let changed = if command == "restore" { format!(", {} changed", own.changed) } else { String::new() };
        text += &format!("{}: {numbers}{changed}\n", own.file.display());
    }
    text += end;
    text += &args.backup.how_to_undo(&written, &plan.folder);
    Ok(print_text(&text)?)
}
