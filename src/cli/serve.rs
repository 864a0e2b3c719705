//! `gputexel serve`: shows the reports of all runs under a folder in the browser.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use gputexel::live::RunDirectory;
use gputexel::run::comparison::{Differences, Side, SortBy};
use gputexel::{Error, Result};
use serde_json::json;

use super::context::Context;
use super::output::print_result;
use super::report;
use super::subcommand::Subcommand;

const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page lists every run of tune, pso, sweep, match and spsa in DIR and the folders below it; pages of runs under way \
refresh by themselves, whoever started them. Only this machine can open them: it listens on 127.0.0.1, and serves only \
these pages. Symbolic links are not followed. Ctrl-C stops it.\n\n\
Examples:\n  \
gputexel serve runs --open\n  \
gputexel serve . --port 8080")]
pub struct ServeArgs {
    /// Folder with the runs
    #[arg(value_name = "DIR", default_value = "runs")]
    folder: PathBuf,
    /// Port to listen on [default: any free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Show the list in the browser
    #[arg(long)]
    open: bool,
}

fn comparison(a: &Path, b: &Path) -> Result<String> {
    let differences = Differences::try_new(Side::read_both([a, b])?, SortBy::default())?;
    Ok(differences.page().to_html())
}

impl Subcommand for ServeArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let (read, compare) = (Box::new(report::of_folder), Box::new(comparison));
        let served = RunDirectory::serve(&self.folder, self.port, read, compare)?;
        let address = served.address();
        print_result(context, &json!({ "address": address, "folder": self.folder }), || {
            format!("serving     {} at {address}\nend with Ctrl-C\n", self.folder.display())
        })?;
        if self.open {
            open::that_detached(&address).map_err(|_| {
                Error::Usage(format!("--open: no program here opens {address}; open it in a browser"))
            })?;
        }
        while !context.cancel.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
