//! `gputexel patch`: numbers of engine sources become options, and tuned values numbers again.

mod check;
mod init;
mod output;
mod tables;

use std::path::{Path, PathBuf};

use gputexel::Error;
use gputexel::patch::{self, Backup, Options, Plan, Written};
use serde_json::json;

use super::{Context, say};

/// Patching engine sources: tunable options in, tuned values back.
#[derive(Debug, clap::Args)]
pub struct PatchArgs {
    #[command(subcommand)]
    command: PatchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PatchCommand {
    /// Replace the marked numbers by names, declare them, and write the .params file
    Tune(EditArgs),
    /// Write the values of the .params file back into the sources
    Apply(ApplyArgs),
    /// Show where every block matches, and the closest lines if one does not
    Check(check::CheckArgs),
    /// Restore the sources as they were before the last tune or apply
    Undo(UndoArgs),
    /// Write a first block from a source line, with its numbers marked
    Init(init::InitArgs),
    /// Write tuned tables into marked arrays of C, C++, C#, Rust, Go and Python sources
    Tables(tables::TablesArgs),
}

/// The programs whose ways can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Compat {
    /// YaneuraOu's script
    #[value(name = "tune.py")]
    TunePy,
}

/// What is read, and how.
#[derive(Debug, clap::Args)]
struct InputArgs {
    /// The blocks; parameters are in the .params file next to it
    #[arg(value_name = "FILE.tune")]
    tune: PathBuf,
    /// The folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
    /// Reproduce the output of tune.py, byte for byte
    #[arg(long, value_name = "PROGRAM")]
    compat: Option<Compat>,
    /// Marked numbers must equal those of the source
    #[arg(long)]
    strict_numbers: bool,
    /// Allow sources that are hidden or in hidden folders (a name in the path begins with a dot)
    #[arg(long)]
    hidden: bool,
}

impl InputArgs {
    fn options(&self) -> Options {
        Options {
            compat: self.compat == Some(Compat::TunePy),
            strict_numbers: self.strict_numbers,
            hidden: self.hidden,
        }
    }
}

/// Flags of `tune` and `apply`.
#[derive(Debug, clap::Args)]
struct EditArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    backup: BackupArgs,
}

/// Flags of `apply`.
#[derive(Debug, clap::Args)]
struct ApplyArgs {
    #[command(flatten)]
    edit: EditArgs,
    /// Values from another file, such as values.params of a 'gputexel spsa' run [default: the
    /// .params file next to FILE.tune]
    #[arg(long, value_name = "FILE.params")]
    params: Option<PathBuf>,
}

/// Where old files go.
#[derive(Debug, clap::Args)]
struct BackupArgs {
    /// Keep backups in this folder, which several trees may share [default: .gputexel-patch in the
    /// folder of the sources]
    #[arg(long, value_name = "DIR", conflicts_with = "no_backup")]
    backup: Option<PathBuf>,
    /// Keep no backups
    #[arg(long)]
    no_backup: bool,
    /// Adopt the backups in a tree that was moved, copied, or brought from another computer
    #[arg(long, conflicts_with = "dry_run")]
    adopt: bool,
}

impl BackupArgs {
    fn backup(&self) -> Backup {
        match &self.backup {
            _ if self.no_backup => Backup::No,
            Some(folder) => Backup::In(folder.clone()),
            None => Backup::Beside,
        }
    }

    /// Takes over old files, if that is asked for.
    fn adopt(&self, sources: &Path, context: &Context) -> gputexel::Result<()> {
        if self.adopt { adopt(sources, self.backup.as_deref(), context) } else { Ok(()) }
    }

    /// How to have the old files of `sources` back.
    fn how_to_undo(&self, written: &Written, sources: &Path) -> String {
        match &written.backup {
            Some(folder) if self.backup.is_some() => {
                format!("backups in {}; 'gputexel patch undo {0}' restores them\n", folder.display())
            }
            Some(_) => format!("'gputexel patch undo {}' restores the old files\n", sources.display()),
            None => String::new(),
        }
    }
}

/// Flags of `undo`.
#[derive(Debug, clap::Args)]
struct UndoArgs {
    /// The folder with the sources, or that of one change in a backup folder
    #[arg(value_name = "DIR")]
    place: PathBuf,
    /// The backup folder that was passed to tune or apply
    #[arg(long, value_name = "DIR")]
    backup: Option<PathBuf>,
    /// Also restore files that were changed since; the changed files are kept in the backup folder
    #[arg(long)]
    force: bool,
    /// Adopt the backups in a tree that was moved, copied, or brought from another computer
    #[arg(long)]
    adopt: bool,
}

/// Runs a subcommand of `patch`.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &PatchArgs, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        PatchCommand::Tune(args) => edit(args, None, "tune", context),
        PatchCommand::Apply(args) => edit(&args.edit, args.params.as_deref(), "apply", context),
        PatchCommand::Check(args) => check::run(args, context),
        PatchCommand::Undo(args) => undo(args, context),
        PatchCommand::Init(args) => init::run(args, context),
        PatchCommand::Tables(args) => tables::run(args, context),
    }
}

fn edit(args: &EditArgs, params: Option<&Path>, command: &str, context: &Context) -> anyhow::Result<()> {
    let EditArgs { input, .. } = args;
    args.backup.adopt(&input.sources, context)?;
    // What is half written is no source to read.
    let recovered = if args.dry_run {
        check_whole(input)?;
        None
    } else {
        patch::recover(&input.sources)?
    };
    let plan = match (command, params) {
        ("tune", _) => patch::plan_tune(&input.tune, &input.sources, &input.options())?,
        (_, None) => patch::plan_apply(&input.tune, &input.sources, &input.options())?,
        (_, Some(params)) => patch::plan_apply_from(params, &input.tune, &input.sources, &input.options())?,
    };
    warn(&plan.warnings, context);
    if args.dry_run {
        return dry_run(&plan, command, context);
    }
    let written = patch::write(&plan, &input.sources, command, &args.backup.backup())?;
    warn(&written.warnings, context);
    if context.json {
        let mut object = output::plan_json(&plan, command);
        let all: Vec<&String> = plan.warnings.iter().chain(&written.warnings).collect();
        object["warnings"] = json!(all);
        object["dry_run"] = json!(false);
        object["backup"] = json!(written.backup);
        object["recovered"] = json!(recovered);
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    let recovered = recovered.map(|said| format!("{said}\n")).unwrap_or_default();
    let text = output::plan_text(&plan);
    let end = match plan.changes.is_empty() {
        true => "nothing to write: all files are up to date\n".to_string(),
        false => args.backup.how_to_undo(&written, &input.sources),
    };
    Ok(say(&format!("{recovered}{text}{end}"))?)
}

/// Makes old files the tree's own; what is left alone is said.
fn adopt(sources: &Path, backup: Option<&Path>, context: &Context) -> gputexel::Result<()> {
    let left = patch::adopt(sources, backup)?;
    let said = |path: &PathBuf| format!("{}: outside the tree or hidden, left unchanged", path.display());
    if !context.quiet {
        left.iter().map(said).for_each(|warning| eprintln!("gputexel: warning: {warning}"));
    }
    Ok(())
}

/// Warns on standard error; with `--json`, warnings are in the object.
fn warn(warnings: &[String], context: &Context) {
    if !context.json && !context.quiet {
        warnings.iter().for_each(|warning| eprintln!("gputexel: warning: {warning}"));
    }
}

/// Refuses a tree that an interrupted command has left half written, where nothing is to be written.
fn check_whole(input: &InputArgs) -> gputexel::Result<()> {
    if patch::interrupted(&input.sources)? {
        let reason = "a 'gputexel patch' command was interrupted here; run 'gputexel patch undo' first";
        return Err(Error::input(&input.sources, reason));
    }
    Ok(())
}

fn dry_run(plan: &Plan, command: &str, context: &Context) -> anyhow::Result<()> {
    if context.json {
        let mut object = output::plan_json(plan, command);
        object["dry_run"] = json!(true);
        object["diff"] = json!(plan.diff());
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet { Ok(()) } else { Ok(say(&plan.diff())?) }
}

fn undo(args: &UndoArgs, context: &Context) -> anyhow::Result<()> {
    if args.adopt {
        adopt(&args.place, args.backup.as_deref(), context)?;
    }
    let undone = patch::undo(&args.place, args.backup.as_deref(), args.force)?;
    if context.json {
        return Ok(say(&format!("{}\n", serde_json::to_value(&undone)?))?);
    }
    if context.quiet {
        return Ok(());
    }
    let mut text = String::new();
    for file in &undone.files {
        let copy = undone.changed.iter().find(|(changed, _)| changed == file);
        let copy =
            copy.map(|(_, copy)| format!("; the changed file is kept as {}", nearby(copy, &args.place)));
        text += &format!("{}: restored{}\n", file.display(), copy.unwrap_or_default());
    }
    for file in &undone.removed {
        text += &format!("{}: removed, because it did not exist before\n", file.display());
    }
    for file in &undone.kept {
        text += &format!("{}: left unchanged, because it was modified since\n", file.display());
    }
    let how = if undone.interrupted { "was interrupted and has been undone" } else { "has been undone" };
    Ok(say(&format!("{text}patch {} {how}\n", undone.command))?)
}

/// A path below a folder as the user calls it; others are whole.
fn nearby(path: &Path, folder: &Path) -> String {
    let below = folder.canonicalize().ok().and_then(|root| Some(path.strip_prefix(root).ok()?.to_path_buf()));
    below.map_or_else(|| path.to_path_buf(), |below| folder.join(below)).display().to_string()
}
