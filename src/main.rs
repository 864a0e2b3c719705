//! The command line: parse, run, print the error, exit.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
