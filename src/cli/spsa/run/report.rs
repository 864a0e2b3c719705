//! `gputexel spsa report`: shows the state of a run, even while it is in progress.

use std::path::{Path, PathBuf};

use gputexel::io::{check_target, write_atomically};
use gputexel::spsa::run::{RunState, RunSummary, read};

use super::super::super::context::Context;
use super::super::super::output::{print_text, write_stdout};
use super::{digest, outputs};

/// Flags of `spsa report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel spsa report runs/toga --svg paths.svg")]
pub struct ReportArgs {
    /// Folder of the run
    #[arg(value_name = "DIR", required_unless_present = "openbench", conflicts_with = "openbench")]
    folder: Option<PathBuf>,
    /// Show a tune of OpenBench instead: the response of its /api/spsa/ID/digest/, saved as a file
    #[arg(long, value_name = "DIGEST", conflicts_with = "svg")]
    openbench: Option<PathBuf>,
    /// Draw the path of every parameter, scaled by its perturbation, to this file
    #[arg(long, value_name = "FILE", value_parser = super::super::super::target::file())]
    svg: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Runs `spsa report`.
///
/// # Errors
/// Journals that cannot be read, files that cannot be written.
pub fn report(args: &ReportArgs, context: &Context) -> anyhow::Result<()> {
    if let Some(path) = &args.openbench {
        return digest::report(path, context);
    }
    check_target(args.svg.as_deref(), args.force)?;
    let folder = args.folder.as_deref().unwrap_or_else(|| Path::new("."));
    let (header, events) = read(folder)?;
    let state = RunState::replay(folder, &header, &events, |_, _| Ok(()))?;
    if let Some(path) = &args.svg {
        write_atomically(path, outputs::picture(&state)?.as_bytes())?;
    }
    if context.json {
        let summary = RunSummary::new(folder, &header, &state);
        write_stdout(&format!("{:#}\n", serde_json::json!(summary)))?;
    } else if !context.quiet {
        print_text(&outputs::table(folder, &header, &state, 0.0))?;
    }
    Ok(())
}
