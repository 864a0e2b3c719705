//! `gputexel trace`: what an engine needs to trace itself.

use super::context::Context;
use super::output::write_stdout;
use super::subcommand::Subcommand;

/// A file of the crate for Rust and the module that it is.
macro_rules! module {
    ($name:literal) => {
        ($name, include_str!(concat!("../../crates/trace/src/", $name, ".rs")))
    };
}
const MODULES: [(&str, &str); 5] = [
    module!("play"),
    module!("record"),
    module!("record/rows"),
    module!("record/schema"),
    module!("record/trace"),
];

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Code {
    Cpp,
    Rust,
}

/// Flags of `trace`.
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
    fn run(&self, _: &Context) -> anyhow::Result<()> {
        let text = match (self.header, self.new) {
            (Some(Code::Cpp), _) => include_str!("../../crates/trace/gputexel.hpp").to_string(),
            (Some(Code::Rust), _) => one_file(include_str!("../../crates/trace/src/lib.rs"), ""),
            (None, Some(Code::Rust)) => include_str!("../../crates/trace/new.rs").to_string(),
            (None, _) => include_str!("../../crates/trace/new.cpp").to_string(),
        };
        Ok(write_stdout(&text)?)
    }
}

/// Returns a file with the modules that it declares in it, so that it needs no others.
fn one_file(text: &str, folder: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let declared = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';'));
        let path = declared.map(|name| format!("{folder}{name}"));
        match MODULES.iter().find(|(name, _)| Some(*name) == path.as_deref()) {
            Some((name, text)) => {
                let inside = one_file(text, &format!("{name}/"));
                out += &format!("mod {} {{\n{inside}}}\n", declared.unwrap_or_default());
            }
            None => out += &format!("{line}\n"),
        }
    }
    out
}
