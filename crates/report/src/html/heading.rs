//! The frame of a page: what it begins with, links to its sections, and the sections.

use maud::{Markup, html};

use super::facts;

/// How far what a page is about has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is at its end.
    Finished,
    /// It goes on at this moment.
    Running,
    /// It has been interrupted, or nobody knows.
    Open,
}

impl Stage {
    /// The stage of what may be at its end, or else under way.
    pub(super) fn of(is_final: bool, running: bool) -> Self {
        match (is_final, running) {
            (true, _) => Self::Finished,
            (false, true) => Self::Running,
            (false, false) => Self::Open,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Open => "not final",
        }
    }

    /// The word as the page shows it.
    pub(super) fn tag(self) -> Markup {
        let class = if self == Self::Finished { "tag done" } else { "tag open" };
        html! { span class=(class) { (self.name()) } }
    }
}

/// Seconds that the rest takes if it goes on as before; `None` before there is anything to judge by.
pub fn remaining_seconds(done: u64, planned: u64, seconds: f64) -> Option<f64> {
    (done > 0).then(|| seconds * planned.saturating_sub(done) as f64 / done as f64)
}

/// Beginning of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// How far it has come.
    pub stage: Stage,
    /// The same in figures.
    pub status: &'a str,
    /// Headline figures: name and value.
    pub facts: &'a [(String, String)],
    /// Remarks to be read before anything is believed.
    pub warnings: &'a [String],
}

/// A part of a page: the name for links, the name for people, and what is in it.
pub(super) type Section = (&'static str, &'static str, Markup);

impl Heading<'_> {
    /// The body of a page with these sections.
    pub(super) fn over(&self, sections: &[Section]) -> Markup {
        html! {
            header {
                h1 { (self.title) }
                p.status { (self.stage.tag()) " " (self.status) }
                (facts(self.facts))
                @if !self.warnings.is_empty() { ul.warnings { @for warning in self.warnings { li { (warning) } } } }
            }
            nav aria-label="Sections" { @for (id, name, _) in sections { a href={ "#" (id) } { (name) } } }
            @for (id, name, markup) in sections { section id=(id) { h2 { (name) } (markup) } }
        }
    }
}

/// The configuration: name and value.
pub(super) fn record(rows: &[(String, String)]) -> Markup {
    html! { dl.record { @for (name, value) in rows { dt { (name) } dd { (value) } } } }
}
