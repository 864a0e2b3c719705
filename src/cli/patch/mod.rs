//! `gputexel patch`: turns numbers in engine sources into options, and writes tuned values back.

mod list;
mod tables;
mod variables;

use std::path::{Path, PathBuf};

use gputexel::Error;
use gputexel::io::counted;
use gputexel::patch::{
    Change, PatchPlan, Written, check, plan_apply, plan_tune, refuse_interrupted, undo, write,
};
use serde_json::json;

use super::context::Context;
use super::output::{print_result, print_text, write_stdout};
use super::subcommand::Subcommand;

/// Patching engine sources: tunable options in, tuned values back.
#[derive(Debug, clap::Args)]
pub struct PatchArgs {
    #[command(subcommand)]
    command: PatchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PatchCommand {
    /// Replace the marked numbers with names, declare them, and write the .params file
    #[command(after_help = "Examples:\n  gputexel patch tune engine.tune src")]
    Tune(EditArgs),
    /// Write the values of the .params file back into the sources
    Apply(ApplyArgs),
    /// Show where every block matches, and the closest lines if one does not
    #[command(after_help = "Examples:\n  gputexel patch check engine.tune src")]
    Check(InputArgs),
    /// Restore the sources as they were before the last tune or apply
    Undo(UndoArgs),
    /// Show the markers of sources: names, values and bounds
    List(list::ListArgs),
    /// Make marked numbers variables that the engine reads from a file at its start
    Expose(variables::ExposeArgs),
    /// Make exposed numbers constants again, with tuned values
    Restore(variables::RestoreArgs),
    /// Write tuned tables into marked arrays of C, C++, C#, Rust, Go and Python sources
    Tables(tables::TablesArgs),
}

#[derive(Debug, clap::Args)]
struct InputArgs {
    /// Blocks to use; parameters are in the .params file next to it
    #[arg(value_name = "FILE.tune")]
    tune: PathBuf,
    /// Folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
}

#[derive(Debug, clap::Args)]
struct EditArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch apply engine.tune src --params runs/x/values.params")]
struct ApplyArgs {
    #[command(flatten)]
    edit: EditArgs,
    /// Values from another file, such as values.params of a 'gputexel spsa' run [default: the .params file next to
    /// FILE.tune]
    #[arg(long, value_name = "FILE.params")]
    params: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch undo src")]
struct UndoArgs {
    /// Folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
}

impl Subcommand for PatchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        match &self.command {
            PatchCommand::Tune(args) => edit(args, None, context),
            PatchCommand::Apply(args) => edit(&args.edit, Some(args.params.as_deref()), context),
            PatchCommand::Check(args) => check_blocks(args, context),
            PatchCommand::Undo(args) => {
                let undone = undo(&args.sources)?;
                print_result(context, &undone, || undone.describe())
            }
            PatchCommand::List(args) => list::run(args, context),
            PatchCommand::Expose(args) => variables::expose(args, context),
            PatchCommand::Restore(args) => variables::restore(args, context),
            PatchCommand::Tables(args) => tables::run(args, context),
        }
    }
}

/// Runs `apply` with the file given, or the usual one, else `tune`.
fn edit(args: &EditArgs, apply: Option<Option<&Path>>, context: &Context) -> anyhow::Result<()> {
    let EditArgs { input: InputArgs { tune, sources }, dry_run } = args;
    // Half-written sources must not be read.
    refuse_interrupted(sources)?;
    let (command, plan) = match apply {
        Some(params) => ("apply", plan_apply(tune, sources, params)?),
        None => ("tune", plan_tune(tune, sources)?),
    };
    plan.warnings.iter().for_each(|warning| warn(warning, context));
    let file = |change: &Change| json!({ "path": change.shown, "new": change.before.is_none(), "params": change.params });
    let files: Vec<_> = plan.changes.iter().map(file).collect();
    let object = json!({ "blocks": plan.blocks, "files": files, "params": plan.params });
    let mut text: String = plan.blocks.iter().map(|block| format!("{block}\n")).collect();
    text.extend(plan.params.as_ref().map(|params| format!("{params}\n")));
    finish(Outcome { command, plan: &plan, folder: sources, object, text }, *dry_run, context)
}

/// A plan with what is said about it: fields of the JSON object, and whole lines.
struct Outcome<'a> {
    command: &'a str,
    plan: &'a PatchPlan,
    folder: &'a Path,
    object: serde_json::Value,
    text: String,
}

fn finish(outcome: Outcome<'_>, dry_run: bool, context: &Context) -> anyhow::Result<()> {
    let Outcome { command, plan, folder, mut object, mut text } = outcome;
    let written = if dry_run { Written::default() } else { write(plan, folder, command)? };
    written.warnings.iter().for_each(|warning| warn(warning, context));
    if context.json {
        object["command"] = json!(command);
        object["dry_run"] = json!(dry_run);
        object["backup"] = json!(written.backup);
        object["warnings"] = plan.warnings.iter().chain(&written.warnings).cloned().collect();
        if dry_run {
            object["diff"] = json!(plan.diff());
        }
        return Ok(write_stdout(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    if dry_run && !plan.changes.is_empty() {
        return Ok(write_stdout(&super::style::diff(&plan.diff()))?);
    }
    text += &match written.backup {
        Some(_) => format!("'gputexel patch undo {}' restores the old files\n", folder.display()),
        None => "nothing to write: all files are up to date\n".to_string(),
    };
    Ok(print_text(&text)?)
}

/// Warns on standard error; with `--json`, warnings about the plan are in the object.
fn warn(warning: &str, context: &Context) {
    if !context.quiet && !context.json {
        note!("gputexel: warning: {warning}");
    }
}

/// Unusable blocks are an error after all are reported.
fn check_blocks(args: &InputArgs, context: &Context) -> anyhow::Result<()> {
    let report = check(&args.tune, &args.sources)?;
    print_result(context, &report, || report.to_string())?;
    match report.failures() {
        0 => Ok(()),
        count => {
            let parts = counted(count as u64, "part");
            Err(Error::input(&args.tune, format!("{parts} cannot be used")).into())
        }
    }
}
