//! `gputexel patch tables`: writes tuned tables into marked arrays.

use std::path::PathBuf;

use gputexel::tables::sources::{FillRequest, TableName, TableValues, TablesOptions, fill};
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::{BackupArgs, warn};

/// Flags of `tables`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel patch tables runs/first/params.json src/psqt.cpp --dry-run\n  \
gputexel patch tables params.json --list")]
pub struct TablesArgs {
    /// Tuned values (params.json, or the folder of a run)
    #[arg(value_name = "PARAMS")]
    params: PathBuf,
    /// Sources with markers: comments 'gputexel: NAME [options]' above arrays, or on their lines
    #[arg(value_name = "SOURCE", required_unless_present = "list")]
    sources: Vec<PathBuf>,
    /// Fill only the marker of this name; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    marker: Vec<String>,
    /// Values that the sources currently contain, if they are neither the run's starting values nor its result
    #[arg(long, value_name = "PARAMS|RUN")]
    start: Option<PathBuf>,
    /// Fill arrays as their markers say even if their current numbers are unknown, or known to be in a
    /// different order
    #[arg(long)]
    trust_marker: bool,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    backup: BackupArgs,
    /// List the names that markers can use, with shapes, and exit
    #[arg(long, conflicts_with_all = ["sources", "marker", "dry_run", "start", "trust_marker"])]
    list: bool,
}

/// Runs `tables`.
///
/// # Errors
/// Files that cannot be read or written, markers and arrays that do not fit; nothing is written then.
pub fn run(args: &TablesArgs, context: &Context) -> anyhow::Result<()> {
    if args.list {
        return list(&TableValues::read(&args.params)?, context);
    }
    let request = FillRequest {
        params: args.params.clone(),
        sources: args.sources.clone(),
        start: args.start.clone(),
        options: TablesOptions { markers: args.marker.clone(), trust: args.trust_marker },
        backup: args.backup.backup(),
        dry_run: args.dry_run,
    };
    let (plan, written) = fill(&request, &mut |warning| warn(warning, context))?;
    let written = written.unwrap_or_default();
    if context.json {
        let files: Vec<_> = plan.plan.changes.iter().map(|change| &change.shown).collect();
        let mut object = json!({
            "command": "tables", "markers": plan.filled, "unmarked": plan.unmarked, "files": files, "dry_run": args.dry_run,
            "backup": written.backup, "warnings": written.warnings,
        });
        if args.dry_run {
            object["diff"] = json!(plan.plan.diff());
        }
        return Ok(write_stdout(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    if args.dry_run {
        plan.notes().iter().for_each(|note| note!("gputexel: {note}"));
        return Ok(write_stdout(&super::super::style::diff(&plan.plan.diff()))?);
    }
    let mut text: String = plan.filled.iter().map(|filled| format!("{filled}\n")).collect();
    text.extend(plan.notes().into_iter().map(|note| note + "\n"));
    if plan.plan.changes.is_empty() {
        text += "nothing to write: all files are up to date\n";
    }
    text += &args.backup.how_to_undo(&written, &plan.folder);
    Ok(print_text(&text)?)
}

fn list(values: &TableValues, context: &Context) -> anyhow::Result<()> {
    let names = values.names();
    if context.json {
        return Ok(write_stdout(&format!("{}\n", json!({ "command": "tables", "names": names })))?);
    }
    if context.quiet {
        return Ok(());
    }
    let width = names.iter().map(|name| name.name.len()).max().unwrap_or(0);
    let line = |name: &TableName| {
        let shape: String = name.shape.iter().map(|length| format!("[{length}]")).collect();
        format!("{:<width$}  {:>3}  {shape}", name.name, name.numbers).trim_end().to_string() + "\n"
    };
    Ok(write_stdout(&names.iter().map(line).collect::<String>())?)
}
