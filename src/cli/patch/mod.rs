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
    /// Put names in the place of the marked numbers, declare them, and write the .params file
    Tune(EditArgs),
    /// Put the values of the .params file into the sources
    Apply(ApplyArgs),
    /// Say where every block matches, and what is closest where one does not
    Check(check::CheckArgs),
    /// Put the sources back as they were before the last tune or apply
    Undo(UndoArgs),
    /// Write a first block from a line of a source, its numbers marked
    Init(init::InitArgs),
    /// Put tuned tables into marked arrays of C, C++, C#, Rust, Go and Python sources
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
    /// The blocks; parameters are in the .params file beside it
    #[arg(value_name = "FILE.tune")]
    tune: PathBuf,
    /// The folder with the sources
    #[arg(value_name = "SOURCE_DIR")]
    sources: PathBuf,
    /// Do all as tune.py does it, byte for byte
    #[arg(long, value_name = "PROGRAM")]
    compat: Option<Compat>,
    /// Marked numbers must be those of the source
    #[arg(long)]
    strict_numbers: bool,
    /// Sources may be hidden, or in hidden folders: a name on the way begins with a dot
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
    /// Values from another file, such as values.params of a run of 'gputexel spsa' [default: the
    /// .params file beside FILE.tune]
    #[arg(long, value_name = "FILE.params")]
    params: Option<PathBuf>,
}

/// Where old files go.
#[derive(Debug, clap::Args)]
struct BackupArgs {
    /// Keep the old files in this folder, which may serve several trees [default: .gputexel-patch in the
    /// folder of the sources]
    #[arg(long, value_name = "DIR", conflicts_with = "no_backup")]
    backup: Option<PathBuf>,
    /// Keep no old files
    #[arg(long)]
    no_backup: bool,
    /// Take over the old files in a tree that was moved or copied, or is of another computer
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
                format!("old files in {}; 'gputexel patch undo {0}' puts them back\n", folder.display())
            }
            Some(_) => format!("'gputexel patch undo {}' puts the old files back\n", sources.display()),
            None => String::new(),
        }
    }
}

/// Flags of `undo`.
#[derive(Debug, clap::Args)]
struct UndoArgs {
    /// The folder with the sources, or that of one replacement in a backup folder
    #[arg(value_name = "DIR")]
    place: PathBuf,
    /// The backup folder that tune or apply was given
    #[arg(long, value_name = "DIR")]
    backup: Option<PathBuf>,
    /// Put files back that were changed since, too; what they were goes to the backup folder
    #[arg(long)]
    force: bool,
    /// Take over the old files in a tree that was moved or copied, or is of another computer
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
        true => "nothing to write: all files are so already\n".to_string(),
        false => args.backup.how_to_undo(&written, &input.sources),
    };
    Ok(say(&format!("{recovered}{text}{end}"))?)
}

/// Makes old files the tree's own; what is left alone is said.
fn adopt(sources: &Path, backup: Option<&Path>, context: &Context) -> gputexel::Result<()> {
    let left = patch::adopt(sources, backup)?;
    let said = |path: &PathBuf| format!("{}: outside of the tree or hidden, and left alone", path.display());
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
        let reason = "a 'gputexel patch' was interrupted here; 'gputexel patch undo' first";
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
        let copy = copy.map(|(_, copy)| format!("; what it was is now {}", nearby(copy, &args.place)));
        text += &format!("{}: as before{}\n", file.display(), copy.unwrap_or_default());
    }
    for file in &undone.removed {
        text += &format!("{}: removed, for it was not there before\n", file.display());
    }
    for file in &undone.kept {
        text += &format!("{}: left alone, for it was changed since\n", file.display());
    }
    let how = if undone.interrupted { "was interrupted, and is undone" } else { "is undone" };
    Ok(say(&format!("{text}patch {} {how}\n", undone.command))?)
}

/// A path below a folder as the user calls it; others are whole.
fn nearby(path: &Path, folder: &Path) -> String {
    let below = folder.canonicalize().ok().and_then(|root| Some(path.strip_prefix(root).ok()?.to_path_buf()));
    below.map_or_else(|| path.to_path_buf(), |below| folder.join(below)).display().to_string()
}
