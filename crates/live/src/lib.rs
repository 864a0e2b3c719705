//! The report of a run while it goes on, served to browsers of this machine.
//!
//! [`LiveReport`] takes a port before the run begins, shows the folder of the run from the moment there is one, and
//! waits at the end until an open page has shown how the run ended. Nothing here has an effect on what is computed.

mod server;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gputexel_files::Result;
use gputexel_files::run_folder::RunFolder;
use gputexel_model::FeatureSet;
use gputexel_report::{InHand, Live, RunReport, is_sweep};

use server::{Bound, Server};

/// A page on 127.0.0.1 that shows a run's report as it grows. It ends when this is dropped.
///
/// ```
/// use gputexel_live::LiveReport;
///
/// let live = LiveReport::bind(0)?; // any free port
/// // ... a run begins: `live.show(&folder, &features)?` says where the page is ...
/// live.end();
/// # Ok::<(), gputexel_files::Error>(())
/// ```
pub struct LiveReport {
    bound: Mutex<Option<Bound>>,
    server: Mutex<Option<Server>>,
    subject: Arc<Mutex<Subject>>,
}

/// What the page shows.
#[derive(Default)]
struct Subject {
    folder: PathBuf,
    features: Option<FeatureSet>,
}

impl LiveReport {
    /// Takes a port of 127.0.0.1, so that a run whose port is taken does not begin; 0 for any that is free.
    ///
    /// # Errors
    /// [`Error::Setting`](gputexel_files::Error::Setting) when it cannot be had.
    pub fn bind(port: u16) -> Result<Self> {
        let bound = Bound::take(port)?;
        Ok(Self { bound: Mutex::new(Some(bound)), server: Mutex::new(None), subject: Arc::default() })
    }

    /// Shows the folder of a run of `tune`, `pso` or `sweep` from now on. The first time, the page is
    /// served from now on, too, and its address is returned.
    ///
    /// # Errors
    /// [`Error::Io`](gputexel_files::Error::Io) when the server cannot start.
    pub fn show(&self, folder: &RunFolder, features: &FeatureSet) -> Result<Option<String>> {
        if let Ok(mut subject) = self.subject.lock() {
            *subject = Subject { folder: folder.path().to_path_buf(), features: Some(features.clone()) };
        }
        let Some(bound) = self.bound.lock().ok().and_then(|mut bound| bound.take()) else { return Ok(None) };
        let address = bound.address()?;
        let subject = Arc::clone(&self.subject);
        let server = bound.serve(Box::new(move |live| {
            let (folder, features) = match subject.lock() {
                Ok(subject) => (subject.folder.clone(), subject.features.clone()),
                Err(_) => Default::default(),
            };
            page(&folder, features.as_ref(), live)
        }))?;
        if let Ok(mut place) = self.server.lock() {
            *place = Some(server);
        }
        Ok(Some(address))
    }

    /// Lets a page that is open show how the run ended (for at most a few seconds), then ends the server.
    pub fn end(&self) {
        let server = self.server.lock().ok().and_then(|mut server| server.take());
        if let Some(server) = server {
            server.await_last_poll();
        }
    }
}

/// The page of a folder as it is now.
///
/// # Errors
/// When there is no run in the folder yet, or a file is damaged.
fn page(path: &Path, features: Option<&FeatureSet>, live: &Live) -> Result<String> {
    let folder = RunFolder::view(path);
    let mut report = if is_sweep(path) {
        RunReport::of_sweep_folder(&folder)?
    } else {
        let note = "Calibration and residuals are added at the end of the run.";
        RunReport::of_run(&folder, &InHand { features, note, ..InHand::default() })?
    };
    // It is the run itself that serves the page.
    report.running = !report.final_;
    report.to_html(Some(live))
}
