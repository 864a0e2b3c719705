//! Settings that all subcommands share.

use std::io::IsTerminal;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressStyle};

#[derive(Debug)]
pub struct Context {
    /// Print one JSON object on standard output instead of text.
    pub json: bool,
    /// Print nothing but errors.
    pub quiet: bool,
    pub command_line: String,
    /// Set by Ctrl-C.
    pub cancel: &'static AtomicBool,
    /// The whole program.
    pub program: Program,
}

/// Access to the whole program, for subcommands that describe it or run others.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Definition of all flags and subcommands.
    pub command: fn() -> clap::Command,
    /// Runs a command line, given without the name of the program.
    pub run: fn(&[String], &Context) -> anyhow::Result<()>,
}

impl Context {
    /// True if progress is shown by plain lines, because there is no terminal to draw on.
    pub fn prints_lines(&self) -> bool {
        !self.quiet && !self.json && !std::io::stderr().is_terminal()
    }

    pub fn shows_progress(&self) -> bool {
        !self.quiet && !self.json && std::io::stderr().is_terminal()
    }

    /// Starts a progress bar in a style of `indicatif`; it is hidden where bars make no sense.
    pub fn bar(&self, length: u64, template: &str) -> ProgressBar {
        let bar = if self.shows_progress() { ProgressBar::new(length) } else { ProgressBar::hidden() };
        bar.with_style(ProgressStyle::with_template(template).expect("the template is well-formed"))
    }
}
