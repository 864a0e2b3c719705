//! `gputexel trace`: what an engine needs to trace itself.

use gputexel_trace::sources;

use super::context::Context;
use super::output::print_file;
use super::subcommand::Subcommand;

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Code {
    Cpp,
    Rust,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An evaluation whose numbers have the types of this file records itself: 'gputexel tune ENGINE-TRACE POSITIONS' tunes it, \
and 'gputexel patch tables RUN SOURCE' writes the values where they stand. docs/selftrace.md shows how.\n\n\
Examples:\n  \
gputexel trace --header cpp > gputexel.hpp\n  \
gputexel trace --new cpp > trace.cpp")]
pub struct TraceArgs {
    /// Print the number types: a header for C++17 and later, a module for Rust
    #[arg(long, value_name = "LANGUAGE", required_unless_present = "new")]
    header: Option<Code>,
    /// Print a main function that traces positions
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "header")]
    new: Option<Code>,
}

impl Subcommand for TraceArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let text = match (self.header, self.new) {
            (Some(Code::Cpp), _) => sources::HEADER.to_string(),
            (Some(Code::Rust), _) => sources::module(),
            (None, Some(Code::Rust)) => sources::NEW_RUST.to_string(),
            (None, _) => sources::NEW_CPP.to_string(),
        };
        Ok(print_file(&text, context)?)
    }
}
