//! Watching a run in progress in the browser. Nothing here affects the results.

use std::path::Path;

use gputexel::Result;
use gputexel::io::run_folder::RunFolder;
use gputexel::live::LiveReport;
use gputexel::model::FeatureSet;
use gputexel::report::Report;
use gputexel::run::{ReportData, run_report};
use gputexel::sweep::{is_sweep, sweep_report};

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

pub struct LivePage(Option<LiveReport>);

impl LiveArgs {
    pub fn is_asked_for(&self) -> bool {
        self.live.is_some()
    }

    /// Binds the port, so that a run does not start if its port is taken.
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

    /// # Errors
    /// When the server cannot start or standard output cannot be written.
    pub fn follow(&self, context: &Context, folder: &RunFolder, features: &FeatureSet) -> Result<()> {
        let (path, features) = (folder.path().to_path_buf(), features.clone());
        self.show(context, move || {
            let note = "Calibration and residuals are added at the end of the run.";
            of_run(&path, &ReportData { features: Some(&features), note, ..ReportData::default() })
        })
    }

    /// Lets an open page show how the run ended, then stops the server.
    pub fn end(&self) {
        if let Some(live) = &self.0 {
            live.end();
        }
    }
}

/// # Errors
/// If there is no run in the folder yet, or a file is damaged.
pub fn of_run(path: &Path, report_data: &ReportData<'_>) -> Result<Report> {
    let folder = RunFolder::view(path);
    let report = if is_sweep(path) { sweep_report(&folder)? } else { run_report(&folder, report_data)? };
    Ok(Report::Run(Box::new(report)))
}
