//! The command line: the list of subcommands, and the main function. A subcommand is one file or folder that
//! implements [`Subcommand`](subcommand::Subcommand), and one line in the list below.

#[macro_use]
mod output;

mod backend;
mod basis;
mod bench;
mod check;
mod compare;
mod completions;
mod conclusion;
mod context;
mod convert;
mod devices;
mod eval;
mod export;
mod extract;
mod features;
mod games;
mod hints;
mod import;
mod improve;
mod info;
mod learn;
mod lines;
mod matches;
mod patch;
mod probe;
mod pso;
#[cfg(feature = "mpi")]
pub mod ranks;
mod reading;
mod reading_progress;
mod report;
mod rescore;
mod runs;
mod scale;
mod selection;
mod selfplay;
mod serve;
mod settings;
mod spsa;
mod steps;
mod style;
mod subcommand;
mod sweep;
mod table;
mod target;
mod team;
#[cfg(test)]
mod tests;
mod trace;
mod trace_command;
mod tune;
mod uci;
mod verify;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory, Parser};

use context::{Context, Program};
use output::fail;
use subcommand::Subcommand;

#[derive(Debug, Parser)]
#[command(name = "gputexel", version, about)]
struct Cli {
    /// Print one JSON object on standard output instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Print only errors
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

/// Defines the enum of all subcommands from their names and flags.
macro_rules! subcommands {
    ($($(#[$attribute:meta])* $name:ident($args:ty),)*) => {
        #[derive(Debug, clap::Subcommand)]
        enum Command {
            $($(#[$attribute])* $name(Box<$args>),)*
        }

        impl Command {
            fn as_subcommand(&self) -> &dyn Subcommand {
                match self {
                    $(Self::$name(args) => &**args,)*
                }
            }
        }
    };
}

subcommands! {
    /// Tune parameters from a dataset, PGN or labeled positions
    Tune(tune::TuneArgs),
    /// Compare settings: the loss for many K, or many runs with cross-validation
    Sweep(sweep::SweepArgs),
    /// Tune within bounds with MadChess's particle swarms
    Pso(pso::PsoArgs),
    /// Tune by playing games: plan, simulate and run SPSA
    Spsa(spsa::SpsaArgs),
    /// Convert games or labeled positions to a dataset
    Extract(extract::ExtractArgs),
    /// Convert games, positions and training data between formats
    Convert(convert::ConvertArgs),
    /// Print what makes an engine's evaluation trace itself: a C++ header, a Rust module
    Trace(trace::TraceArgs),
    /// Convert traces of an engine's own features to a dataset
    Import(import::ImportArgs),
    /// Ask an engine how its parameters change its evaluation: a dataset without a trace
    Probe(probe::ProbeArgs),
    /// Check a dataset or a trace: evaluations, results, features, duplicates, gradient
    Check(check::CheckArgs),
    /// Verify with a trace that an engine uses the tuned values
    Verify(verify::VerifyArgs),
    /// Show the contents of a dataset
    Info(info::InfoArgs),
    /// Print the loss of a parameter file on a dataset
    Eval(eval::EvalArgs),
    /// Compare parameter files or runs: losses, boards of differences, largest changes
    Compare(compare::CompareArgs),
    /// Rewrite the HTML report of a run
    Report(report::ReportArgs),
    /// Show the reports of all runs in a folder in the browser, and follow those under way
    Serve(serve::ServeArgs),
    /// Write tuned values as source code (C, C++, Rust, C#, Go, Python), JSON, CSV or UCI options
    Export(export::ExportArgs),
    /// Read an export back: source code, CSV or UCI options to a parameter file
    ImportParams(export::ImportParamsArgs),
    /// Play a match between two engines or parameter files: Elo, errors, SPRT
    Match(matches::MatchArgs),
    /// Play games of an engine against itself as tuning data
    #[command(name = "selfplay")]
    SelfPlay(selfplay::SelfPlayArgs),
    /// Learn values from nothing: rounds of self-play, labels, tuning and matches
    Learn(learn::LearnArgs),
    /// Let games decide how far to follow a run: SPSA over its steps, then a sequential test
    Improve(improve::ImproveArgs),
    /// Rescore positions with an engine
    Rescore(rescore::RescoreArgs),
    /// List the features of a model: their names and definitions
    Features(features::FeaturesArgs),
    /// Patch engine sources: turn numbers into options, insert tuned values and tables
    Patch(patch::PatchArgs),
    /// Print a basis: the coordinates to tune, and the parameters that they change
    Basis(basis::BasisCommand),
    /// Play chess with tuned parameters in any UCI program
    Uci(uci::UciArgs),
    /// List GPU adapters and which one each backend choice would use, or check their results
    Devices(devices::DevicesArgs),
    /// Measure how fast the CPU and each GPU evaluate populations
    Bench(bench::BenchArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
}

/// Prints help, the version, or clap's error; returns the exit code.
fn print_usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let is_about_values = |line: &str| line.starts_with("  tip: to pass '");
    let printed = if error.use_stderr() && text.lines().any(is_about_values) {
        // Flags that other programs have, or misspelled ones, are hardly ever meant as values.
        let lines: Vec<&str> = text.lines().filter(|line| !is_about_values(line)).collect();
        alert!("{}", lines.join("\n").replace("\n\n\n", "\n\n"));
        Ok(())
    } else {
        error.print()
    };
    match printed {
        Err(refused) if !error.use_stderr() && refused.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(gputexel::Error::io("standard output", refused).into())
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

/// Access to the program, for subcommands that describe it or run others.
const PROGRAM: Program = Program { command: Cli::command, run: run_line };

fn run_line(words: &[String], context: &Context) -> anyhow::Result<()> {
    let name = std::iter::once("gputexel");
    let cli = Cli::try_parse_from(name.chain(words.iter().map(String::as_str)))?;
    cli.command.as_subcommand().run(context)
}

static CANCEL: AtomicBool = AtomicBool::new(false);
/// Time after Ctrl-C before a message names what is still running.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
/// Set by a second Ctrl-C.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return print_usage(&error),
    };
    let command = cli.command.as_subcommand();
    #[cfg(feature = "mpi")]
    if team::is_led() && command.backend().is_none() {
        let reason = "gputexel-mpi runs tune, sweep and pso; run other commands with gputexel";
        return fail(gputexel::Error::Usage(reason.to_string()).into());
    }
    // Without a handler, Ctrl-C still ends the program, only less tidily.
    let _ = ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            // Second Ctrl-C: stop at once.
            AT_ONCE.store(true, Ordering::SeqCst);
            gputexel::matches::client::kill_all_engines();
            std::process::exit(130);
        }
        // If the main thread waits for a silent pipe, it would not notice.
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            note!("gputexel: still busy with what is under way; interrupt again to end at once");
        });
    });
    output::set_quiet(cli.quiet);
    let context = Context {
        json: cli.json,
        quiet: cli.quiet,
        command_line: typed.join(" "),
        cancel: &CANCEL,
        program: PROGRAM,
    };
    let result = command.run(&context);
    while AT_ONCE.load(Ordering::SeqCst) {
        // The command ended because its engines are gone; the handler ends the program.
        std::thread::park();
    }
    result.map_or_else(fail, |()| ExitCode::SUCCESS)
}
