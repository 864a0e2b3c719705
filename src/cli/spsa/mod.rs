//! `gputexel spsa`: tuning by games.

mod cells;
mod convert;
mod init;
mod output;
mod plan;
mod run;
mod simulate;

use super::Context;

/// Tuning by games: simulate methods, plan runs, play them.
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
    /// Tune an engine by letting it play
    Run(Box<run::RunArgs>),
    /// Show where a run stands, also while it is under way
    Report(run::ReportArgs),
    /// Let what a run arrived at play against what it started from
    Verify(run::VerifyArgs),
    /// Write a configuration for 'spsa run', from what an engine offers
    Init(Box<init::InitArgs>),
    /// Turn a list of parameters into another program's
    Convert(Box<convert::ConvertArgs>),
}

/// Runs a subcommand of `spsa`.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &SpsaArgs, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        SpsaCommand::Simulate(args) => simulate::run(args, context),
        SpsaCommand::Plan(args) => plan::run(args, context),
        SpsaCommand::Run(args) => run::run(args, context),
        SpsaCommand::Report(args) => run::report(args, context),
        SpsaCommand::Verify(args) => run::verify(args, context),
        SpsaCommand::Init(args) => init::run(args, context),
        SpsaCommand::Convert(args) => convert::run(args, context),
    }
}
