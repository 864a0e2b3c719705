//! `gputexel-mpi`: the program on many machines. Under `mpirun`, rank 0 is `gputexel`, and the others compute sums
//! over their sections of the positions.

#[path = "../cli/mod.rs"]
mod cli;
mod link;
#[path = "../process.rs"]
mod process;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use gputexel_ranks::Ranks;
use mpi::Threading;
use mpi::topology::Communicator;

use link::MpiLink;

fn main() -> ExitCode {
    process::prepare();
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Serialized) else {
        eprintln!("gputexel-mpi: MPI cannot be started");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if threading < Threading::Serialized {
        eprintln!("gputexel-mpi: this MPI cannot be used by several threads in turn");
        world.abort(1);
    }
    let local_rank = world.split_shared(world.rank()).rank() as usize;
    let rank = world.rank();
    let link = MpiLink::new(universe.world());
    let run = AssertUnwindSafe(|| match rank {
        0 => cli::ranks::main(Ranks::new(Box::new(link)), local_rank),
        _ => {
            let mut link = link;
            match cli::ranks::serve_root(&mut link, local_rank) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("gputexel-mpi: rank {rank}: {error}");
                    ExitCode::FAILURE
                }
            }
        }
    });
    match catch_unwind(run) {
        Ok(code) if code == ExitCode::SUCCESS || rank == 0 => code,
        // Otherwise the others would wait for this one.
        _ => world.abort(1),
    }
}
