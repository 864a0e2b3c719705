//! Reports of runs while they go on, served to browsers of this machine.
//!
//! [`LiveReport`] takes a port before a run begins, shows the run from the moment there is something to see, and waits at
//! the end until an open page has shown how the run ended. [`RunDirectory`] shows all runs under a folder, whoever makes
//! them. Nothing here has an effect on what is computed.

mod directory;
mod http;

use std::sync::{Arc, Mutex};

use crate::{Live, Report};
use gputexel_io::{Error, Result};

#[doc(hidden)]
pub use directory::answer_to;
pub use directory::{ReadReport, RunDirectory};
use http::{Bound, Found, Server};

/// Makes the report that is shown, as it is at the moment.
type MakeReport = Arc<dyn Fn() -> Result<Report> + Send + Sync>;

/// A page on 127.0.0.1 that shows a run's report as it grows. It ends when this is dropped.
///
/// ```
/// use gputexel_report::live::LiveReport;
///
/// let live = LiveReport::bind(0)?; // any free port
/// // ... a run begins: `live.show(...)?` says where the page is ...
/// live.end();
/// # Ok::<(), gputexel_io::Error>(())
/// ```
pub struct LiveReport {
    bound: Mutex<Option<Bound>>,
    server: Mutex<Option<Server>>,
    subject: Arc<Mutex<Option<MakeReport>>>,
}

impl LiveReport {
    /// Takes a port of 127.0.0.1, so that a run whose port is taken does not begin; 0 for any that is free.
    ///
    /// # Errors
    /// [`Error::Setting`] when it cannot be had.
    pub fn bind(port: u16) -> Result<Self> {
        let bound = Bound::take(port)?;
        Ok(Self { bound: Mutex::new(Some(bound)), server: Mutex::new(None), subject: Arc::default() })
    }

    /// Shows what `report` makes from now on. The first time, the page is served from now on, too, and its address is
    /// returned.
    ///
    /// # Errors
    /// [`Error::Io`] when the server cannot start.
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
            if path != "/" {
                return Ok(Found::Missing);
            }
            let make = subject.lock().ok().and_then(|subject| subject.clone());
            make.map_or_else(|| Err(Error::Usage("the run begins".into())), |make| page(&make, live))
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

fn page(make: &MakeReport, live: &Live) -> Result<Found> {
    let mut report = make()?;
    // It is the run itself that serves the page.
    report.set_running(true);
    report.to_html(Some(live)).map(Found::Page)
}
