//! The first screen of the page of a run: the verdict, the worth of pieces, and the boards.

use gputexel_model::{PieceWorth, ROLE_NAMES};
use maud::{Markup, html};

use super::boards::{self, Boards};
use super::data::RunReport;
use super::groups::groups;
use super::number::whole;
use super::{facts, pieces};
use crate::conclusion::{Conclusion, Judgement};

impl Judgement {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Better => ("verdict better", "better"),
            Self::Same => ("verdict", "no better"),
            Self::Worse => ("verdict worse", "worse"),
            Self::CannotBeJudged => ("verdict", "cannot be judged"),
            Self::TooLittle => ("verdict", "too little data"),
            Self::Unknown => ("verdict", "unknown"),
        }
    }
}

pub(super) fn screen(report: &RunReport) -> Markup {
    let groups = groups(&report.parameters);
    let boards = Boards::new(&report.parameters, &groups);
    let views = boards::views(&report.parameters, "result", &report.reference);
    html! {
        @match &report.conclusion {
            None => (facts(&report.facts)),
            Some(conclusion) => div.first { (verdict_box(conclusion)) (worth(&report.worth)) },
        }
        @if !boards.is_empty() {
            section.first id="boards" aria-label="Boards" {
                (boards.switched(&views))
                @if !report.errors_note.is_empty() { p.note { (report.errors_note) } }
            }
        }
    }
}

pub(super) fn verdict_box(Conclusion { verdict, next, .. }: &Conclusion) -> Markup {
    let (class, name) = verdict.judgement.names();
    html! {
        div class=(class) {
            // A number stays with its error and unit.
            p.figure { (verdict.figure.replace(" ± ", "\u{a0}±\u{a0}").replace(" %", "\u{a0}%")) " " span.tag { (name) } }
            @if !verdict.measured_on.is_empty() { p { "Measured on " (verdict.measured_on) "." } }
            p { (sentence(&verdict.words)) }
            @if !next.is_empty() { p { "Next:" br; code { (next) } } }
        }
    }
}

pub fn figure_of(page: &str) -> Option<&str> {
    page.split_once("<p class=\"figure\">")?.1.split(" <span").next()
}

fn sentence(words: &str) -> String {
    // A file, values of pieces and what is something keep their names.
    let mut parts = words.split([' ', ',']);
    let is_word = parts.next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let is_word = is_word && parts.next() != Some("is");
    let mut sentence = format!("{}.", words.trim_end_matches('.'));
    if let Some(first) = sentence.get_mut(..1).filter(|_| is_word) {
        first.make_ascii_uppercase();
    }
    sentence
}

pub(super) fn worth(rows: &[PieceWorth]) -> Markup {
    html! {
        @if !rows.is_empty() { div.worth { table {
            thead { tr { th scope="col" title="what counts it, and the means of its tables, each entry as often as positions have it; centipawns" { "Worth of pieces" } th scope="col" { "middlegame" } th scope="col" { "endgame" } } }
            tbody { @for PieceWorth { piece, before, after } in rows { tr {
                th scope="row" { @if let Some(role) = ROLE_NAMES.iter().position(|name| name == piece) { (pieces::icon(role)) } (piece) }
                @for phase in 0..2 { td { span.soft { (whole(before[phase])) " → " } strong { (whole(after[phase])) } } }
            } } }
        } } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Parameter;
    use super::*;
    use crate::conclusion::Verdict;

    #[test]
    fn the_verdict_comes_first_with_the_worth_of_pieces() {
        let square = |i: usize| format!("{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
        let rook = |i: usize| Parameter {
            name: format!("rook_{}", square(i)),
            group: "rook".to_string(),
            values: [510.0, 530.0],
            reference: Some([500.0, 500.0]),
            ..Parameter::default()
        };
        let verdict = Verdict {
            judgement: Judgement::Better,
            figure: "Held-out error −3.7 % ± 0.5 %".to_string(),
            measured_on: "5 folds".to_string(),
            words: "<b>".to_string(),
        };
        let next = "gputexel match '<i>' material".to_string();
        let report = RunReport {
            conclusion: Some(Conclusion { verdict, next, ..Conclusion::default() }),
            facts: vec![("loss".to_string(), "0.1".to_string())],
            worth: vec![PieceWorth { piece: "rook", before: [500.0; 2], after: [510.0, 530.0] }],
            parameters: (0..64).map(rook).collect(),
            reference: "the prior".to_string(),
            ..RunReport::default()
        };
        let text = screen(&report).into_string();
        assert!(!text.contains("<b>") && !text.contains("<i>"), "{text}");
        let places = [
            "class=\"verdict better\"",
            "−3.7\u{a0}%\u{a0}±\u{a0}0.5\u{a0}%",
            "<code>gputexel match",
            "500 → </span><strong>510",
            "id=\"boards\"",
        ];
        let found: Vec<usize> =
            places.iter().map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))).collect();
        assert!(found.is_sorted(), "{found:?}");
        assert!(!text.contains("0.1"), "figures follow later");
        let running = screen(&RunReport { conclusion: None, ..report }).into_string();
        assert!(running.contains("0.1") && running.contains("id=\"boards\""));
    }
}
