//! `gputexel patch check`: shows where the blocks match.

use gputexel::io::counted;
use gputexel::{Error, patch};

use super::super::context::Context;
use super::super::hints;
use super::super::output::{print_text, write_stdout};
use super::InputArgs;

/// Flags of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel patch check engine.tune src")]
pub struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
}

/// # Errors
/// Input that cannot be read; unusable blocks, after all are reported.
pub fn run(args: &CheckArgs, context: &Context) -> anyhow::Result<()> {
    let InputArgs { tune, sources, .. } = &args.input;
    let mut report = patch::check(tune, sources, &args.input.options())?;
    for block in &mut report.blocks {
        if let (Some(advice), Some(problem)) = (&block.advice, block.problems.last_mut()) {
            problem.push_str(&hints::of_advice(advice));
        }
    }
    if context.json {
        write_stdout(&format!("{}\n", serde_json::to_value(&report)?))?;
    } else if !context.quiet {
        print_text(&report.to_string())?;
    }
    match report.failures() {
        0 => Ok(()),
        count => Err(Error::input(tune, format!("{} cannot be used", counted(count as u64, "part"))).into()),
    }
}
