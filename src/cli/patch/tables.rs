//! `gputexel patch tables`: writes tuned tables into marked arrays.

use std::path::PathBuf;

use gputexel::Error;
use gputexel::tables::sources::{KnownValues, TableValues, plan};
use serde_json::json;

use super::super::context::Context;
use super::{Outcome, finish};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:\n  \
gputexel patch tables runs/first/params.json src/psqt.cpp --dry-run")]
pub struct TablesArgs {
    /// Tuned values (params.json, or the folder of a run)
    #[arg(value_name = "PARAMS")]
    params: PathBuf,
    /// Sources with markers: comments 'gputexel: NAME [options]' above arrays, or on their lines
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
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
}

pub fn run(args: &TablesArgs, context: &Context) -> anyhow::Result<()> {
    let values = TableValues::read(&args.params).map_err(|error| {
        let run = args.sources.iter().find(|source| source.is_dir());
        run.map_or(error, |run| Error::input(run, "a run is named first, and then the source files"))
    })?;
    let known = KnownValues::find(&values, &args.params, args.start.as_deref())?;
    let plan = plan(&values, &known, &args.sources, args.trust_marker)?;
    let files: Vec<_> = plan.plan.changes.iter().map(|change| &change.shown).collect();
    let object = json!({ "markers": plan.filled, "unmarked": plan.unmarked, "files": files });
    let mut text: String = plan.filled.iter().map(|filled| format!("{filled}\n")).collect();
    if args.dry_run && !plan.plan.changes.is_empty() && !context.quiet && !context.json {
        plan.notes().iter().for_each(|note| note!("gputexel: {note}"));
    }
    text.extend(plan.notes().into_iter().map(|note| note + "\n"));
    let (plan, folder) = (&plan.plan, &plan.folder);
    finish(Outcome { command: "tables", plan, folder, object, text }, args.dry_run, context)
}
