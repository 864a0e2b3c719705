//! `gputexel patch tables`: tuned tables into marked arrays.

use std::path::PathBuf;

use gputexel::patch::{self, Written};
use gputexel::tables::sources::{self, Compared, Filled, KnownValues, TableValues, TablesOptions};
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
    /// Fill only the marker of this name; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    marker: Vec<String>,
    /// Values that the sources currently contain, if these are neither the run's starting values nor its result
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
    let values = TableValues::read(&args.params)?;
    if args.list {
        return list(&values, context);
    }
    let known = KnownValues::find(&values, &args.params, args.start.as_deref())?;
    let options = TablesOptions { markers: args.marker.clone(), trust: args.trust_marker };
    let plan = sources::plan(&values, &known, &args.sources, &options)?;
    let written = match args.dry_run {
        true => Written::default(),
        false => {
            args.backup.adopt(&plan.folder, context)?;
            patch::write(&plan.plan, &plan.folder, "tables", &args.backup.backup())?
        }
    };
    super::warn(&written.warnings, context);
    if context.json {
        let files: Vec<_> = plan.plan.changes.iter().map(|change| &change.shown).collect();
        let mut object = json!({
            "command": "tables", "markers": plan.filled, "files": files, "dry_run": args.dry_run,
            "backup": written.backup, "warnings": written.warnings,
        });
        if args.dry_run {
            object["diff"] = json!(plan.plan.diff());
        }
        return Ok(say(&format!("{object}\n"))?);
    }
    if context.quiet {
        return Ok(());
    }
    let notes = notes(&plan.filled);
    if args.dry_run {
        notes.iter().for_each(|note| eprintln!("gputexel: {note}"));
        return Ok(say(&plan.plan.diff())?);
    }
    let mut text: String = plan.filled.iter().map(line).collect();
    text.extend(notes.into_iter().map(|note| note + "\n"));
    if plan.plan.changes.is_empty() {
        text += "nothing to write: all files are up to date\n";
    }
    text += &args.backup.how_to_undo(&written, &plan.folder);
    Ok(say(&text)?)
}

/// `psqt.cpp:12: knight.mg: 64 numbers, 40 changed; a8 first`.
fn line(filled: &Filled) -> String {
    let Filled { file, line, marker, numbers, changed, order, also, .. } = filled;
    let plural = if *numbers == 1 { "" } else { "s" };
    let order = order.as_ref().map(|order| format!("; {order}")).unwrap_or_default();
    let also = match also[..] {
        [] => String::new(),
        _ => format!(" ({} would also fit the old numbers)", also.join(", ")),
    };
    format!("{}:{line}: {marker}: {numbers} number{plural}, {changed} changed{order}{also}\n", file.display())
}

/// What could not be compared, and why.
fn notes(filled: &[Filled]) -> Vec<String> {
    let mut notes = Vec::new();
    for Filled { file, line, marker, compared, note, .. } in filled {
        let Some(note) = note else { continue };
        let trusted = if *compared == Compared::Trusted { "filled as marked, although " } else { "" };
        notes.push(format!("{}:{line}: {marker}: {trusted}{note}", file.display()));
    }
    match filled.iter().filter(|filled| filled.compared == Compared::NotCompared).count() {
        0 => {}
        1 => notes.push("1 single number was not checked: the starting values are unknown".into()),
        count => {
            notes.push(format!("{count} single numbers were not checked: the starting values are unknown"))
        }
    }
    notes
}

fn list(values: &TableValues, context: &Context) -> anyhow::Result<()> {
    let names = values.names();
    if context.json {
        return Ok(say(&format!("{}\n", json!({ "command": "tables", "names": names })))?);
    }
    let width = names.iter().map(|name| name.name.len()).max().unwrap_or(0);
    let line = |name: &sources::TableName| {
        let shape: String = name.shape.iter().map(|length| format!("[{length}]")).collect();
        format!("{:<width$}  {:>3}  {shape}", name.name, name.numbers).trim_end().to_string() + "\n"
    };
    Ok(say(&names.iter().map(line).collect::<String>())?)
}
