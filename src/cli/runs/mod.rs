//! Runs of the library, displayed to the user.

mod blend;
mod ending;
mod observer;
mod rounding;
mod strength;

use std::path::Path;
use std::time::Duration;

use gputexel::io::run_folder::{Kind, REPORT, check_contents};
use gputexel::run::{Finished, RunOutput, Tuned, Tuner};
use gputexel::{Error, Result};
use serde_json::json;

use super::backend::Backend;
use super::context::Context;
use super::output::{print_text, write_stdout};
use super::report;
pub use blend::targets_line;
pub use ending::{change_text, joint_lines, reason_text, regularized_line};
use observer::Observer;
pub use rounding::rounding_lines;
pub use strength::{folds_text, gain_text};

pub fn checkpoint_every(seconds: f64) -> Result<Duration> {
    if !(seconds.is_finite() && seconds >= 0.0) {
        return Err(Error::Usage("--checkpoint-every must be 0 or a positive number".to_string()));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

pub fn carry_out(
    tuner: Tuner<'_>,
    context: &Context,
    backend: &Backend,
    checkpoint_every: Duration,
    verbose: bool,
) -> Result<Tuned> {
    let mut observer = Observer::new(context, verbose);
    let talks = !context.quiet && !context.json;
    let tuner = tuner.backend(backend).stop(context.cancel).checkpoint_every(checkpoint_every).display(talks);
    let result = tuner.observe(|event| observer.observe(event)).run();
    result.map_err(|error| observer.with_hint(error))
}

pub fn output(out: Option<&Path>, force: bool) -> Result<RunOutput> {
    let Some(out) = out else { return Ok(RunOutput::Dated) };
    if out.exists() {
        check_contents(out, Kind::Run, force)?;
    }
    Ok(RunOutput::Folder(out.to_path_buf()))
}

/// Creates the files that a finished run lacks, as far as its parameters suffice.
pub fn finish_up(run: &Finished, context: &Context) -> Result<()> {
    let Finished { folder, record, .. } = run;
    let finished = run.describe();
    let mut missing = run.complete()?;
    if !folder.file(REPORT).exists() {
        report::leave_again(folder, record)?;
        missing.push(REPORT);
    }
    match missing[..] {
        [] => Err(Error::Usage(finished)),
        _ if context.json => {
            write_stdout(&format!("{}\n", json!({ "folder": folder.path(), "written": missing })))
        }
        _ if context.quiet => Ok(()),
        _ => print_text(&format!("{finished}\nwritten     {}\n", missing.join(", "))),
    }
}
