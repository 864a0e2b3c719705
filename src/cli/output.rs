//! Standard output and standard error: results, notes, errors.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::context::Context;
use super::{hints, style};

/// Prints a line to standard error. A missing reader or a full disk does not end the command.
macro_rules! note {
    ($($words:tt)*) => {
        $crate::cli::output::print_note(&format!($($words)*))
    };
}

/// As `note!`, for lines that are printed even with `--quiet`.
macro_rules! alert {
    ($($words:tt)*) => {
        $crate::cli::output::print_alert(&format!($($words)*))
    };
}

pub fn fail(error: anyhow::Error) -> ExitCode {
    // The library's errors are complete in one line; others are printed with their sources.
    let (code, text) = match error.downcast::<gputexel::Error>() {
        Ok(ours) => (ours.exit_code(), hints::in_flags(&ours)),
        Err(error) => (1, gputexel::io::printable(&format!("{error:#}")).into_owned()),
    };
    let _ = writeln!(std::io::stderr(), "{} {text}", style::error_prefix());
    ExitCode::from(code)
}

/// Set by `--quiet`.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Suppresses notes from now on, but not alerts.
pub fn set_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Prints a line to standard error unless `--quiet` is set; see `note!`.
pub fn print_note(line: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        print_alert(line);
    }
}

pub fn print_alert(line: &str) {
    let _ = std::io::stderr().write_all(format!("{}\n", style::note(line)).as_bytes());
}

/// Writes a text to standard output unchanged. A reader that has gone (`| head`) is not an error: the command should
/// still finish its files.
pub fn write_stdout(text: &str) -> gputexel::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(gputexel::Error::io("standard output", error))
        }
        _ => Ok(()),
    }
}

/// Prints a text to standard output; with `--json`, as an object with one string.
pub fn print_file(text: &str, context: &Context) -> gputexel::Result<()> {
    match context.json {
        true => write_stdout(&format!("{}\n", serde_json::json!({ "text": text }))),
        false => write_stdout(text),
    }
}

/// Writes a result as text to standard output, formatted for the terminal.
pub fn print_text(words: &str) -> gputexel::Result<()> {
    write_stdout(&style::render(words))
}

/// Prints a result as one JSON object or as text, as requested, or not at all.
pub fn print_result(
    context: &Context,
    json: &impl serde::Serialize,
    words: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match (context.json, context.quiet) {
        (true, _) => write_stdout(&format!("{}\n", serde_json::to_string(json)?))?,
        (false, true) => {}
        (false, false) => print_text(&words())?,
    }
    Ok(())
}
