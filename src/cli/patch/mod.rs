//! `gputexel patch`: turns numbers in engine sources into options, and writes tuned values back.

mod check;
mod init;
mod list;
mod tables;
mod variables;

use std::path::{Path, PathBuf};

use gputexel::patch::{self, Backup, EditCommand, EditReport, EditRequest, Options, Written};

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
    Check(check::CheckArgs),
    /// Restore the sources as they were before the last tune or apply
    Undo(UndoArgs),
    /// Write a first block from a source line, with its numbers marked
    Init(init::InitArgs),
    /// Show the markers of sources: names, values and bounds
    List(list::ListArgs),
    /// Make marked numbers variables that the engine reads from a file at its start
    Expose(variables::ExposeArgs),
    /// Make exposed numbers constants again, with tuned values
    Restore(variables::RestoreArgs),
    /// Write tuned tables into marked arrays of C, C++, C#, Rust, Go and Python sources
    Tables(tables::TablesArgs),
}

/// Programs that can be emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Compat {
    /// YaneuraOu's script
    #[value(name = "tune.py")]
    TunePy,
}

#[derive(Debug, clap::Args)]
struct InputArgs {
    /// Blocks to use; parameters are in the .params file next to it
    #[arg(value_name = "FILE.tune")]
    tune: PathBuf,
    /// Folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
    /// Require marked numbers to equal those of the source
    #[arg(long)]
    strict_numbers: bool,
    /// Allow sources that are hidden or in hidden folders (with a name in the path that begins with a dot)
    #[arg(long)]
    hidden: bool,
}

impl InputArgs {
    fn options(&self) -> Options {
        Options { compat: false, strict_numbers: self.strict_numbers, hidden: self.hidden }
    }
}

/// Flags of `tune` and `apply`.
#[derive(Debug, clap::Args)]
struct EditArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Reproduce the output of tune.py, byte for byte
    #[arg(long, value_name = "PROGRAM", conflicts_with = "strict_numbers")]
    compat: Option<Compat>,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    backup: BackupArgs,
}

/// Flags of `apply`.
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
struct BackupArgs {
    /// Keep no backups, from which 'patch undo' restores sources
    #[arg(long)]
    no_backup: bool,
}

impl BackupArgs {
    fn backup(&self) -> Backup {
        if self.no_backup { Backup::No } else { Backup::State }
    }

    fn how_to_undo(&self, written: &Written, sources: &Path) -> String {
        match &written.backup {
            Some(_) => format!("'gputexel patch undo {}' restores the old files\n", sources.display()),
            None => String::new(),
        }
    }
}

/// Flags of `undo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch undo src")]
struct UndoArgs {
    /// Folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
    /// Also restore files that were changed since; the changed files are kept with the backups
    #[arg(long)]
    force: bool,
}

impl Subcommand for PatchArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        match &self.command {
            PatchCommand::Tune(args) => edit(args, EditCommand::Tune, context),
            PatchCommand::Apply(args) => {
                edit(&args.edit, EditCommand::Apply { params: args.params.clone() }, context)
            }
            PatchCommand::Check(args) => check::run(args, context),
            PatchCommand::Undo(args) => undo(args, context),
            PatchCommand::Init(args) => init::run(args, context),
            PatchCommand::List(args) => list::run(args, context),
            PatchCommand::Expose(args) => variables::expose(args, context),
            PatchCommand::Restore(args) => variables::restore(args, context),
            PatchCommand::Tables(args) => tables::run(args, context),
        }
    }
}

fn edit(args: &EditArgs, command: EditCommand, context: &Context) -> anyhow::Result<()> {
    let EditArgs { input, compat, backup, dry_run } = args;
    let request = EditRequest {
        tune: input.tune.clone(),
        sources: input.sources.clone(),
        options: Options { compat: *compat == Some(Compat::TunePy), ..input.options() },
        backup: backup.backup(),
        dry_run: *dry_run,
        command,
    };
    let report = patch::edit(&request, &mut |warning| warn(warning, context))?;
    if context.json {
        return Ok(write_stdout(&format!("{}\n", report.to_json(&request.command)))?);
    }
    if context.quiet {
        return Ok(());
    }
    let EditReport { plan, written, recovered } = report;
    let Some(written) = written else { return Ok(write_stdout(&super::style::diff(&plan.diff()))?) };
    let recovered = recovered.map(|said| format!("{said}\n")).unwrap_or_default();
    let mut text: String = plan.blocks.iter().map(|block| format!("{block}\n")).collect();
    text.extend(plan.params.as_ref().map(|params| format!("{params}\n")));
    let end = match plan.changes.is_empty() {
        true => "nothing to write: all files are up to date\n".to_string(),
        false => backup.how_to_undo(&written, &input.sources),
    };
    Ok(print_text(&format!("{recovered}{text}{end}"))?)
}

/// Warns on standard error; with `--json`, warnings about the plan are in the object.
fn warn(warning: &str, context: &Context) {
    if !context.quiet && !context.json {
        note!("gputexel: warning: {warning}");
    }
}

fn undo(args: &UndoArgs, context: &Context) -> anyhow::Result<()> {
    let undone = patch::undo(&args.sources, args.force)?;
    print_result(context, &undone, || undone.describe())
}
