//! `gputexel spsa report`: where a run stands, also while it is under way.

use std::path::PathBuf;

use gputexel::spsa::run::{RunState, read};
use gputexel::write_atomically;

use super::super::super::targets::check_target;
use super::super::super::{Context, say};
use super::outputs;

/// Flags of `spsa report`.
#[derive(Debug, clap::Args)]
pub struct ReportArgs {
    /// Folder of the run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Draw the path of every parameter, scaled by its perturbation, to this file
    #[arg(long, value_name = "FILE")]
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
    check_target(args.svg.as_deref(), args.force)?;
    let (header, entries) = read(&args.folder)?;
    let story = RunState::replay(&args.folder, &header, &entries, |_, _| Ok(()))?;
    if let Some(path) = &args.svg {
        write_atomically(path, outputs::picture(&story)?.as_bytes())?;
    }
    if context.json {
        say(&format!("{:#}\n", outputs::state(&args.folder, &header, &story)))?;
    } else if !context.quiet {
        say(&outputs::table(&args.folder, &header, &story, 0.0))?;
    }
    Ok(())
}
