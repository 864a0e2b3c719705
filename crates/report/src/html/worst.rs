//! What an evaluation gets wrong: the positions with the largest errors, and what many of them have in common.

use maud::{Markup, html};

use super::data::{RunReport, SharedTrait, WorstPosition, WorstPositions};
use super::number::{grouped, signed};
use super::pieces;

const TERMS: usize = 4;
/// Standard errors from which a difference is set in bold.
const SIGNIFICANT: f64 = 2.0;

pub(super) fn of_run(report: &RunReport) -> Option<Markup> {
    report.worst.as_ref().map(section)
}

fn section(worst: &WorstPositions) -> Markup {
    let of = if worst.is_held_out { "held-out" } else { "training" };
    html! {
        p.note {
            "The largest errors on " (grouped(worst.positions)) " " (of) " positions"
            @if !worst.is_held_out { ", as none were held out" }
            ", one per game. Some are the targets': games are decided by blunders, too, and searches err. Look for what many of them share. "
            (worst.note)
        }
        @if !worst.shared.is_empty() {
            div.pair {
                @let is_term = |shared: &&SharedTrait| shared.kind.contains("term");
                (shared("Phase and material", worst, |shared| !is_term(&shared)))
                (shared("Terms that are more frequent than elsewhere", worst, |shared| is_term(&shared)))
            }
        }
        (cases(&worst.shown, "worst"))
    }
}

fn shared(caption: &str, worst: &WorstPositions, wanted: impl Fn(&SharedTrait) -> bool) -> Markup {
    let rows: Vec<&SharedTrait> = worst.shared.iter().filter(|shared| wanted(shared)).collect();
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    html! {
        div.scroll { table {
            caption { (caption) span.soft { "share of the " (grouped(worst.worst)) " worst, and of all; bold: more than two standard errors apart" } }
            thead { tr { th scope="col" { "" } th scope="col" { "worst" } th scope="col" { "all" } th scope="col" { "ratio" } } }
            tbody { @for row in &rows {
                @let ratio = if row.all > 0.0 { format!("× {:.1}", row.worst / row.all) } else { "–".to_string() };
                tr {
                    th scope="row" { @if row.kind == "any term of" { "any of " } (row.name) }
                    td { (percent(row.worst)) } td { (percent(row.all)) }
                    td { @if row.excess().abs() > SIGNIFICANT { strong { (ratio) } } @else { (ratio) } }
                }
            } }
        } }
        @if rows.is_empty() { p.note { "No term is." } }
    }
}

pub(super) fn cases(positions: &[WorstPosition], id: &str) -> Markup {
    html! {
        div.cases { @for (index, position) in positions.iter().enumerate() { (case(position, &format!("{id}-{index}"))) } }
    }
}

fn case(position: &WorstPosition, id: &str) -> Markup {
    let WorstPosition { fen, number, game, score, predicted, target, terms, first } = position;
    let fen = fen.as_deref().unwrap_or("");
    let others: f64 = terms.iter().skip(TERMS).map(|term| term.1).sum();
    html! {
        div.case {
            (pieces::diagram(fen, id))
            div {
                @if let Some((score, predicted)) = first { p { "A: score " strong { (signed(*score)) } ", predicted " (percent(*predicted)) } }
                p { @if first.is_some() { "B: " } "score " strong { (signed(*score)) } ", predicted " (percent(*predicted)) ", target " strong { (percent(*target)) } }
                ul.terms {
                    @for (name, value) in terms.iter().take(TERMS) { li { span { (name) } " " (signed(*value)) } }
                    @if terms.len() > TERMS { li { span { "others" } " " (signed(others)) } }
                }
                p.soft {
                    "position " (grouped(*number)) @if let Some(game) = game { ", game " (grouped(*game)) }
                    @if let Some(address) = pieces::analysis(fen) { br; a href=(address) rel="noreferrer" { "analyze at lichess" } }
                }
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "<script>\"'&";

    fn worst() -> WorstPositions {
        let position = |fen: &str| WorstPosition {
            fen: Some(fen.to_string()),
            number: 1234,
            game: Some(7),
            score: 412.4,
            predicted: 0.913,
            target: 0.0,
            terms: (0..6).map(|i| (format!("{EVIL}{i}"), 100.0 - f64::from(i))).collect(),
            first: None,
        };
        let shared =
            |kind, worst: f64| SharedTrait { kind, name: EVIL.to_string(), worst, all: 0.1, error: 0.01 };
        WorstPositions {
            is_held_out: false,
            positions: 5000,
            worst: 100,
            note: EVIL.to_string(),
            shared: vec![shared("phase", 0.11), shared("any term of", 0.25)],
            shown: vec![position("8/8/8/8/8/8/8/K1k5 w - - 0 1"), position(EVIL)],
        }
    }

    #[test]
    fn positions_have_score_target_terms_and_a_link_and_no_text_becomes_markup() {
        let text = section(&worst()).into_string();
        assert!(!text.contains("<script"), "{text}");
        for part in [
            "5,000 training positions, as none were held out",
            "score <strong>+412</strong>, predicted 91 %, target <strong>0 %</strong>",
            "</span> +100",
            "others</span> +191",
            "position 1,234, game 7",
            "href=\"https://lichess.org/analysis/standard/8/8/8/8/8/8/8/K1k5_w_-_-_0_1\"",
            "<strong>× 2.5</strong>",
            "<td>× 1.1</td>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("lichess").count(), 2, "a text that is not a FEN has no link: {text}");
    }
}
