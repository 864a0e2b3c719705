//! Report of a run as one HTML document: no script, no external requests, light and dark, legible on a phone and
//! without color.

mod bars;
mod boards;
mod comparison;
mod course;
mod data;
mod first;
mod groups;
mod heading;
mod listing;
mod matches;
mod number;
mod page;
mod palette;
mod pieces;
mod plot;
mod positions;
mod program;
mod spsa;
mod strength;
mod sweep;
mod worst;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use data::{
    Comparison, CoordinateValue, Parameter, PenaltyRow, RunReport, SharedTrait, Step, StrengthReport, Swarms,
    SweepAxis, SweepReport, SweepSetting, Table, WorstPosition, WorstPositions,
};
pub(super) use first::figure_of;
pub use heading::{Heading, Stage, remaining_seconds};
pub use listing::{ListedRun, RunList, notice};
pub use matches::{MatchReport, Standing};
pub use number::{bytes, grouped};
pub use page::{Page, Part};
pub use spsa::{SpsaReport, ValuePath};

pub(super) use groups::{Shape, groups};
use heading::{Section, record};
pub(super) use number::CLEAR;

const STYLE: &str = include_str!("style.css");
const LIVE: &str = include_str!("live.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Settings of a page that is served while the run is in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// Nonce of the server for this page, without which no script runs.
    pub nonce: String,
    pub every: u32,
}

impl Live {
    pub const PLAIN: &str = POLICY;

    /// Policy that the server sends with the page: its own script, and requests to itself.
    pub fn policy(&self) -> String {
        format!("{POLICY}; script-src 'nonce-{}'; connect-src 'self'", self.nonce)
    }
}

type MakeSection = fn(&RunReport) -> Option<Markup>;

/// Sections of the page of a run in their order: id for links, title, and maker.
const SECTIONS: &[(&str, &str, MakeSection)] = &[
    ("sweep", "Settings", sweep::of_run),
    ("changes", "Changes", bars::changes_of_run),
    ("errors", "What your evaluation gets wrong", worst::of_run),
    ("loss", "Loss", course::losses_of_run),
    ("swarms", "Swarms", course::swarms),
    ("strength", "Strength of the prior", strength::of_run),
    ("program", "Nonlinear terms", program::of_run),
    ("calibration", "Calibration", positions::calibration_of_run),
    ("residuals", "Residuals", positions::residuals_of_run),
    ("coordinates", "Coordinates", bars::coordinates_of_run),
    ("configuration", "Configuration", |report| Some(report.record_of_the_run())),
];

fn document(title: &str, body: &Markup, live: Option<&Live>) -> String {
    let script = live.map(|live| {
        html! {
            p.live id="live" role="status" data-every=(live.every) { "live: refreshes every " (live.every) " s" }
            script nonce=(live.nonce) { (PreEscaped(LIVE)) }
        }
    });
    // The policy of a live page comes with the answer of its server.
    framed(title, live.is_none().then_some(POLICY), body, script.as_ref())
}

fn framed(title: &str, policy: Option<&str>, body: &Markup, scripts: Option<&Markup>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                @if let Some(policy) = policy { meta http-equiv="Content-Security-Policy" content=(policy); }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content=(concat!("gputexel ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(palette::rules())) (PreEscaped(boards::rules())) }
            }
            body {
                main id="page" { (body) }
                @if let Some(scripts) = scripts { (scripts) }
            }
        }
    };
    page.into_string()
}

fn facts(facts: &[(String, String)]) -> Markup {
    html! { dl.facts { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } } }
}

fn names(names: &[String]) -> Markup {
    const SHOWN: usize = 500;
    html! { p.names { (names[..names.len().min(SHOWN)].join(", ")) @if names.len() > SHOWN { " and " (names.len() - SHOWN) " more" } } }
}

/// Table of cells with markup, the first of a row being its heading.
fn rows(
    class: &str,
    caption: &Markup,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<Markup>>,
) -> Markup {
    html! {
        div.scroll { table class=[(!class.is_empty()).then_some(class)] {
            caption { (caption) }
            thead { tr { @for name in header { th scope="col" { (name) } } } }
            tbody { @for row in rows { tr { @for (i, cell) in row.into_iter().enumerate() {
                @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
            } } } }
        } }
    }
}

fn table(table: &Table) -> Markup {
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    let cells = |row: &Vec<String>| row.iter().map(|cell| html! { (cell) }).collect();
    rows("", &html! { (table.caption) }, &header, table.rows.iter().map(cells))
}

impl RunReport {
    /// Page, one self-contained HTML document; with `live`, one that refreshes itself.
    pub fn to_html(&self, live: Option<&Live>) -> String {
        document(&self.title, &self.body(), live)
    }

    fn body(&self) -> Markup {
        let sections = SECTIONS.iter().filter_map(|(id, name, make)| Some((*id, *name, make(self)?)));
        let sections: Vec<Section> = sections.collect();
        let heading = Heading {
            title: self.title.clone(),
            final_: self.final_,
            running: self.running,
            status: format!("{}{}", self.status, self.prospect()),
            // They follow the verdict.
            facts: Vec::new(),
            conclusion: self.conclusion.clone().unwrap_or_default(),
        };
        html! { (pieces::symbols()) (heading.above(&first::screen(self), &sections)) }
    }

    pub fn stage(&self) -> Stage {
        Stage::of(self.final_, self.running)
    }

    fn prospect(&self) -> String {
        match (self.final_, self.running, self.remaining_seconds) {
            (true, ..) | (false, true, None) => String::new(),
            (false, true, Some(seconds)) => format!("; {} left at most", number::duration(seconds)),
            (false, false, _) => "; interrupted before the end, and can be resumed".to_string(),
        }
    }

    fn record_of_the_run(&self) -> Markup {
        html! {
            details.list open[self.configuration.len() < 4] { summary { "Settings" } (record(&self.configuration)) }
            @if let Some(inputs) = &self.inputs { details.list { summary { (inputs.caption) } (table(inputs)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::{Conclusion, Finding, FindingKind};

    /// Run of 500 features whose names are meant to break the page.
    fn report() -> RunReport {
        let evil = "</style><script>x</script>\"'&";
        let parameter = |i: usize| Parameter {
            name: format!("{evil} {i}"),
            group: format!("{evil} {}", i / 50),
            values: [i as f64 / 7.0, -(i as f64)],
            reference: Some([0.0, 1.0]),
            errors: [Some(0.5), None],
            support: Some(i as u64 * 17),
            summed: None,
            square: None,
        };
        let step =
            |i: u64| Step { number: i, loss: 0.1 + 1.0 / i as f64, seconds: i as f64, ..Step::default() };
        RunReport {
            title: evil.to_string(),
            status: evil.to_string(),
            facts: vec![(evil.to_string(), evil.to_string())],
            conclusion: Some(Conclusion {
                findings: vec![Finding::warning(FindingKind::DeadTerm, evil, Vec::new())],
                ..Conclusion::default()
            }),
            steps: (1..=5000).map(step).collect(),
            step_name: evil.to_string(),
            loss_name: evil.to_string(),
            parameters: (0..500).map(parameter).collect(),
            reference: evil.to_string(),
            errors_note: evil.to_string(),
            diagnostics_note: evil.to_string(),
            configuration: vec![(evil.to_string(), evil.to_string())],
            ..RunReport::default()
        }
    }

    #[test]
    fn a_page_of_a_thousand_parameters_is_small_and_no_text_becomes_markup() {
        let page = report().to_html(None);
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
        assert!(!page.contains("<script") && page.matches("</style>").count() == 1);
        assert!(page.matches("&lt;script&gt;").count() > 500);
        assert_eq!(page.matches("<details class=\"list\"").count(), 10 + 1, "groups, settings");
    }

    #[test]
    fn only_a_live_page_has_a_script_and_it_has_the_word() {
        let live = Live { nonce: "word".to_string(), every: 3 };
        let page = RunReport::default().to_html(Some(&live));
        assert!(page.contains("<script nonce=\"word\">") && page.contains("data-every=\"3\""));
        assert!(!page.contains("http-equiv"), "the policy comes with the answer");
        assert!(live.policy().contains("script-src 'nonce-word'"));
        assert!(page.contains("No step has finished yet."));
    }

    #[test]
    fn comparisons_begin_with_the_changes() {
        let mut parameters = report().parameters;
        parameters.truncate(64);
        for (i, parameter) in parameters.iter_mut().enumerate() {
            parameter.name = format!("rook_{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
            parameter.group = "rook".to_string();
        }
        let comparison =
            Comparison { names: ["a<b".into(), "c".into()], parameters, ..Comparison::default() };
        let page = comparison.to_html();
        assert!(page.contains("a&lt;b and c") && !page.contains("a<b"));
        let first = page.find("id=\"view-change\" checked").unwrap();
        assert!(first < page.find("id=\"view-value\"").unwrap());
    }
}
