//! The command line: one file a subcommand, from flags to a call into the library.

/// Prints a line to standard error. That nobody reads it, or that the disk of a log is full, ends no command.
macro_rules! note {
    ($($words:tt)*) => {
        $crate::cli::print_note(&format!($($words)*))
    };
}

/// As `note!`, for what is to be told even where only errors are.
macro_rules! alert {
    ($($words:tt)*) => {
        $crate::cli::print_alert(&format!($($words)*))
    };
}

mod backend;
mod basis;
mod bench;
mod check;
mod compare;
mod completions;
mod convert;
mod demo;
mod devices;
mod eval;
mod examples;
mod export;
mod extract;
mod features;
mod games;
mod hints;
mod import;
mod info;
mod king_flags;
mod lines;
mod live;
mod matches;
mod memory;
mod patch;
mod pso;
mod queue;
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
mod spsa;
mod style;
mod sweep;
mod table;
mod target;
mod team;
mod trace_command;
mod tune;
mod uci;
mod verify;
mod wdl;
mod worker;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{FromArgMatches, Parser, Subcommand};

/// What all subcommands share.
#[allow(dead_code, reason = "not every subcommand needs everything")]
#[derive(Debug)]
pub struct Context {
    /// Print one JSON object on standard output instead of text.
    pub json: bool,
    /// Print nothing but errors.
    pub quiet: bool,
    /// The command line as typed.
    pub command_line: String,
    /// Set by Ctrl-C.
    pub cancel: &'static AtomicBool,
}

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

#[derive(Debug, Subcommand)]
enum Command {
    /// Tune parameters from a dataset, PGN or labeled positions
    Tune(Box<tune::TuneArgs>),
    /// Show the whole road on a sample: tune, compare, play, export
    Demo(demo::DemoArgs),
    /// Compare settings: the loss for many K, or many runs with cross-validation
    Sweep(Box<sweep::SweepArgs>),
    /// Tune within bounds with MadChess's particle swarms
    Pso(Box<pso::PsoArgs>),
    /// Tune by playing games: plan, simulate and run SPSA
    Spsa(spsa::SpsaArgs),
    /// Convert games or labeled positions to a dataset
    Extract(Box<extract::ExtractArgs>),
    /// Convert games, positions and training data between formats
    Convert(Box<convert::ConvertArgs>),
    /// Convert traces of an engine's own features to a dataset
    Import(import::ImportArgs),
    /// Write a dataset as a trace with its schema: the inverse of `import`
    Trace(import::TraceArgs),
    /// Check a dataset or a trace: evaluations, results, features, duplicates, gradient
    Check(check::CheckArgs),
    /// Verify, by a trace, that an engine evaluates with the values that were written back
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
    Export(Box<export::ExportArgs>),
    /// Read an export back: source code, CSV or UCI options to a parameter file
    ImportParams(export::ImportParamsArgs),
    /// Play a match between two engines or parameter files: Elo, errors, SPRT
    Match(Box<matches::MatchArgs>),
    /// Make games for tuning: an engine plays itself
    #[command(name = "selfplay")]
    SelfPlay(Box<selfplay::SelfPlayArgs>),
    /// Play games for runs of other machines
    #[command(hide = queue::HIDDEN)]
    Worker(worker::WorkerArgs),
    /// Give positions new scores by an engine, or results and scores from tablebases
    Rescore(Box<rescore::RescoreArgs>),
    /// List the features of a model: their names and what they count
    Features(features::FeaturesArgs),
    /// Patch engine sources: turn numbers into options, insert tuned values and tables
    Patch(Box<patch::PatchArgs>),
    /// Print a basis: the coordinates to tune, and the parameters that they move
    Basis(basis::BasisCommand),
    /// Fit the win/draw/loss model of an engine to games with scores
    Wdl(Box<wdl::WdlArgs>),
    /// Play chess with tuned parameters in any UCI program
    Uci(uci::UciArgs),
    /// List GPU adapters and which one each backend choice would use, or check what they compute
    Devices(devices::DevicesArgs),
    /// Measure how fast the CPU and each GPU evaluate populations
    Bench(bench::BenchArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
    /// Print the manual page, or write those of all commands
    Man(completions::ManArgs),
}

impl Command {
    /// The flags that limit memory, of commands that read positions.
    fn memory(&self) -> Option<&memory::MemoryArgs> {
        match self {
            Self::Tune(args) => Some(&args.run.memory),
            Self::Sweep(args) => Some(&args.memory),
            Self::Pso(args) => Some(&args.run.memory),
            Self::Extract(args) => Some(&args.memory),
            Self::Import(args) => Some(&args.memory),
            Self::Trace(args) => Some(&args.memory),
            Self::Check(args) => Some(&args.memory),
            Self::Verify(args) => Some(&args.memory),
            Self::Eval(args) => Some(&args.memory),
            Self::Compare(args) => Some(&args.memory),
            Self::Report(args) => Some(&args.memory),
            _ => None,
        }
    }
}

fn parse(
    command: &clap::Command,
    words: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Cli, clap::Error> {
    command.clone().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches))
}

/// Prints help, the version, or clap's reason to refuse a command line; returns its exit code.
fn print_usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(refused) if !error.use_stderr() && refused.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(gputexel::Error::io("standard output", refused).into())
        }
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
    }
}

static CANCEL: AtomicBool = AtomicBool::new(false);

/// How long after Ctrl-C nothing is said of what has yet to end.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Set by a second Ctrl-C.
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Parses the command line and runs it.
pub fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let cli = match parse(&examples::command(), std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return print_usage(&error),
    };
    #[cfg(feature = "mpi")]
    if let Some(error) = ranks::refusal(&cli.command) {
        return fail(error.into());
    }
    // Without a handler, Ctrl-C still ends the program; only less tidily.
    let _ = ctrlc::set_handler(|| {
        if CANCEL.swap(true, Ordering::Relaxed) {
            // Asked twice: at once.
            AT_ONCE.store(true, Ordering::SeqCst);
            gputexel::matches::client::kill_all_engines();
            std::process::exit(130);
        }
        // Whoever waits for a pipe that says nothing waits for that, too.
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            note!("gputexel: still busy with what is under way; interrupt again to end at once");
        });
    });
    // It is kept in folders that others may read.
    let command_line = typed.iter().map(|word| queue::without_password(word)).collect::<Vec<_>>().join(" ");
    QUIET.store(cli.quiet, Ordering::Relaxed);
    let context = Context { json: cli.json, quiet: cli.quiet, command_line, cancel: &CANCEL };
    if let Some(memory) = cli.command.memory()
        && let Err(error) = memory.begin()
    {
        return fail(error.into());
    }
    let result = execute(&cli.command, &context);
    while AT_ONCE.load(Ordering::SeqCst) {
        // That the engines are gone has ended the command; the handler ends the program.
        std::thread::park();
    }
    memory::tell(&context);
    result.map_or_else(fail, |()| ExitCode::SUCCESS)
}

/// Runs a command.
///
/// # Errors
/// Those of the command.
fn execute(command: &Command, context: &Context) -> anyhow::Result<()> {
    match command {
        Command::Tune(args) => tune::run(args, context),
        Command::Demo(args) => demo::run(args, context),
        Command::Sweep(args) => sweep::run(args, context),
        Command::Pso(args) => pso::run(args, context),
        Command::Spsa(args) => spsa::run(args, context),
        Command::Extract(args) => extract::run(args, context),
        Command::Convert(args) => convert::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Trace(args) => import::run_trace(args, context),
        Command::Check(args) => check::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Info(args) => info::run(args, context),
        Command::Eval(args) => eval::run(args, context),
        Command::Compare(args) => compare::run(args, context),
        Command::Report(args) => report::run(args, context),
        Command::Serve(args) => serve::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::ImportParams(args) => export::run_import(args, context),
        Command::Match(args) => matches::run(args, context),
        Command::Worker(args) => worker::run(args, context),
        Command::Rescore(args) => rescore::run(args, context),
        Command::SelfPlay(args) => selfplay::run(args, context),
        Command::Features(args) => features::run(args, context),
        Command::Patch(args) => patch::run(args, context),
        Command::Basis(args) => basis::run(args, context),
        Command::Wdl(args) => wdl::run(args, context),
        Command::Uci(args) => uci::run(args, context),
        Command::Devices(args) => devices::run(args, context),
        Command::Bench(args) => bench::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Man(args) => completions::run_man(args, context),
    }
}

/// Prints an error; returns its exit code.
fn fail(error: anyhow::Error) -> ExitCode {
    // The library's errors say all in one line; others are told with their sources.
    let (code, text) = match error.downcast::<gputexel::Error>() {
        Ok(ours) => (ours.exit_code(), in_flags(ours)),
        Err(error) => (1, gputexel::printable(&format!("{error:#}")).into_owned()),
    };
    let _ = writeln!(std::io::stderr(), "{} {text}", style::error_prefix());
    ExitCode::from(code)
}

/// An error of the library in one line, with the flags that mend it.
fn in_flags(error: gputexel::Error) -> String {
    match error {
        gputexel::Error::Exists(_) => format!("{error}; use --force to overwrite it"),
        gputexel::Error::Setting { .. } => format!("--{error}"),
        gputexel::Error::Advised { error, advice } => {
            let flag = |name: &str, value: &str| match value {
                "" => format!("--{name}"),
                _ => format!("--{name} {value}"),
            };
            format!("{}; {}", in_flags(*error), gputexel::printable(&advice.render(flag)))
        }
        error => match hints::of(&error) {
            // The reason is the operating system's, and the hint is behind it.
            Some(hint) if matches!(error, gputexel::Error::Io { .. }) => format!("{error}{hint}"),
            Some(hint) => error.with_hint(&hint).to_string(),
            None => error.to_string(),
        },
    }
}

/// Set once the command line says that only errors are to be printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// What `note!` does.
fn print_note(line: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        print_alert(line);
    }
}

/// What `alert!` does.
fn print_alert(line: &str) {
    let _ = std::io::stderr().write_all(format!("{}\n", style::note(line)).as_bytes());
}

/// Writes a text to standard output as it is. A reader that has gone (`| head`) is no error: what a command leaves
/// in files is worth finishing.
///
/// # Errors
/// Any other refusal.
fn say(text: &str) -> gputexel::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(gputexel::Error::io("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Writes a result in words to standard output, as a terminal shows it best.
///
/// # Errors
/// Those of [`say`].
fn tell(words: &str) -> gputexel::Result<()> {
    say(&style::render(words))
}

/// Prints a result as one JSON object or in words, as the user wants it, or not at all.
///
/// # Errors
/// Those of [`say`], and of values that JSON cannot hold.
fn answer(
    context: &Context,
    json: &impl serde::Serialize,
    words: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match (context.json, context.quiet) {
        (true, _) => say(&format!("{}\n", serde_json::to_string(json)?))?,
        (false, true) => {}
        (false, false) => tell(&words())?,
    }
    Ok(())
}

/// A builder with a setting, if it was given.
fn with<B, T>(builder: B, given: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match given {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// What was typed, if anything was.
///
/// # Errors
/// Those of the type.
fn parsed<T: std::str::FromStr<Err = gputexel::Error>>(text: &Option<String>) -> gputexel::Result<Option<T>> {
    text.as_deref().map(str::parse).transpose()
}

/// Whether progress is shown by plain lines, because there is no terminal to draw on.
fn prints_lines(context: &Context) -> bool {
    !context.quiet && !context.json && !std::io::stderr().is_terminal()
}

/// Whether progress bars make sense.
fn shows_progress(context: &Context) -> bool {
    !context.quiet && !context.json && std::io::stderr().is_terminal()
}
