//! Frame of a page: its heading, links to its sections, and the sections.

use maud::{Markup, html};

use super::facts;
use super::first::verdict_box;
use crate::conclusion::Conclusion;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Finished,
    Running,
    Open,
}

impl Stage {
    pub(crate) fn of(is_final: bool, running: bool) -> Self {
        match (is_final, running) {
            (true, _) => Self::Finished,
            (false, true) => Self::Running,
            (false, false) => Self::Open,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Running => "running",
            Self::Open => "not final",
        }
    }

    pub(super) fn tag(self) -> Markup {
        let class = if self == Self::Finished { "tag done" } else { "tag open" };
        html! { span class=(class) { (self.name()) } }
    }
}

/// Estimated remaining seconds at the current speed; `None` before there is anything to estimate from.
pub fn remaining_seconds(done: u64, planned: u64, seconds: f64) -> Option<f64> {
    (done > 0).then(|| seconds * planned.saturating_sub(done) as f64 / done as f64)
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heading {
    pub title: String,
    pub final_: bool,
    pub running: bool,
    pub status: String,
    pub facts: Vec<(String, String)>,
    pub conclusion: Conclusion,
}

pub(super) type Section = (&'static str, &'static str, Markup);

impl Heading {
    pub fn stage(&self) -> Stage {
        Stage::of(self.final_, self.running)
    }

    /// The verdict, unless more games will change it.
    pub(super) fn verdict(&self) -> Markup {
        html! { @if !self.running { div.first { (verdict_box(&self.conclusion)) } } }
    }

    pub(super) fn above(&self, first: &Markup, sections: &[Section]) -> Markup {
        html! {
            header {
                h1 { (self.title) }
                p.status { (self.stage().tag()) " " (self.status) }
                (warnings(&self.conclusion))
            }
            (first)
            (facts(&self.facts))
            nav aria-label="Sections" { @for (id, name, _) in sections { a href={ "#" (id) } { (name) } } }
            @for (id, name, markup) in sections { section id=(id) { h2 { (name) } (markup) } }
        }
    }
}

pub(super) fn warnings(conclusion: &Conclusion) -> Markup {
    let mut warnings = conclusion.warnings().peekable();
    html! { @if warnings.peek().is_some() { ul.warnings { @for warning in warnings { li { (warning) } } } } }
}

pub(super) fn record(rows: &[(String, String)]) -> Markup {
    html! { dl.record { @for (name, value) in rows { dt { (name) } dd { (value) } } } }
}
