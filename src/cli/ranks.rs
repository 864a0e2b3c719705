//! The program as one of several processes over MPI: rank 0 is the program, others compute for it.

#![allow(dead_code, reason = "`gputexel` alone has no ranks")]

use std::process::ExitCode;

use gputexel::evaluator::Backend;
use gputexel::{Error, Result};
use gputexel_ranks::{Link, Ranks, serve};

use super::backend::BackendArgs;
use super::{Command, examples, parse, team};

/// Runs the program on rank 0, and ends the others.
pub fn main(ranks: Ranks, local_rank: usize) -> ExitCode {
    let ranks = team::lead(ranks, local_rank);
    let code = super::main();
    if parse(&examples::command(), std::env::args_os())
        .is_ok_and(|cli| of_command(&cli.command).is_some_and(|backend| backend.stats))
    {
        note!("ranks: {}", ranks.traffic());
    }
    match ranks.end() {
        Ok(()) => code,
        Err(error) => super::fail(error.into()),
    }
}

/// Serves rank 0 until it ends.
///
/// # Errors
/// Those of the connection.
pub fn serve_root(link: &mut dyn Link, local_rank: usize) -> Result<()> {
    team::follow(local_rank);
    // Rank 0 decides when all end; it gets the signal, too.
    let _ = ctrlc::set_handler(|| {});
    serve(link, open())
}

/// What the command line has this rank compute on.
fn open() -> Result<Backend> {
    // Rank 0 says what is wrong with the command line; it asks for nothing then.
    let wrong = || Error::Usage("the command line is wrong".to_string());
    let cli = parse(&examples::command(), std::env::args_os()).map_err(|_| wrong())?;
    if let Some(memory) = cli.command.memory() {
        memory.begin()?;
    }
    of_command(&cli.command).ok_or_else(wrong)?.open()
}

fn of_command(command: &Command) -> Option<&BackendArgs> {
    match command {
        Command::Tune(args) => Some(&args.run.backend),
        Command::Sweep(args) => Some(&args.backend),
        Command::Pso(args) => Some(&args.run.backend),
        _ => None,
    }
}

/// Why ranks cannot run a command; none where there are none.
pub(super) fn refusal(command: &Command) -> Option<Error> {
    let reason = "gputexel-mpi runs tune, sweep and pso; run other commands with gputexel";
    (team::is_led() && of_command(command).is_none()).then(|| Error::Usage(reason.to_string()))
}
