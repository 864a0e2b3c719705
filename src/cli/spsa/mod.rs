//! `gputexel spsa`: tuning by games.

mod convert;
mod init;
mod plan;
pub mod run;
mod simulate;

use super::context::Context;
use super::subcommand::Subcommand;

/// Tuning by games: simulate methods, plan runs, play them.
#[derive(Debug, clap::Args)]
pub struct SpsaArgs {
    #[command(subcommand)]
    command: SpsaCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SpsaCommand {
    /// Simulate how much methods gain on an engine of known strength
    Simulate(Box<simulate::SimulateArgs>),
    /// Plan settings for a number of games, and show the expected gain
    Plan(Box<plan::PlanArgs>),
    /// Tune an engine by playing games
    Run(Box<run::RunArgs>),
    /// Show the state of a run, even while it is in progress
    Report(run::ReportArgs),
    /// Play a match between the result of a run and its starting values
    Verify(run::VerifyArgs),
    /// Write a configuration for 'spsa run' from an engine's options
    Init(Box<init::InitArgs>),
    /// Convert a parameter list to the format of another program
    Convert(Box<convert::ConvertArgs>),
}

impl Subcommand for SpsaArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        match &self.command {
            SpsaCommand::Simulate(args) => simulate::run(args, context),
            SpsaCommand::Plan(args) => plan::run(args, context),
            SpsaCommand::Run(args) => run::run(args, context),
            SpsaCommand::Report(args) => run::report(args, context),
            SpsaCommand::Verify(args) => run::verify(args, context),
            SpsaCommand::Init(args) => init::run(args, context),
            SpsaCommand::Convert(args) => convert::run(args, context),
        }
    }
}
