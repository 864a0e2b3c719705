//! `gputexel spsa`: tuning by games.

mod backend;
mod cells;
mod output;
mod plan;
mod simulate;

use super::Context;

/// Tuning by games: simulate methods, plan runs.
#[derive(Debug, clap::Args)]
pub struct SpsaArgs {
    #[command(subcommand)]
    command: SpsaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SpsaCommand {
    /// Simulate what methods and settings gain on an engine whose strength is known
    Simulate(Box<simulate::SimulateArgs>),
    /// Settings for a number of games, and what to expect of them
    Plan(Box<plan::PlanArgs>),
}

/// Runs a subcommand of `spsa`.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &SpsaArgs, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        SpsaCommand::Simulate(args) => simulate::run(args, context),
        SpsaCommand::Plan(args) => plan::run(args, context),
    }
}
