//! The program as one of several processes over MPI: rank 0 runs the command, the others compute for it.

#![allow(dead_code, reason = "`gputexel` alone has no ranks")]

use std::process::ExitCode;

use clap::Parser;
use gputexel::evaluator::Backend;
use gputexel::{Error, Result};
use gputexel_ranks::{Link, Ranks, serve};

use super::{Cli, team};

/// Runs the program on rank 0, then ends the others.
pub fn main(ranks: Ranks, local_rank: usize) -> ExitCode {
    let ranks = team::lead(ranks, local_rank);
    let code = super::main();
    if Cli::try_parse().is_ok_and(|cli| cli.command.as_subcommand().backend().is_some_and(|it| it.stats)) {
        note!("ranks: {}", ranks.traffic());
    }
    match ranks.end() {
        Ok(()) => code,
        Err(error) => super::output::fail(error.into()),
    }
}

/// Serves rank 0 until it ends.
pub fn serve_root(link: &mut dyn Link, local_rank: usize) -> Result<()> {
    team::follow(local_rank);
    // Rank 0 decides when all end; it receives the signal as well.
    let _ = ctrlc::set_handler(|| {});
    serve(link, open())
}

fn open() -> Result<Backend> {
    // Rank 0 reports errors in the command line; it then sends no requests.
    let wrong = || Error::Usage("the command line is wrong".to_string());
    let cli = Cli::try_parse().map_err(|_| wrong())?;
    let command = cli.command.as_subcommand();
    command.backend().ok_or_else(wrong)?.open()
}
