//! Cards of runs and matches for posts: PNG of 1200 × 630.

use super::boards::Boards;
use super::data::{Parameter, RunReport};
use super::groups::groups;
use super::matches::MatchReport;
use super::number::{grouped, whole};
use super::{first, pieces};
use crate::Judgement;
use crate::picture::{Anchor, Canvas, Font};

/// Left and right edges of lines of text, and the right one beside a board.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 1150.0;
const BESIDE: f64 = 680.0;
/// Colors: paper, edge, ink, soft text, and won, drawn and lost games.
const PAPER: [u8; 3] = [255; 3];
const EDGE: [u8; 3] = [0x0b, 0x62, 0xc4];
const INK: [u8; 3] = [0x1c, 0x20, 0x26];
const SOFT: [u8; 3] = [0x57, 0x60, 0x6a];
const PARTS: [[u8; 3]; 3] = [[0x6f, 0xac, 0xf5], [0xd4, 0xd9, 0xdf], [0xf2, 0x9a, 0x52]];
/// Values listed in the place of a board.
const CLEAREST: usize = 8;
/// Side of a square, and the left and upper edge of a board.
const SQUARE: f64 = 55.0;
const AT: [f64; 2] = [712.0, 100.0];

/// A font with capitals of a height in pixels.
const fn font(size: f64, color: [u8; 3]) -> Font {
    Font { size, color, bold: false, anchor: Anchor::Left }
}

const fn bold(size: f64) -> Font {
    Font { bold: true, ..font(size, INK) }
}

/// Returns a card without content.
fn card() -> Canvas {
    let mut picture = Canvas::new([1200, 630], PAPER);
    picture.rectangle([0.0, 0.0, 14.0, 630.0], EDGE);
    picture
}

/// Returns the card as PNG, with the name of the program.
fn finished(mut picture: Canvas) -> Vec<u8> {
    picture.text("gputexel", [RIGHT, 602.0], RIGHT, Font { anchor: Anchor::Right, ..font(16.0, SOFT) });
    picture.png()
}

impl RunReport {
    /// Returns a picture of the verdict, the worth of pieces, and the board that changed most, as PNG.
    pub fn card(&self) -> Vec<u8> {
        let mut picture = card();
        let groups = groups(&self.parameters);
        let boards = Boards::new(&self.parameters, &groups);
        let board = boards.most_changed();
        let room = if board.is_some() || self.parameters.len() > 6 { BESIDE - LEFT } else { RIGHT - LEFT };
        let (figure, said) = match self.conclusion.as_ref().map(|conclusion| &conclusion.verdict) {
            Some(verdict) => (
                verdict.figure.as_str(),
                match verdict.judgement {
                    Judgement::Better => "better than its prior",
                    Judgement::Same => "no better than its prior",
                    Judgement::Worse => "worse than its prior",
                    Judgement::TooLittle | Judgement::Unknown => "not judged: no positions were held out",
                },
            ),
            None => ("No result yet", self.status.as_str()),
        };
        picture.text(&self.title, [LEFT, 70.0], RIGHT - LEFT, font(19.0, SOFT));
        picture.text(figure, [LEFT, 152.0], room, bold(25.0));
        picture.text(said, [LEFT, 202.0], room, font(20.0, INK));
        let worth = first::pieces_worth(self, &groups);
        if worth.is_empty() {
            picture.text("No parameters are the worth of a piece.", [LEFT, 300.0], room, font(17.0, INK));
        } else {
            picture.text("middlegame", [270.0, 268.0], room, font(15.0, SOFT));
            picture.text("endgame", [480.0, 268.0], room, font(15.0, SOFT));
        }
        for (row, (role, (name, values, before))) in worth.iter().enumerate() {
            let y = 318.0 + 50.0 * row as f64;
            picture.shape(pieces::SHAPES[*role], 0.9, [LEFT - 7.0, y - 32.0], INK);
            picture.text(name, [108.0, y], 150.0, font(18.0, INK));
            for (phase, x) in [270.0, 480.0].into_iter().enumerate() {
                let after = whole(values[phase]);
                let text =
                    before.map_or(after.clone(), |before| format!("{} → {after}", whole(before[phase])));
                picture.text(&text, [x, y], 200.0, font(18.0, INK));
            }
        }
        match &board {
            None => self.clearest(&mut picture),
            Some((caption, cells)) => {
                for (index, cell) in cells.iter().enumerate() {
                    let Some((text, fill)) = cell else { continue };
                    let (x, y) = (AT[0] + (index % 8) as f64 * SQUARE, AT[1] + (index / 8) as f64 * SQUARE);
                    picture.rectangle([x, y, SQUARE - 2.0, SQUARE - 2.0], *fill);
                    let middle = [x + SQUARE / 2.0 - 1.0, y + SQUARE / 2.0 + 6.0];
                    picture.text(text, middle, SQUARE, Font { anchor: Anchor::Middle, ..font(13.0, INK) });
                }
                let below = [AT[0], AT[1] + 8.0 * SQUARE + 24.0];
                picture.text(caption, below, 8.0 * SQUARE, font(14.0, SOFT));
            }
        }
        finished(picture)
    }
}

impl RunReport {
    /// Draws the values that changed most, in standard errors where these are known, in the place of a board.
    fn clearest(&self, picture: &mut Canvas) {
        let changed = |parameter: &Parameter| -> Option<f64> {
            let before = parameter.reference?;
            let of = |phase: usize| {
                let error = parameter.errors[phase].filter(|error| *error > 0.0).unwrap_or(1.0);
                (parameter.values[phase] - before[phase]).abs() / error
            };
            Some(of(0).max(of(1))).filter(|change| *change > 0.0 && change.is_finite())
        };
        let mut all: Vec<(f64, &Parameter)> = self
            .parameters
            .iter()
            .filter(|parameter| pieces::role_of(&parameter.name).is_none())
            .filter_map(|parameter| Some((changed(parameter)?, parameter)))
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        if all.is_empty() {
            let missing = if self.parameters.is_empty() { "No values yet." } else { "" };
            picture.text(missing, [LEFT, 602.0], RIGHT - LEFT, font(15.0, SOFT));
            return;
        }
        picture.text("clearest changes", [AT[0], 152.0], RIGHT - AT[0], font(15.0, SOFT));
        for (row, (_, parameter)) in all.iter().take(CLEAREST).enumerate() {
            let y = 202.0 + 50.0 * row as f64;
            let text = |phase: usize| {
                let before = parameter.reference.map_or(0.0, |before| before[phase]);
                format!("{} → {}", whole(before), whole(parameter.values[phase]))
            };
            let (mg, eg) = (text(0), text(1));
            let values = if mg == eg { mg } else { format!("{mg}, {eg}") };
            picture.text(&parameter.name, [AT[0], y], 220.0, font(17.0, INK));
            let right = Font { anchor: Anchor::Right, ..font(17.0, INK) };
            picture.text(&values, [RIGHT, y], RIGHT - AT[0] - 230.0, right);
        }
    }
}

impl MatchReport {
    /// Returns a picture of the result, as PNG.
    pub fn card(&self) -> Vec<u8> {
        let mut picture = card();
        let room = RIGHT - LEFT;
        let all: u64 = self.games.iter().sum();
        let figure = self.head.facts.first().filter(|_| all > 0);
        let (figure, name) = match figure {
            Some((name, value)) => (value.as_str(), name.as_str()),
            None => ("No games yet", self.head.status.as_str()),
        };
        picture.text(&self.head.title, [LEFT, 90.0], room, font(26.0, INK));
        picture.text(figure, [LEFT, 240.0], room, bold(68.0));
        picture.text(name, [LEFT, 300.0], room, font(20.0, SOFT));
        let mut left = LEFT;
        for (games, color) in self.games.into_iter().zip(PARTS) {
            let width = room * games as f64 / all.max(1) as f64;
            picture.rectangle([left, 360.0, width, 64.0], color);
            left += width;
        }
        if all > 0 {
            let [won, drawn, lost] = self.games.map(grouped);
            let text = format!("{won} won, {drawn} drawn, {lost} lost");
            picture.text(&text, [LEFT, 474.0], room, font(20.0, INK));
        }
        if let Some((name, value)) = self.head.facts.iter().find(|fact| fact.0.starts_with("test: ")) {
            picture.text(&format!("{name}; {value}"), [LEFT, 530.0], room, font(18.0, INK));
        }
        picture.text(&self.head.status, [LEFT, 602.0], 900.0, font(15.0, SOFT));
        finished(picture)
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Parameter;
    use super::super::heading::Heading;
    use super::*;
    use crate::Verdict;

    const ODD: &str = "<b>\"'&☃";

    /// The lines of text in a card.
    fn words(file: &[u8]) -> String {
        assert!(file.starts_with(b"\x89PNG"));
        let text = String::from_utf8_lossy(file);
        let described = text.split("Description\0\0\0\0\0").nth(1).unwrap();
        described.split("gputexel").next().unwrap().to_string()
    }

    fn pawns(change: f64) -> Vec<Parameter> {
        let square = |i: usize| format!("{}{}", (b'a' + (i % 8) as u8) as char, i / 8 + 1);
        let pawn = |i: usize| Parameter {
            name: format!("{ODD}_{}", square(i)),
            group: "pawn".to_string(),
            values: [100.0, 100.0 + change * i as f64],
            reference: Some([100.0; 2]),
            ..Parameter::default()
        };
        (8..56).map(pawn).collect()
    }

    #[test]
    fn cards_of_runs_show_the_verdict_and_the_board_that_changed_most() {
        let verdict = Verdict { judgement: Judgement::Better, figure: ODD.to_string(), ..Verdict::default() };
        let report = RunReport {
            title: ODD.repeat(9),
            conclusion: Some(crate::Conclusion { verdict, ..crate::Conclusion::default() }),
            parameters: pawns(1.0),
            ..RunReport::default()
        };
        let text = words(&report.card());
        for part in [ODD, "better than its prior", "pawn, endgame", "\n155\n", "100 → "] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn cards_without_results_say_what_is_missing() {
        let text = words(&RunReport::default().card());
        for part in ["No result yet", "No parameters are the worth of a piece", "No values yet"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = words(&MatchReport::default().card());
        assert!(text.contains("No games yet") && !text.contains("NaN"), "{text}");
    }

    #[test]
    fn cards_of_matches_show_elo_and_games() {
        let head = Heading {
            title: ODD.to_string(),
            facts: vec![("Elo of A over B".to_string(), "+12.0 ± 5.0".to_string())],
            ..Heading::default()
        };
        let text = words(&MatchReport { head, games: [5, 3, 2], ..MatchReport::default() }.card());
        for part in [ODD, "+12.0 ± 5.0", "5 won, 3 drawn, 2 lost"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
