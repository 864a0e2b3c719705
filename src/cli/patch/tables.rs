//! `gputexel patch tables`: tuned tables into marked arrays.

use std::path::PathBuf;

use gputexel::patch::tables::{self, Filled, TableValues};
use gputexel::patch::{self, Written};
use serde_json::json;

use super::{BackupArgs, Context, say};

/// Flags of `tables`.
#[derive(Debug, clap::Args)]
pub struct TablesArgs {
    /// Tuned values (params.json, or the folder of a run)
    #[arg(value_name = "PARAMS")]
    params: PathBuf,
    /// Sources with markers: comments 'gputexel: NAME [options]' above arrays, or on their lines
    #[arg(value_name = "SOURCE", required_unless_present = "list")]
    sources: Vec<PathBuf>,
    /// Serve only the marker of this name; can be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    marker: Vec<String>,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    backup: BackupArgs,
    /// List the names that markers may have, with shapes, and do nothing else
    #[arg(long, conflicts_with_all = ["sources", "marker", "dry_run"])]
    list: bool,
}

/// Runs `tables`.
///
/// # Errors
/// Files that cannot be read or written, markers and arrays that do not fit; nothing is written then.
pub fn run(args: &TablesArgs, context: &Context) -> anyhow::Result<()> {
    let values = TableValues::read(&args.params)?;
    if args.list {
        return list(&values, context);
    }
    let plan = tables::plan(&values, &args.sources, &args.marker)?;
    let written = match args.dry_run {
        true => Written::default(),
        false => patch::write(&plan.plan, &plan.folder, "tables", &args.backup.backup())?,
    };
    if context.json {
        let files: Vec<_> = plan.plan.changes.iter().map(|change| &change.shown).collect();
        let mut object = json!({
            "command": "tables", "markers": plan.filled, "files": files, "dry_run": args.dry_run,
            "backup": written.backup,
        });
        if args.dry_run {
            object["diff"] = json!(plan.plan.diff());
        }
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    if args.dry_run {
        return Ok(say(&plan.plan.diff())?);
    }
    let mut text: String = plan.filled.iter().map(line).collect();
    if plan.plan.changes.is_empty() {
        text += "nothing to write: all files are so already\n";
    }
    text += &args.backup.how_to_undo(&written, &plan.folder);
    Ok(say(&text)?)
}

/// `psqt.cpp:12: knight.mg: 64 numbers, 40 changed`.
fn line(filled: &Filled) -> String {
    let Filled { file, line, marker, numbers, changed, .. } = filled;
    let plural = if *numbers == 1 { "" } else { "s" };
    format!("{}:{line}: {marker}: {numbers} number{plural}, {changed} changed\n", file.display())
}

fn list(values: &TableValues, context: &Context) -> anyhow::Result<()> {
    let names = values.names();
    if context.json {
        return Ok(say(&format!("{}\n", json!({ "command": "tables", "names": names })))?);
    }
    let width = names.iter().map(|name| name.name.len()).max().unwrap_or(0);
    let line = |name: &tables::TableName| {
        let shape: String = name.shape.iter().map(|length| format!("[{length}]")).collect();
        format!("{:<width$}  {:>3}  {shape}", name.name, name.numbers).trim_end().to_string() + "\n"
    };
    Ok(say(&names.iter().map(line).collect::<String>())?)
}
