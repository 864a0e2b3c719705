//! The command line: parse, run, print the error, exit.

mod cli;
mod process;

use std::process::ExitCode;

fn main() -> ExitCode {
    process::prepare();
    cli::main()
}
