//! Detects from its beginning what an input is: games or labeled positions, how results are
//! written, and whose view numbers take.
//!
//! Owns the guesses and the words in which they are reported. Everything here looks at a few
//! thousand lines that the caller has buffered, so it works for pipes, too.

use std::path::Path;

use serde::Serialize;
use shakmaty::{CastlingMode, Position};

use super::fen::{legal_position, parse_board, parse_fen};
use super::labels::{Label, LabelError, LabelSyntax, Outcome, Word, parse_label};
use super::pgn::is_tag_pair;
use super::sample::{Agreement, TELLING_SCORE_CP, Verdict, material_balance, tendency};
use super::scale::ResultScale;
use super::text::{Columns, PointOfView, TextFormat, parse_labeled, read_columns, significant_lines};
use super::unsupported::{
    DELIMITERS, PERCENT, POSITIONS, RESULTS, SCORES, instead_of_result, is_json, is_plain, lacking_column,
    titles,
};
use gputexel_files::{Advice, Error, Result};

/// Lines that are looked at.
pub const DETECTION_LINES: usize = 4000;

/// What kind of input it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    /// Games in portable game notation.
    Pgn,
    /// Labeled positions, one a line.
    Text,
}

pub use super::unsupported::unsupported_format;

/// What the user said of labeled texts; the rest is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextOptions {
    /// How results are written.
    pub syntax: Option<LabelSyntax>,
    /// What numbers stand for a loss and a win.
    pub scale: Option<ResultScale>,
    /// Whose view results take.
    pub point_of_view: Option<PointOfView>,
    /// Whose view scores take.
    pub score_view: Option<PointOfView>,
}

/// What was found out about a labeled text.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// How to read it.
    pub format: TextFormat,
    /// On what grounds the point of view of results was chosen, in words.
    pub evidence: String,
    /// On what grounds that of scores was, where the first lines have any.
    pub score_evidence: Option<String>,
    /// Whether the first lines have game numbers.
    pub has_games: bool,
    /// What the user should look at, if anything.
    pub warning: Option<String>,
    /// The same of scores.
    pub score_warning: Option<String>,
}

/// Tells games from labeled positions: by content, and by name where the content is not clear. `name` is in
/// lower case, without the endings of compressed files.
pub fn detect_kind(name: &str, head: &[u8]) -> InputKind {
    let lines = || significant_lines(head, 1).map(|(_, line)| line).filter(|line| line[0] != b'%');
    if let Some(first) = lines().next() {
        if is_tag_pair(first) {
            return InputKind::Pgn;
        }
        if is_position(first) || find_columns(first, 1).is_some() || is_json(first) || is_plain(first) {
            return InputKind::Text;
        }
    }
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("pgn") => return InputKind::Pgn,
        Some("epd" | "fen" | "fens" | "book" | "txt" | "csv" | "tsv") => return InputKind::Text,
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

/// Finds out how the results of a text are written and whose view they and the scores take.
///
/// `head` is its beginning; unless `complete`, its last line may be cut and is not looked at.
///
/// # Errors
/// [`Error::Input`] with the first line when no line holds a position, positions have no result, or
/// the results of the first lines clearly run against material.
pub fn detect_text(name: &str, head: &[u8], complete: bool, asked: TextOptions) -> Result<Detection> {
    if let Some(reason) = unsupported_format(head) {
        return Err(Error::input(name, reason));
    }
    let head = match memchr::memrchr(b'\n', head) {
        Some(end) if !complete => &head[..=end],
        _ => head,
    };
    let Some((first_number, first)) = significant_lines(head, 1).next() else {
        return Err(Error::input(name, "is empty: it contains no positions"));
    };
    let columns = find_columns(first, first_number);
    let lacking = || lacking_column(first).filter(|_| !is_position(first));
    let (syntax, columns) = match (asked.syntax, columns) {
        (None | Some(LabelSyntax::Csv), Some(columns)) => (LabelSyntax::Csv, Some(columns)),
        (Some(LabelSyntax::Csv), None) => {
            let reason = lacking().unwrap_or_else(|| {
                "no header line with a column fen and a column result, wdl or label".to_string()
            });
            return Err(Error::line(name, first_number, reason));
        }
        (Some(syntax), _) => (syntax, None),
        (None, None) => match lacking() {
            Some(reason) => return Err(Error::line(name, first_number, reason)),
            None => (detect_syntax(name, head)?, None),
        },
    };
    let percent = columns.as_ref().is_some_and(|columns| columns.percent);
    let mut format = TextFormat { columns, ..TextFormat::new(syntax, PointOfView::White) };
    format.scale = match asked.scale {
        Some(scale) => scale,
        None if percent => ResultScale::PERCENT,
        None => words_scale(head, &format),
    };
    let reading = as_white(head, &format);
    if percent && asked.scale.is_none() && reading.any_number && reading.highest <= 0.01 {
        let advice = Advice::default().text("extract ").setting("results", "0..1");
        let advice =
            advice.text(" reads them from 0 to 1, ").setting("results", "0..100").text(" as they are");
        let reason = "the header line says percent, but the first results are from 0 to 1";
        return Err(Error::line(name, first_number, reason).advise(advice));
    }
    let judged = judge(&reading, syntax, asked.point_of_view);
    if format.scale == ResultScale::ENDING
        && asked.point_of_view.is_none()
        && reading.any_number
        && told_view(&reading.numbers).is_none()
    {
        let advice = Advice::default().setting("pov", "white").text(" or ").setting("pov", "stm");
        let reason =
            "whether White or the side to move has won where results say so cannot be told from material";
        return Err(Error::input(name, reason).advise(advice.text(" says it")));
    }
    format.point_of_view = judged.view;
    let scores = judge_scores(&reading, asked.score_view, judged.view);
    format.score_view = scores.view;
    Ok(Detection {
        format,
        evidence: judged.evidence,
        score_evidence: reading.any_score.then_some(scores.evidence),
        has_games: reading.any_game_number,
        warning: judged.warning,
        score_warning: scores.warning,
    })
}

/// How much a line speaks for the syntax in which it was parsed.
fn vote(label: std::result::Result<Label, LabelError>) -> u32 {
    match label {
        Ok(_) => 1000,
        Err(LabelError::Unknown | LabelError::OutOfRange(_) | LabelError::Word(_) | LabelError::Weight) => 1,
        Err(LabelError::Missing) => 0,
    }
}

/// The syntax that most lines follow.
fn detect_syntax(name: &str, head: &[u8]) -> Result<LabelSyntax> {
    let mut votes = [0u32; LabelSyntax::ALL.len()];
    let mut first_position = None;
    let mut first_error = None;
    let mut instead = None;
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        match parse_fen(line) {
            Err(error) => {
                if let Ok((_, label)) = parse_labeled(LabelSyntax::Games, line, ResultScale::default()) {
                    first_position.get_or_insert(number);
                    votes[LabelSyntax::ALL.iter().position(|&own| own == LabelSyntax::Games).unwrap_or(0)] +=
                        vote(label);
                    continue;
                }
                first_error.get_or_insert((number, error));
                if first_position.is_none() && instead.is_none() {
                    instead = instead_of_result(line, None).map(|reason| (number, reason));
                }
            }
            Ok((_, used)) => {
                if first_position.is_none() {
                    first_position = Some(number);
                    instead = instead_of_result(line, Some(&line[used..])).map(|reason| (number, reason));
                }
                for (votes, syntax) in votes.iter_mut().zip(LabelSyntax::ALL) {
                    *votes += vote(parse_label(syntax, b"", &line[used..], ResultScale::default()));
                }
            }
        }
    }
    let best = votes.iter().copied().max().unwrap_or(0);
    if let (0, Some((number, reason))) = (best, instead) {
        return Err(Error::line(name, number, reason));
    }
    match (votes.iter().position(|&vote| vote == best && best > 0), first_position, first_error) {
        (Some(index), _, _) => Ok(LabelSyntax::ALL[index]),
        (None, Some(number), _) => Err(Error::line(name, number, "no result after the position")),
        (None, None, Some((number, error))) => Err(Error::line(name, number, error.reason())),
        (None, None, None) => Err(Error::input(name, "is empty: it contains no positions")),
    }
}

/// Reads a header line: a column for the position, one for the result, perhaps one for a score.
fn find_columns(line: &[u8], header_line: u64) -> Option<Columns> {
    DELIMITERS.into_iter().find_map(|delimiter| {
        let titles = titles(line, delimiter);
        let find = |names: &[&str]| names.iter().find_map(|name| titles.iter().position(|t| t == name));
        let result = find(RESULTS);
        Some(Columns {
            header_line,
            delimiter,
            fen: find(POSITIONS)?,
            result: result.or_else(|| find(PERCENT))?,
            percent: result.is_none(),
            score: find(SCORES),
            game: find(&["game", "game_id", "game_number"]),
        })
    })
}

/// The scale of a text whose first results are words for the winner: `w` means White where Black has a letter of
/// its own, and nothing says lost. Else that of numbers, on which words have no meaning.
fn words_scale(head: &[u8], format: &TextFormat) -> ResultScale {
    let (mut winner, mut other) = (false, false);
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        let error = match &format.columns {
            Some(columns) if columns.header_line == number => continue,
            Some(columns) => read_columns(line, columns, format.scale).err(),
            None => match parse_labeled(format.syntax, line, format.scale) {
                Ok((_, label)) => label.err(),
                Err(_) => continue,
            },
        };
        match error {
            Some(LabelError::Word(Word::Black | Word::White)) => winner = true,
            Some(LabelError::Word(Word::Win | Word::Loss)) | None => other = true,
            _ => {}
        }
    }
    if winner && !other { ResultScale::WINNER } else { format.scale }
}

/// What the first lines say when their numbers are read as White's view.
#[derive(Default)]
struct Reading {
    /// Numbers held against material.
    numbers: Agreement,
    /// Scores, likewise.
    scores: Agreement,
    any_score: bool,
    any_number: bool,
    /// The highest expected score.
    highest: f32,
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
            Some(columns) => read_columns(line, columns, format.scale)
                .ok()
                .and_then(|(fen, label)| Some((parse_fen(&fen).ok()?.0, label))),
            None => parse_labeled(format.syntax, line, format.scale)
                .ok()
                .and_then(|(setup, label)| Some((setup, label.ok()?))),
        };
        let Some((setup, label)) = read else { continue };
        reading.any_game_number |= label.game.is_some();
        let scored = !label.score_cp.is_nan();
        reading.any_score |= scored;
        let number = match label.outcome {
            Outcome::Game(_) => None,
            Outcome::Number(value) => Some(value),
        };
        reading.any_game_result |= number.is_none();
        reading.any_number |= number.is_some();
        reading.highest = number.unwrap_or(0.0).max(reading.highest);
        if (number.is_some() || scored)
            && let Ok(position) = legal_position(setup, CastlingMode::Chess960)
        {
            if let Some(value) = number {
                reading.numbers.add(position.board(), position.turn(), value);
            }
            if label.score_cp.abs() >= TELLING_SCORE_CP {
                let balance = material_balance(position.board());
                reading.scores.add_balance(balance, position.turn(), label.score_cp > 0.0);
            }
        }
    }
    reading
}

/// A point of view, why it was chosen, and perhaps a warning.
struct Judged {
    view: PointOfView,
    evidence: String,
    warning: Option<String>,
}

/// Which view the counts of numbers that were read as White's speak for, if any.
///
/// Lines with Black to move differ between the readings, and decide when at least ten of them are
/// three standard deviations off a coin's toss; but where those with White to move run against
/// material, it is the meaning of the numbers that is wrong, and no view mends it.
fn told_view(counts: &Agreement) -> Option<PointOfView> {
    let white = tendency(counts.white_to_move_agree, counts.white_to_move);
    match (white, tendency(counts.black_to_move_agree, counts.black_to_move)) {
        (-1, _) => None,
        (_, 1) => Some(PointOfView::White),
        (_, -1) => Some(PointOfView::Stm),
        _ => None,
    }
}

/// The counts with Black to move in words.
fn counted(counts: &Agreement, what: &str) -> String {
    let percent = |agree: u64| 100.0 * agree as f64 / counts.black_to_move.max(1) as f64;
    format!(
        "with Black to move, {:.0} % of {} {what} go to the side with more material \
         when read as White's view, {:.0} % when read as the side to move's",
        percent(counts.black_to_move_agree),
        counts.black_to_move,
        percent(counts.black_to_move - counts.black_to_move_agree),
    )
}

/// Why a default is taken.
fn untold(counts: &Agreement, default: &str, what: &str) -> String {
    if counts.verdict() == Verdict::Reversed {
        format!("{default}, {what} contradict material for both sides to move")
    } else if counts.black_to_move < 10 {
        format!("{default}; the first lines hold only {} {what} with Black to move", counts.black_to_move)
    } else {
        format!("{default}, material does not tell: {}", counted(counts, what))
    }
}

/// Decides on the point of view of results.
fn judge(reading: &Reading, syntax: LabelSyntax, asked: Option<PointOfView>) -> Judged {
    const WHAT: &str = "decisive, imbalanced results";
    let default = match syntax {
        LabelSyntax::Ce => PointOfView::Stm,
        _ => PointOfView::White,
    };
    if !reading.any_number && reading.any_game_result {
        let warning = (asked == Some(PointOfView::Stm)).then(|| {
            "results such as 1-0 are White's view; the point of view stm applies to numbers only".to_string()
        });
        let evidence = "game results are always White's view".to_string();
        return Judged { view: asked.unwrap_or(PointOfView::White), evidence, warning };
    }
    let numbers = &reading.numbers;
    let counted = counted(numbers, WHAT);
    let (view, evidence, warning) = match (asked, told_view(numbers)) {
        (Some(asked), Some(found)) if asked != found => (
            asked,
            format!("requested; {counted}"),
            Some(format!(
                "point of view {} was requested, but the results look like {}",
                asked.name(),
                found.name()
            )),
        ),
        (Some(asked), _) => (asked, "requested".to_string(), None),
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
        (None, None) => (default, untold(numbers, "default", WHAT), None),
    };
    Judged { view, evidence, warning }
}

/// Decides on the point of view of scores: engines print the side to move's beside White's results.
fn judge_scores(reading: &Reading, asked: Option<PointOfView>, results: PointOfView) -> Judged {
    const WHAT: &str = "imbalanced scores of half a pawn or more";
    let scores = &reading.scores;
    let counted = counted(scores, WHAT);
    let (view, evidence, warning) = match (asked, told_view(scores)) {
        (Some(asked), Some(found)) if asked != found => (
            asked,
            format!("requested; {counted}"),
            Some(format!(
                "point of view {} was requested, but the scores look like {}",
                asked.name(),
                found.name()
            )),
        ),
        (Some(asked), _) => (asked, "requested".to_string(), None),
        (None, Some(found)) => (found, counted, None),
        (None, None) => (results, untold(scores, "that of the results", WHAT), None),
    };
    Judged { view, evidence, warning }
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
        detect_text("x.epd", text.as_bytes(), true, TextOptions::default()).unwrap()
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
    fn words_are_read_where_their_meaning_is_certain() {
        let with = |words: [&'static str; 3], view, scale: Option<&str>| {
            let text = lines(view, |result| format!(";{}", words[usize::from(result == "1.0") * 2]));
            let text = format!("{text}{WHITE_UP} w - - ;{}\n", words[1]);
            let asked = TextOptions { scale: scale.map(|s| s.parse().unwrap()), ..TextOptions::default() };
            detect_text("x", text.as_bytes(), true, asked)
        };
        use PointOfView::{Stm, White};
        let found = with(["b", "d", "w"], White, None).unwrap();
        assert_eq!(found.format.scale, ResultScale::WINNER);
        assert!(found.evidence.contains("always White's view"));
        assert_eq!(with(["l", "d", "w"], White, None).unwrap().format.scale, ResultScale::default());
        assert_eq!(with(["l", "d", "w"], Stm, Some("wdl")).unwrap().format.point_of_view, Stm);
        assert_eq!(with(["Loss", "Draw", "Win"], White, Some("wdl")).unwrap().format.point_of_view, White);
        let mixed = format!("{WHITE_UP} w - - ;w\n{WHITE_UP} b - - ;b\n{WHITE_UP} b - - ;l\n");
        assert_eq!(detect(&mixed).format.scale, ResultScale::default());
        let few = format!("{WHITE_UP} w - - ;w\n{WHITE_UP} b - - ;l\n");
        let asked = TextOptions { scale: Some(ResultScale::ENDING), ..TextOptions::default() };
        let error = detect_text("x", few.as_bytes(), true, asked).unwrap_err();
        assert!(error.to_string().contains("cannot be told from material"), "{error}");
        let asked = TextOptions { point_of_view: Some(Stm), ..asked };
        assert_eq!(detect_text("x", few.as_bytes(), true, asked).unwrap().format.point_of_view, Stm);
    }

    #[test]
    fn a_header_may_say_percent() {
        let header = |title: &str, result: &str| {
            let text = format!("fen,{title}\n{WHITE_UP} w - -,{result}\n{WHITE_UP} w - -,0\n");
            detect_text("x", text.as_bytes(), true, TextOptions::default())
        };
        for title in ["result_percent", "Win %", "white_percent", "WDL_percent"] {
            assert_eq!(header(title, "50").unwrap().format.scale, ResultScale::PERCENT, "{title}");
        }
        assert_eq!(header("result", "0.5").unwrap().format.scale, ResultScale::default());
        assert_eq!(header("percent,result", "50,0.5").unwrap().format.scale, ResultScale::default());
        let error = header("win%", "0.5").unwrap_err().to_string();
        assert!(error.contains("says percent, but the first results are from 0 to 1"), "{error}");
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
        let asked = TextOptions { point_of_view: Some(PointOfView::Stm), ..TextOptions::default() };
        let found = detect_text("x", text.as_bytes(), true, asked).unwrap();
        assert_eq!(found.format.point_of_view, PointOfView::Stm);
        assert!(found.warning.unwrap().contains("look like white"));
    }

    #[test]
    fn missing_results_are_named_with_their_line() {
        let message = |text: &str| {
            detect_text("x.epd", text.as_bytes(), true, TextOptions::default()).unwrap_err().to_string()
        };
        assert_eq!(
            message("# a book\n4k3/8/8/8/8/8/8/4K3 w - - 0 1\n"),
            "x.epd:2: no result after the position"
        );
        assert_eq!(message("\n \n"), "x.epd: is empty: it contains no positions");
        assert!(message("hello\n").starts_with("x.epd:1: not a position"));
    }

    #[test]
    fn kinds_are_told_by_content_then_by_name() {
        for (name, head, kind) in [
            ("-", "[Event \"x\"]\n", InputKind::Pgn),
            ("x.epd", "\u{feff}[Event \"x\"]\n", InputKind::Pgn),
            ("games.pgn", "4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "fen,wdl\n", InputKind::Text),
            ("x.pgn", "e4 e5 1-0\n", InputKind::Pgn),
            ("x.book", "rubbish\n4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "rubbish\n4k3/8/8/8/8/8/8/4K3 w - - [1.0]\n", InputKind::Text),
            ("-", "1. e4 e5 1-0\n", InputKind::Pgn),
            ("-", "{\"a\" comment} 1. e4 e5 1-0\n", InputKind::Pgn),
            ("x.jsonl", "{\"fen\":\"4k3/8/8/8/8/8/8/4K3 w - -\",\"evals\":[]}\n", InputKind::Text),
        ] {
            assert_eq!(detect_kind(name, head.as_bytes()), kind, "{name} {head}");
        }
    }
}
