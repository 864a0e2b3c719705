//! Cards of runs and matches for posts: SVG of 1200 × 630 that stand alone.

use maud::{Markup, html};

use super::boards::Boards;
use super::data::{Judgement, RunReport};
use super::groups::groups;
use super::matches::MatchReport;
use super::number::grouped;
use super::{first, pieces};

/// Characters of a line that fit beside a board, and of one without.
const NARROW: usize = 38;
const WIDE: usize = 62;
/// Colors: ink, soft text, lines, and won, drawn and lost games.
const INK: &str = "#1c2026";
const SOFT: &str = "#57606a";
const PARTS: [&str; 3] = ["#6FACF5", "#D4D9DF", "#F29A52"];
/// Side of a board and its left and upper edge.
const BOARD: usize = 440;
const AT: [usize; 2] = [712, 100];

/// Returns a text of at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() <= most {
        true => text.to_string(),
        false => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Returns a line of text at its left end.
fn line(text: &str, [x, y]: [usize; 2], size: usize, color: &str, most: usize) -> Markup {
    html! { text x=(x) y=(y) font-size=(size) fill=(color) { (cut(text, most)) } }
}

/// Returns the whole picture.
fn card(title: &str, content: &Markup) -> String {
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" viewBox="0 0 1200 630" font-family="system-ui, Segoe UI, Roboto, Helvetica, Arial, sans-serif" {
            title { (title) }
            rect width="1200" height="630" fill="#ffffff" {}
            rect width="14" height="630" fill="#0b62c4" {}
            (content)
            text x="1152" y="600" font-size="22" fill=(SOFT) text-anchor="end" { "gputexel" }
        }
    };
    picture.into_string() + "\n"
}

impl RunReport {
    /// Returns a picture of the verdict, the worth of pieces, and the board that changed most, as an SVG document.
    pub fn card(&self) -> String {
        let groups = groups(&self.parameters);
        let boards = Boards::new(&self.parameters, &groups);
        let board = boards.most_changed();
        let most = if board.is_some() { NARROW } else { WIDE };
        let (figure, said) = match &self.verdict {
            Some(verdict) => (
                verdict.figure.as_str(),
                match verdict.judgement {
                    Judgement::Better => "better than its prior",
                    Judgement::Same => "no better than its prior",
                    Judgement::Worse => "worse than its prior",
                    Judgement::Unknown => "not judged: no positions were held out",
                },
            ),
            None => ("No result yet", self.status.as_str()),
        };
        let worth = first::pieces_worth(self, &groups);
        let number = |value: f64| format!("{:.0}", value.round() + 0.0);
        let change = |values: [f64; 2], before: Option<[f64; 2]>, phase: usize| match before {
            Some(before) => format!("{} → {}", number(before[phase]), number(values[phase])),
            None => number(values[phase]),
        };
        let content = html! {
            (line(&self.title, [60, 76], 26, SOFT, WIDE))
            g font-weight="700" { (line(figure, [60, 160], 40, INK, most)) }
            (line(said, [60, 206], 28, INK, most + 10))
            @if worth.is_empty() { (line("No parameters are the worth of a piece.", [60, 300], 24, SOFT, most + 10)) }
            @else {
                (line("middlegame", [270, 268], 22, SOFT, most))
                (line("endgame", [480, 268], 22, SOFT, most))
            }
            @for (row, (role, (name, values, before))) in worth.iter().enumerate() {
                @let y = 312 + 48 * row;
                g fill=(INK) { (pieces::shape(*role, &format!("translate(56 {}) scale(0.82)", y - 29))) }
                (line(name, [104, y], 26, INK, 11))
                @for (phase, x) in [270, 480].into_iter().enumerate() {
                    (line(&change(*values, *before, phase), [x, y], 26, INK, 14))
                }
            }
            @if let Some((caption, cells)) = &board {
                @let side = BOARD / 8;
                @for (index, cell) in cells.iter().enumerate() { @if let Some((text, color)) = cell {
                    @let (x, y) = (AT[0] + index % 8 * side, AT[1] + index / 8 * side);
                    rect x=(x) y=(y) width=(side - 2) height=(side - 2) fill=(color) {}
                    text x=(x + side / 2 - 1) y=(y + side / 2 + 6) font-size="19" fill=(INK) text-anchor="middle" { (text) }
                } }
                (line(caption, [AT[0], AT[1] + BOARD + 30], 22, SOFT, 46))
            } @else { (line("No table of squares.", [60, 600], 22, SOFT, most)) }
        };
        card(&self.title, &content)
    }
}

impl MatchReport {
    /// Returns a picture of the result, as an SVG document.
    pub fn card(&self) -> String {
        let all: u64 = self.games.iter().sum();
        let figure = self.head.facts.first().filter(|_| all > 0);
        let words = match figure {
            Some((name, value)) => (value.as_str(), name.as_str()),
            None => ("No games yet", self.head.status.as_str()),
        };
        let widths = self.games.map(|games| 1080.0 * games as f64 / all.max(1) as f64);
        let lefts = [0, 1, 2].map(|part| 60.0 + widths[..part].iter().sum::<f64>());
        let test = self.head.facts.iter().find(|fact| fact.0.starts_with("test: "));
        let content = html! {
            (line(&self.head.title, [60, 90], 36, INK, 54))
            g font-weight="700" { (line(words.0, [60, 240], 96, INK, 22)) }
            (line(words.1, [60, 300], 28, SOFT, WIDE))
            @for ((left, width), color) in lefts.into_iter().zip(widths).zip(PARTS) {
                rect x=(format!("{left:.1}")) y="360" width=(format!("{width:.1}")) height="64" fill=(color) {}
            }
            @if all > 0 {
                (line(&format!("{} won, {} drawn, {} lost", grouped(self.games[0]), grouped(self.games[1]), grouped(self.games[2])), [60, 470], 28, INK, WIDE))
            }
            @if let Some((name, value)) = test { (line(&format!("{name}; {value}"), [60, 530], 26, INK, WIDE + 10)) }
            (line(&self.head.status, [60, 600], 22, SOFT, WIDE))
        };
        card(&self.head.title, &content)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{Parameter, Verdict};
    use super::super::heading::Heading;
    use super::*;

    const EVIL: &str = "</svg><script>x</script>\"'&";

    fn pawns(change: f64) -> Vec<Parameter> {
        let square = |i: usize| format!("{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
        let pawn = |i: usize| Parameter {
            name: format!("{EVIL}_{}", square(i)),
            group: "pawn".to_string(),
            values: [100.0, 100.0 + change * i as f64],
            reference: Some([100.0; 2]),
            ..Parameter::default()
        };
        (8..56).map(pawn).collect()
    }

    #[test]
    fn cards_of_runs_show_the_verdict_and_the_board_that_changed_most() {
        let verdict =
            Verdict { judgement: Judgement::Better, figure: EVIL.to_string(), ..Verdict::default() };
        let report = RunReport {
            title: EVIL.repeat(9),
            verdict: Some(verdict),
            parameters: pawns(1.0),
            ..RunReport::default()
        };
        let text = report.card();
        assert!(!text.contains("<script") && text.matches("</svg>").count() == 1, "{text}");
        for part in
            ["width=\"1200\" height=\"630\"", "better than its prior", "pawn, endgame", ">155<", "100 → "]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn cards_without_results_say_what_is_missing() {
        let text = RunReport::default().card();
        for part in ["No result yet", "No parameters are the worth of a piece", "No table of squares"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = MatchReport::default().card();
        assert!(text.contains("No games yet") && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn cards_of_matches_show_elo_and_games() {
        let head = Heading {
            title: EVIL.to_string(),
            facts: vec![("Elo of A over B".to_string(), "+12.0 ± 5.0".to_string())],
            ..Heading::default()
        };
        let text = MatchReport { head, games: [5, 3, 2], ..MatchReport::default() }.card();
        assert!(!text.contains("<script"), "{text}");
        for part in ["+12.0 ± 5.0", "5 won, 3 drawn, 2 lost", "x=\"600.0\" y=\"360\" width=\"324.0\""] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
