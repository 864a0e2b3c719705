//! Watching a run in progress: a page in the browser, a chart in the terminal, event files for TensorBoard. Nothing
//! here affects the results.

use std::path::{Path, PathBuf};

use gputexel::Result;
use gputexel::live::{LiveReport, run_report};
use gputexel::model::FeatureSet;
use gputexel::report::{EventWriter, InHand, Report};
use gputexel::run_folder::RunFolder;

use super::context::Context;
use super::output::print_text;

/// Flag of commands whose report can be served while they run.
#[derive(Debug, clap::Args)]
#[group(id = "Live", multiple = true)]
#[command(next_help_heading = "Watching")]
pub struct LiveArgs {
    /// Serve a live report on 127.0.0.1 during the run, on a free port or on PORT
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0"
    )]
    live: Option<u16>,
}

/// A report that may be served during a run.
pub struct LivePage(Option<LiveReport>);

impl LiveArgs {
    /// Returns true if the growing report is to be served, which requires a folder.
    pub fn is_asked_for(&self) -> bool {
        self.live.is_some()
    }

    /// Binds the port, so that a run does not start if its port is taken.
    ///
    /// # Errors
    /// [`Error::Setting`](gputexel::Error::Setting) when it is not available.
    pub fn open(&self) -> Result<LivePage> {
        Ok(LivePage(self.live.map(LiveReport::bind).transpose()?))
    }
}

impl LivePage {
    /// Serves a report from now on; prints the address the first time.
    ///
    /// # Errors
    /// When the server cannot start or standard output cannot be written.
    pub fn show(
        &self,
        context: &Context,
        report: impl Fn() -> Result<Report> + Send + Sync + 'static,
    ) -> Result<()> {
        let Some(live) = &self.0 else { return Ok(()) };
        let Some(address) = live.show(report)? else { return Ok(()) };
        if context.json {
            // Standard output is reserved for the one object at the end.
            note!("gputexel: live: {address}");
        } else if !context.quiet {
            print_text(&format!("live        {address}\n"))?;
        }
        Ok(())
    }

    /// Lets an open page show how the run ended, then stops the server.
    pub fn end(&self) {
        if let Some(live) = &self.0 {
            live.end();
        }
    }
}

/// Flags of commands that can be watched.
#[derive(Debug, clap::Args)]
#[group(id = "Watch", multiple = true)]
#[command(next_help_heading = "Watching")]
pub struct WatchArgs {
    #[command(flatten)]
    live: LiveArgs,
    /// Draw the loss in the terminal: at the end, and during the run if there is a progress bar
    #[arg(long)]
    chart: bool,
}

/// Flag of commands that have losses to log.
#[derive(Debug, clap::Args)]
#[group(id = "Tensorboard", multiple = true)]
#[command(next_help_heading = "Watching")]
pub struct TensorboardArgs {
    /// Write event files for TensorBoard to a folder in DIR with the name of the run's folder
    #[arg(long, value_name = "DIR", value_parser = super::target::file())]
    tensorboard: Option<PathBuf>,
}

/// Settings for watching a run.
pub struct Watch {
    live: LivePage,
    /// True to draw the loss in the terminal.
    pub chart: bool,
    tensorboard: Option<PathBuf>,
}

impl WatchArgs {
    /// Returns true if the growing report is to be served, which requires a folder.
    pub fn needs_folder(&self) -> bool {
        self.live.is_asked_for()
    }

    /// Binds the port, so that a run does not start if its port is taken.
    ///
    /// # Errors
    /// [`Error::Setting`](gputexel::Error::Setting) when it is not available.
    pub fn open(&self, tensorboard: Option<&TensorboardArgs>) -> Result<Watch> {
        let tensorboard = tensorboard.and_then(|args| args.tensorboard.clone());
        if let Some(folder) = &tensorboard {
            std::fs::create_dir_all(folder).map_err(|e| gputexel::Error::io(folder, e))?;
        }
        Ok(Watch { live: self.live.open()?, chart: self.chart, tensorboard })
    }
}

impl Watch {
    /// Serves the folder of a run from now on; prints the address the first time.
    ///
    /// # Errors
    /// When the server cannot start or standard output cannot be written.
    pub fn follow(&self, context: &Context, folder: &RunFolder, features: &FeatureSet) -> Result<()> {
        let (path, features) = (folder.path().to_path_buf(), features.clone());
        self.live.show(context, move || {
            let note = "Calibration and residuals are added at the end of the run.";
            run_report(&path, &InHand { features: Some(&features), note, ..InHand::default() })
        })
    }

    /// Opens the event files of a run, if requested. `after` steps are kept from before.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn events(&self, folder: &RunFolder, after: u64) -> Result<Option<EventWriter>> {
        let Some(base) = &self.tensorboard else { return Ok(None) };
        let absolute = gputexel::absolute(folder.path());
        let name = absolute.file_name().map(Path::new).unwrap_or(Path::new("run"));
        EventWriter::create(&base.join(name), after).map(Some)
    }

    /// Lets an open page show how the run ended, then stops the server.
    pub fn end(&self) {
        self.live.end();
    }
}
