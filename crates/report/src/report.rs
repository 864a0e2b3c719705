//! Report of any kind of run.

use crate::html::{Live, MatchReport, RunReport, SpsaReport, Stage};
use gputexel_io::some_of;

#[derive(Clone, Debug)]
pub enum Report {
    Run(Box<RunReport>),
    Match(Box<MatchReport>),
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

    pub fn stage(&self) -> Stage {
        match self {
            Self::Run(report) => report.stage(),
            Self::Match(report) => report.head.stage(),
            Self::Spsa(report) => report.head.stage(),
        }
    }

    pub fn status(&self) -> &str {
        match self {
            Self::Run(report) => &report.status,
            Self::Match(report) => &report.head.status,
            Self::Spsa(report) => &report.head.status,
        }
    }

    /// Headline figures: name and value.
    pub fn facts(&self) -> &[(String, String)] {
        match self {
            Self::Run(report) => &report.facts,
            Self::Match(report) => &report.head.facts,
            Self::Spsa(report) => &report.head.facts,
        }
    }

    /// Names of its data, without folders; empty if there is none.
    pub fn data(&self) -> String {
        let Self::Run(report) = self else { return String::new() };
        let rows = report.inputs.iter().flat_map(|inputs| &inputs.rows).filter_map(|row| row.first());
        let names: Vec<&str> = rows.filter_map(|path| path.rsplit(['/', '\\']).next()).collect();
        some_of(&names, 1)
    }

    /// Its error on held-out positions: the change against the prior if it is judged, else the loss; empty if
    /// unknown.
    pub fn held_out(&self) -> String {
        let judged = match self {
            Self::Run(report) => report
                .conclusion
                .as_ref()
                .and_then(|known| known.verdict.figure.strip_prefix("Held-out error ")),
            _ => None,
        };
        let loss = || self.fact(|name| name.contains("held-out loss"));
        judged.filter(|text| *text != "unknown").or_else(loss).unwrap_or_default().to_string()
    }

    /// Its Elo; empty if no games were played.
    pub fn elo(&self) -> String {
        let figure = match self {
            Self::Run(_) => "",
            Self::Match(report) => &report.head.conclusion.verdict.figure,
            Self::Spsa(report) => &report.head.conclusion.verdict.figure,
        };
        figure.strip_prefix("Elo ").filter(|text| *text != "unknown").unwrap_or_default().to_string()
    }

    fn fact(&self, wanted: impl Fn(&str) -> bool) -> Option<&str> {
        self.facts().iter().find(|fact| wanted(&fact.0)).map(|fact| fact.1.as_str())
    }

    /// Page, one self-contained HTML document; with `live`, one that refreshes itself.
    pub fn to_html(&self, live: Option<&Live>) -> String {
        match self {
            Self::Run(report) => report.to_html(live),
            Self::Match(report) => report.to_html(live),
            Self::Spsa(report) => report.to_html(live),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::{Conclusion, Verdict};
    use crate::html::Table;

    #[test]
    fn lists_name_data_and_held_out_error() {
        let rows = ["a/b.bin", "c.bin"].map(|path| vec![path.to_string()]).to_vec();
        let mut report = RunReport {
            inputs: Some(Table { rows, ..Table::default() }),
            facts: vec![("held-out loss (squared)".to_string(), "0.07".to_string())],
            ..RunReport::default()
        };
        let of = |report: &RunReport| Report::Run(Box::new(report.clone()));
        assert_eq!(of(&report).data(), "b.bin and 1 more");
        assert_eq!((of(&report).held_out().as_str(), of(&report).elo().as_str()), ("0.07", ""));
        let figure = |text: &str| {
            let verdict = Verdict { figure: text.to_string(), ..Verdict::default() };
            Some(Conclusion { verdict, ..Conclusion::default() })
        };
        report.conclusion = figure("Held-out error unknown");
        assert_eq!(of(&report).held_out(), "0.07");
        report.conclusion = figure("Held-out error −3.7 % ± 0.5 %");
        assert_eq!(of(&report).held_out(), "−3.7 % ± 0.5 %");
    }
}
