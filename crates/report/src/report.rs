//! Report of any kind of run.

use gputexel_io::Result;

use crate::html::{Live, MatchReport, RunReport, SpsaReport, Stage};

/// Report of a folder of any kind.
#[derive(Clone, Debug)]
pub enum Report {
    /// Of `tune`, `pso` and `sweep`.
    Run(Box<RunReport>),
    /// Of a match.
    Match(Box<MatchReport>),
    /// Of an SPSA run.
    Spsa(Box<SpsaReport>),
}

impl Report {
    /// Notes that a process works on it at this moment, or that none does.
    pub fn set_running(&mut self, running: bool) {
        match self {
            Self::Run(report) => report.running = running,
            Self::Match(report) => report.head.running = running,
            Self::Spsa(report) => report.head.running = running,
        }
    }

    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        match self {
            Self::Run(report) => report.stage(),
            Self::Match(report) => report.head.stage(),
            Self::Spsa(report) => report.head.stage(),
        }
    }

    /// Returns the progress in figures.
    pub fn status(&self) -> &str {
        match self {
            Self::Run(report) => &report.status,
            Self::Match(report) => &report.head.status,
            Self::Spsa(report) => &report.head.status,
        }
    }

    /// Returns the headline figures: name and value.
    pub fn facts(&self) -> &[(String, String)] {
        match self {
            Self::Run(report) => &report.facts,
            Self::Match(report) => &report.head.facts,
            Self::Spsa(report) => &report.head.facts,
        }
    }

    /// Returns the page, one self-contained HTML document; with `live`, one that refreshes itself.
    ///
    /// # Errors
    /// [`Error::Numeric`](gputexel_io::Error::Numeric) when a picture cannot be drawn.
    pub fn to_html(&self, live: Option<&Live>) -> Result<String> {
        match self {
            Self::Run(report) => report.to_html(live),
            Self::Match(report) => report.to_html(live),
            Self::Spsa(report) => report.to_html(live),
        }
    }
}
