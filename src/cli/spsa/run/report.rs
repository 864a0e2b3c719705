//! `gputexel spsa report`: shows the state of a run, even while it is in progress.

use std::path::PathBuf;

use gputexel::spsa::run::{RunState, conclude, read, summary};

use super::super::super::conclusion::ending;
use super::super::super::context::Context;
use super::super::super::output::{print_text, write_stdout};
use super::table::table;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  gputexel spsa report runs/toga")]
pub struct ReportArgs {
    /// Folder of the run
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn report(args: &ReportArgs, context: &Context) -> anyhow::Result<()> {
    let folder = &args.folder;
    let (header, events) = read(folder)?;
    let state = RunState::replay(folder, &header, &events, |_, _| Ok(()))?;
    let conclusion = conclude(folder, &header, &state)?;
    if context.json {
        let summary = summary(folder, &header, &state, &conclusion, None);
        write_stdout(&format!("{summary:#}\n"))?;
    } else if !context.quiet {
        print_text(&(table(folder, &header, &state, &conclusion, 0.0) + &ending(&conclusion)))?;
    }
    Ok(())
}
