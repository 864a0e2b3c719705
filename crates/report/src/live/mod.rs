//! Reports of runs in progress, served to browsers on this machine.

mod directory;
mod http;

use std::sync::{Arc, Mutex};

use crate::html::Live;
use crate::report::Report;
use gputexel_io::{Error, Result};

pub use directory::{CompareRuns, ReadReport, RunDirectory};
use http::{Bound, Content, Server};

type MakeReport = Arc<dyn Fn() -> Result<Report> + Send + Sync>;

/// A page on 127.0.0.1 that shows the growing report of a run. The server ends when this is dropped.
///
/// ```
/// use gputexel_report::live::LiveReport;
///
/// let live = LiveReport::bind(0)?; // any free port
/// // ... a run begins: `live.show(...)?` returns the address of the page ...
/// live.end();
/// # Ok::<(), gputexel_io::Error>(())
/// ```
pub struct LiveReport {
    bound: Mutex<Option<Bound>>,
    server: Mutex<Option<Server>>,
    subject: Arc<Mutex<Option<MakeReport>>>,
}

impl LiveReport {
    /// Binds a port of 127.0.0.1, so that a run does not begin if its port is in use; 0 for any free one.
    pub fn bind(port: u16) -> Result<Self> {
        let bound = Bound::new(port)?;
        Ok(Self { bound: Mutex::new(Some(bound)), server: Mutex::new(None), subject: Arc::default() })
    }

    /// The first call also starts the server and returns its address.
    pub fn show(
        &self,
        report: impl Fn() -> Result<Report> + Send + Sync + 'static,
    ) -> Result<Option<String>> {
        if let Ok(mut subject) = self.subject.lock() {
            *subject = Some(Arc::new(report));
        }
        let Some(bound) = self.bound.lock().ok().and_then(|mut bound| bound.take()) else { return Ok(None) };
        let address = bound.address()?;
        let subject = Arc::clone(&self.subject);
        let server = bound.serve(Box::new(move |path, live| {
            if path.split('?').next() != Some("/") {
                return Ok(Content::Missing);
            }
            let make = subject.lock().ok().and_then(|subject| subject.clone());
            make.map_or_else(|| Err(Error::Usage("the run begins".into())), |make| page(&make, live))
        }))?;
        if let Ok(mut place) = self.server.lock() {
            *place = Some(server);
        }
        Ok(Some(address))
    }

    /// Lets an open page show the end of the run (for at most a few seconds), then ends the server.
    pub fn end(&self) {
        let server = self.server.lock().ok().and_then(|mut server| server.take());
        if let Some(server) = server {
            server.await_last_poll();
        }
    }
}

fn page(make: &MakeReport, live: &Live) -> Result<Content> {
    let mut report = make()?;
    // The run itself serves the page.
    report.set_running(true);
    report.to_html(Some(live)).map(Content::Page)
}
