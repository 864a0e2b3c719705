//! The command-line program.

mod cli;

use std::sync::atomic::AtomicBool;

use clap::{Parser, Subcommand};

static CANCEL: AtomicBool = AtomicBool::new(false);

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// Print results as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List GPU adapters, and what the backend choices would take.
    Devices(cli::devices::DevicesArgs),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let command_line = std::env::args().collect::<Vec<_>>().join(" ");
    let context = cli::Context { json: arguments.json, quiet: false, command_line, cancel: &CANCEL };
    match &arguments.command {
        Command::Devices(args) => cli::devices::run(args, &context),
    }
}
