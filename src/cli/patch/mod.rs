//! `gputexel patch`: values into engine sources.

mod tables;

use super::{Context, say};

/// Patching engine sources.
#[derive(Debug, clap::Args)]
pub struct PatchArgs {
    #[command(subcommand)]
    command: PatchCommand,
}

#[derive(Debug, clap::Subcommand)]
enum PatchCommand {
    /// Put tuned tables into marked arrays of C, C++, C# and Rust sources
    Tables(tables::TablesArgs),
}

/// Runs a subcommand of `patch`.
///
/// # Errors
/// Those of the subcommand.
pub fn run(args: &PatchArgs, context: &Context) -> anyhow::Result<()> {
    match &args.command {
        PatchCommand::Tables(args) => tables::run(args, context),
    }
}
