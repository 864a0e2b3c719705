//! Frame of a page: its heading, links to its sections, and the sections.

use maud::{Markup, html};

use super::facts;

/// Progress of the subject of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finished.
    Finished,
    /// Running at this moment.
    Running,
    /// Interrupted or unknown.
    Open,
}

impl Stage {
    /// Returns the stage, given whether the results are final and whether a process is running.
    pub(super) fn of(is_final: bool, running: bool) -> Self {
        match (is_final, running) {
            (true, _) => Self::Finished,
            (false, true) => Self::Running,
            (false, false) => Self::Open,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Open => "not final",
        }
    }

    /// Returns the stage as shown on the page.
    pub(super) fn tag(self) -> Markup {
        let class = if self == Self::Finished { "tag done" } else { "tag open" };
        html! { span class=(class) { (self.name()) } }
    }
}

/// Returns the estimated remaining seconds at the current speed; `None` before there is anything to estimate from.
pub fn remaining_seconds(done: u64, planned: u64, seconds: f64) -> Option<f64> {
    (done > 0).then(|| seconds * planned.saturating_sub(done) as f64 / done as f64)
}

/// Beginning of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heading {
    /// Title of the page.
    pub title: String,
    /// True if the results are final.
    pub final_: bool,
    /// True if a process works on it at this moment.
    pub running: bool,
    /// Progress in figures.
    pub status: String,
    /// Headline figures: name and value.
    pub facts: Vec<(String, String)>,
    /// Warnings, shown first.
    pub warnings: Vec<String>,
}

/// A section of a page: its id for links, its title, and its content.
pub(super) type Section = (&'static str, &'static str, Markup);

impl Heading {
    /// Returns the stage.
    pub fn stage(&self) -> Stage {
        Stage::of(self.final_, self.running)
    }

    /// Returns the body of a page with these sections.
    pub(super) fn over(&self, sections: &[Section]) -> Markup {
        self.above(&html! {}, sections)
    }

    /// Returns the body of a page whose heading and sections have something between them.
    pub(super) fn above(&self, first: &Markup, sections: &[Section]) -> Markup {
        html! {
            header {
                h1 { (self.title) }
                p.status { (self.stage().tag()) " " (self.status) }
                (facts(&self.facts))
                @if !self.warnings.is_empty() { ul.warnings { @for warning in &self.warnings { li { (warning) } } } }
            }
            (first)
            nav aria-label="Sections" { @for (id, name, _) in sections { a href={ "#" (id) } { (name) } } }
            @for (id, name, markup) in sections { section id=(id) { h2 { (name) } (markup) } }
        }
    }
}

/// Returns the configuration: name and value.
pub(super) fn record(rows: &[(String, String)]) -> Markup {
    html! { dl.record { @for (name, value) in rows { dt { (name) } dd { (value) } } } }
}
