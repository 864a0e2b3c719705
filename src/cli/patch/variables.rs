//! `gputexel patch expose` and `restore`: marked numbers as variables read from a file, and constants again.

use std::path::PathBuf;

use gputexel::io::counted;
use gputexel::patch::variables::{ExposePlan, ExposedFile, VARIABLE, plan_expose, plan_restore};
use serde_json::json;

use super::super::context::Context;
use super::{Outcome, finish};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The program reads lines of NAME VALUE at its start, from the file that the environment variable GPUTEXEL_VALUES names. \
gputexel_values.params lists names, values and ranges.

Examples:\n  gputexel patch expose src/psqt.h src/evaluate.c")]
pub struct ExposeArgs {
    /// Sources in C: all with markers ('// gputexel: NAME'), and others that use the names that these declare
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch restore src/psqt.h src/evaluate.c --params runs/tuned")]
pub struct RestoreArgs {
    /// Sources that `expose` has changed
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Values to write: a .params file, a parameter file, or the folder of a run [default: those from before]
    #[arg(long, value_name = "FILE.params|PARAMS|RUN")]
    params: Option<PathBuf>,
    /// Print a unified diff and write nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

pub fn expose(args: &ExposeArgs, context: &Context) -> anyhow::Result<()> {
    let plan = plan_expose(&args.sources)?;
    let file =
        |own: &ExposedFile| format!("{}: {}\n", own.file.display(), counted(own.numbers as u64, "number"));
    let text = plan.files.iter().map(file).collect::<String>()
        + &format!(
            "{}: {}; the program reads values from the file that {VARIABLE} names\n",
            plan.params.display(),
            counted(plan.parameters as u64, "parameter")
        );
    end(&plan, "expose", text, args.dry_run, context)
}

pub fn restore(args: &RestoreArgs, context: &Context) -> anyhow::Result<()> {
    let plan = plan_restore(&args.sources, args.params.as_deref())?;
    let file = |own: &ExposedFile| {
        let numbers = counted(own.numbers as u64, "number");
        format!("{}: {numbers}, {} changed\n", own.file.display(), own.changed)
    };
    end(&plan, "restore", plan.files.iter().map(file).collect(), args.dry_run, context)
}

fn end(
    plan: &ExposePlan,
    command: &str,
    text: String,
    dry_run: bool,
    context: &Context,
) -> anyhow::Result<()> {
    let object = json!({ "files": plan.files, "parameters": plan.parameters, "params": plan.params });
    finish(Outcome { command, plan: &plan.plan, folder: &plan.folder, object, text }, dry_run, context)
}
