//! What an input is, told from its beginning: games or labelled positions, how results are
//! written, and whose view numbers take.
//!
//! Owns the guesses and the words in which they are reported. Everything here looks at a few
//! thousand lines that the caller has buffered, so it works for pipes, too.

use std::path::Path;

use serde::Serialize;
use shakmaty::{CastlingMode, Position};

use super::fen::{legal_position, parse_board, parse_fen};
use super::labels::{LabelError, LabelSyntax, Outcome, parse_label};
use super::pgn::is_tag_pair;
use super::sample::{Agreement, tendency};
use super::text::{Columns, PointOfView, TextFormat, read_columns, significant_lines, split_columns};
use crate::error::{Error, Result};

/// Lines that are looked at.
pub const DETECTION_LINES: usize = 4000;

/// What kind of input it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    /// Games in portable game notation.
    Pgn,
    /// Labelled positions, one a line.
    Text,
}

/// What was found out about a labelled text.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// How to read it.
    pub format: TextFormat,
    /// On what grounds, in words.
    pub evidence: String,
    /// Whether the first lines have game numbers.
    pub has_games: bool,
    /// What the user should look at, if anything.
    pub warning: Option<String>,
}

/// Tells games from labelled positions: by content, and by name where the content is not clear.
pub fn detect_kind(name: &str, head: &[u8]) -> InputKind {
    let lines = || significant_lines(head, 1).map(|(_, line)| line).filter(|line| line[0] != b'%');
    if let Some(first) = lines().next() {
        if is_tag_pair(first) {
            return InputKind::Pgn;
        }
        if is_position(first) || find_columns(first, 1).is_some() {
            return InputKind::Text;
        }
    }
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(&name);
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("pgn") => return InputKind::Pgn,
        Some("epd" | "fen" | "book" | "txt" | "csv" | "tsv") => return InputKind::Text,
        _ => {}
    }
    let looks_like_movetext = |line: &[u8]| line.starts_with(b"1.") || line.starts_with(b"{");
    if lines().any(is_position) {
        InputKind::Text
    } else if lines().any(|line| is_tag_pair(line) || looks_like_movetext(line)) {
        InputKind::Pgn
    } else {
        InputKind::Text
    }
}

fn is_position(line: &[u8]) -> bool {
    parse_board(line).is_ok_and(|(_, used)| line.get(used) == Some(&b' '))
}

/// Finds out how the results of a text are written and whose view they take.
///
/// `head` is its beginning; unless `complete`, its last line may be cut and is not looked at.
///
/// # Errors
/// [`Error::Input`] with the first line when no line holds a position, or positions have no
/// result.
pub fn detect_text(
    name: &str,
    head: &[u8],
    complete: bool,
    syntax: Option<LabelSyntax>,
    point_of_view: Option<PointOfView>,
) -> Result<Detection> {
    if head.len() > 8 && head[8] == b'{' && head[4..8] == [0; 4] {
        return Err(Error::input(name, "is a dataset already, not games or positions"));
    }
    let head = match memchr::memrchr(b'\n', head) {
        Some(end) if !complete => &head[..=end],
        _ => head,
    };
    let Some((first_number, first)) = significant_lines(head, 1).next() else {
        return Err(Error::input(name, "is empty: it holds no positions"));
    };
    let columns = find_columns(first, first_number);
    let (syntax, columns) = match (syntax, columns) {
        (None | Some(LabelSyntax::Csv), Some(columns)) => (LabelSyntax::Csv, Some(columns)),
        (Some(LabelSyntax::Csv), None) => {
            return Err(Error::line(
                name,
                first_number,
                "no header line with a column fen and a column result, wdl or label",
            ));
        }
        (Some(syntax), _) => (syntax, None),
        (None, None) => (detect_syntax(name, head)?, None),
    };
    let mut format = TextFormat { syntax, columns, point_of_view: PointOfView::White };
    let reading = as_white(head, &format);
    let (point_of_view, evidence, warning) = judge(&reading, syntax, point_of_view);
    format.point_of_view = point_of_view;
    Ok(Detection { format, evidence, has_games: reading.any_game_number, warning })
}

/// The syntax that most lines follow.
fn detect_syntax(name: &str, head: &[u8]) -> Result<LabelSyntax> {
    let mut votes = [0u32; LabelSyntax::ALL.len()];
    let mut first_position = None;
    let mut first_error = None;
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        match parse_fen(line) {
            Err(error) => {
                first_error.get_or_insert((number, error));
            }
            Ok((_, used)) => {
                first_position.get_or_insert(number);
                for (vote, syntax) in votes.iter_mut().zip(LabelSyntax::ALL) {
                    *vote += match parse_label(syntax, &line[used..]) {
                        Ok(_) => 1000,
                        Err(LabelError::Unknown | LabelError::OutOfRange) => 1,
                        Err(LabelError::Missing) => 0,
                    };
                }
            }
        }
    }
    let best = votes.iter().copied().max().unwrap_or(0);
    match (votes.iter().position(|&vote| vote == best && best > 0), first_position, first_error) {
        (Some(index), _, _) => Ok(LabelSyntax::ALL[index]),
        (None, Some(number), _) => Err(Error::line(name, number, "no result after the position")),
        (None, None, Some((number, error))) => Err(Error::line(name, number, error.reason())),
        (None, None, None) => Err(Error::input(name, "is empty: it holds no positions")),
    }
}

/// Reads a header line: a column for the position, one for the result, perhaps one for a score.
fn find_columns(line: &[u8], header_line: u64) -> Option<Columns> {
    [b',', b';', b'\t', b'|'].into_iter().find_map(|delimiter| {
        let titles: Vec<String> = split_columns(line, delimiter)
            .iter()
            .map(|title| String::from_utf8_lossy(title).trim().to_ascii_lowercase())
            .collect();
        let find = |names: &[&str]| names.iter().find_map(|name| titles.iter().position(|t| t == name));
        Some(Columns {
            header_line,
            delimiter,
            fen: find(&["fen", "epd", "position", "board"])?,
            result: find(&["result", "wdl", "outcome", "label", "target", "game_result", "white_result"])?,
            score: find(&["score", "cp", "score_cp", "eval", "evaluation", "centipawns"]),
            game: find(&["game", "game_id", "game_number"]),
        })
    })
}

/// What the first lines say when their numbers are read as White's view.
#[derive(Default)]
struct Reading {
    /// Numbers held against material.
    numbers: Agreement,
    any_number: bool,
    any_game_result: bool,
    any_game_number: bool,
}

fn as_white(head: &[u8], format: &TextFormat) -> Reading {
    let mut reading = Reading::default();
    let header_line = format.columns.as_ref().map(|columns| columns.header_line);
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        if header_line == Some(number) {
            continue;
        }
        let read = match &format.columns {
            Some(columns) => read_columns(line, columns)
                .ok()
                .and_then(|(fen, label)| Some((parse_fen(&fen).ok()?.0, label))),
            None => parse_fen(line)
                .ok()
                .and_then(|(setup, used)| Some((setup, parse_label(format.syntax, &line[used..]).ok()?))),
        };
        let Some((setup, label)) = read else { continue };
        reading.any_game_number |= label.game.is_some();
        match label.outcome {
            Outcome::Game(_) => reading.any_game_result = true,
            Outcome::Number(value) => {
                reading.any_number = true;
                if let Ok(position) = legal_position(setup, CastlingMode::Chess960) {
                    reading.numbers.add(position.board(), position.turn(), value);
                }
            }
        }
    }
    reading
}

/// Decides on the point of view; returns it with the evidence and perhaps a warning.
///
/// Only lines with Black to move differ between the readings, so they alone decide, and only
/// when at least ten of them are three standard deviations off a coin's toss.
fn judge(
    reading: &Reading,
    syntax: LabelSyntax,
    asked: Option<PointOfView>,
) -> (PointOfView, String, Option<String>) {
    let default = match syntax {
        LabelSyntax::Ce => PointOfView::Stm,
        _ => PointOfView::White,
    };
    if !reading.any_number && reading.any_game_result {
        let warning = (asked == Some(PointOfView::Stm))
            .then(|| "results such as 1-0 are White's view; --pov stm applies to numbers only".to_string());
        return (asked.unwrap_or(PointOfView::White), "game results are always White's view".into(), warning);
    }
    let numbers = &reading.numbers;
    let found = match tendency(numbers.black_to_move_agree, numbers.black_to_move) {
        1 => Some(PointOfView::White),
        -1 => Some(PointOfView::Stm),
        _ => None,
    };
    let percent = |agree: u64| 100.0 * agree as f64 / numbers.black_to_move.max(1) as f64;
    let counted = format!(
        "with Black to move, {:.0} % of {} decisive, imbalanced results go to the side with more material \
         when read as White's view, {:.0} % when read as the side to move's",
        percent(numbers.black_to_move_agree),
        numbers.black_to_move,
        percent(numbers.black_to_move - numbers.black_to_move_agree),
    );
    match (asked, found) {
        (Some(asked), Some(found)) if asked != found => (
            asked,
            format!("asked for; {counted}"),
            Some(format!("--pov {} was asked for, but the results look like {}", asked.name(), found.name())),
        ),
        (Some(asked), _) => (asked, "asked for".to_string(), None),
        (None, Some(found)) if found != default => (
            found,
            counted,
            Some(format!(
                "syntax {} usually has the point of view {}, but these results clearly have {}",
                syntax.name(),
                default.name(),
                found.name()
            )),
        ),
        (None, Some(found)) => (found, counted, None),
        (None, None) => {
            let why = if numbers.black_to_move < 10 {
                format!(
                    "default; the first lines hold only {} decisive, imbalanced results with Black to move",
                    numbers.black_to_move
                )
            } else {
                format!("default, material does not tell: {counted}")
            };
            (default, why, None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE_UP: &str = "4k3/8/8/8/8/8/3Q4/4K3";
    const BLACK_UP: &str = "4k3/3q4/8/8/8/8/8/4K3";

    /// Lines in which the side with the queen wins, as numbers from a point of view.
    fn lines(view: PointOfView, label: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        for i in 0..40 {
            let (board, white) = if i % 3 == 0 { (BLACK_UP, "0.0") } else { (WHITE_UP, "1.0") };
            let black_moves = i % 2 == 0;
            let result = match (view, black_moves) {
                (PointOfView::Stm, true) => {
                    if white == "1.0" {
                        "0.0"
                    } else {
                        "1.0"
                    }
                }
                _ => white,
            };
            text += &format!("{board} {} - - {}\n", if black_moves { "b" } else { "w" }, label(result));
        }
        text
    }

    fn detect(text: &str) -> Detection {
        detect_text("x.epd", text.as_bytes(), true, None, None).unwrap()
    }

    #[test]
    fn evidence_beats_the_default_and_says_so() {
        use PointOfView::{Stm, White};
        let brackets = |result: &str| format!("[{result}]");
        let ce = |result: &str| format!("ce {result}");
        let found = detect(&lines(White, brackets));
        assert_eq!((found.format.syntax, found.format.point_of_view), (LabelSyntax::Brackets, White));
        assert_eq!(found.warning, None);
        let found = detect(&lines(Stm, brackets));
        assert_eq!(found.format.point_of_view, Stm);
        assert!(found.warning.unwrap().contains("clearly have stm"));
        let found = detect(&lines(Stm, ce));
        assert_eq!((found.format.point_of_view, found.warning), (Stm, None));
        assert_eq!(detect(&lines(White, ce)).format.point_of_view, White);
    }

    #[test]
    fn without_evidence_the_default_is_taken() {
        let found = detect(&format!("{WHITE_UP} b - - ce 0.1\n"));
        assert_eq!(found.format.point_of_view, PointOfView::Stm);
        assert!(found.evidence.starts_with("default"), "{}", found.evidence);
        let found = detect(&format!("{WHITE_UP} b - - 1-0\n"));
        assert_eq!(found.format.point_of_view, PointOfView::White);
        assert!(found.evidence.contains("always White's view"));
    }

    #[test]
    fn what_was_asked_for_is_done_but_questioned() {
        let text = lines(PointOfView::White, |result| format!("[{result}]"));
        let found = detect_text("x", text.as_bytes(), true, None, Some(PointOfView::Stm)).unwrap();
        assert_eq!(found.format.point_of_view, PointOfView::Stm);
        assert!(found.warning.unwrap().contains("look like white"));
    }

    #[test]
    fn missing_results_are_named_with_their_line() {
        let message =
            |text: &str| detect_text("x.epd", text.as_bytes(), true, None, None).unwrap_err().to_string();
        assert_eq!(
            message("# a book\n4k3/8/8/8/8/8/8/4K3 w - - 0 1\n"),
            "x.epd:2: no result after the position"
        );
        assert_eq!(message("\n \n"), "x.epd: is empty: it holds no positions");
        assert!(message("hello\n").starts_with("x.epd:1: not a position"));
    }

    #[test]
    fn kinds_are_told_by_content_then_by_name() {
        for (name, head, kind) in [
            ("-", "[Event \"x\"]\n", InputKind::Pgn),
            ("x.epd", "\u{feff}[Event \"x\"]\n", InputKind::Pgn),
            ("games.pgn", "4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "fen,wdl\n", InputKind::Text),
            ("x.pgn.zst", "e4 e5 1-0\n", InputKind::Pgn),
            ("x.book.gz", "rubbish\n4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "rubbish\n4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "1. e4 e5 1-0\n", InputKind::Pgn),
        ] {
            assert_eq!(detect_kind(name, head.as_bytes()), kind, "{name} {head}");
        }
    }
}
