//! Detects the contents of an input from its beginning: games or labeled positions, how results are written,
//! and the point of view of numbers.

use std::path::Path;

use serde::Serialize;
use shakmaty::san::SanPlus;

use super::agreement::told_view;
use super::epd::operations;
use super::evidence::{are_pawns, as_white, blocks_in_turn, judge, judge_scores, words_scale};
use super::fen::{parse_board, parse_fen};
use super::fields::{Found, Survey};
use super::header::{find_columns, lacking_column};
use super::labels::{Label, LabelError, LabelSyntax, parse_label};
use super::pgn::is_tag_pair;
use super::scale::ResultScale;
use super::text::{Places, PointOfView, TextFormat, parse_labeled, significant_lines};
use super::unsupported::{instead_of_result, is_json, is_plain};
use gputexel_io::{Advice, Error, Result};

pub use super::evidence::DETECTION_LINES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    Pgn,
    Text,
}

pub use super::unsupported::unsupported_format;

/// What is known about a labeled text before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TextOptions {
    pub syntax: Option<LabelSyntax>,
    /// Numbers for a loss and a win; 0 and 1 if `None`.
    pub scale: Option<ResultScale>,
    pub point_of_view: Option<PointOfView>,
    /// Point of view of scores, also in comments of games.
    pub score_view: Option<PointOfView>,
    pub wants_scores: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    pub format: TextFormat,
    /// Detected fields and units, as text, if any.
    pub layout: Option<String>,
    /// Evidence for the point of view of results, as text.
    pub evidence: String,
    pub score_evidence: Option<String>,
    /// True if the first lines have game numbers.
    pub has_games: bool,
    pub warning: Option<String>,
    pub score_warning: Option<String>,
}

/// Distinguishes games from labeled positions: by content, and by name where the content is not clear.
pub fn detect_kind(name: &str, head: &[u8]) -> InputKind {
    let lines = || significant_lines(head, 1).map(|(_, line)| line).filter(|line| line[0] != b'%');
    if let Some(first) = lines().next() {
        if is_tag_pair(first) {
            return InputKind::Pgn;
        }
        if is_position(first) || find_columns(first, 1, true).is_some() || is_json(first) || is_plain(first) {
            return InputKind::Text;
        }
    }
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("pgn") => return InputKind::Pgn,
        Some("epd" | "fen" | "fens" | "book" | "txt" | "csv" | "tsv") => return InputKind::Text,
        _ => {}
    }
    if lines().any(is_position) {
        InputKind::Text
    } else if lines().any(|line| is_tag_pair(line) || is_movetext(line)) {
        InputKind::Pgn
    } else {
        InputKind::Text
    }
}

/// Returns true if there is a first move. Numbered lists have "1.", too, and source has braces, as comments do.
fn is_movetext(line: &[u8]) -> bool {
    memchr::memmem::find_iter(line, b"1.").any(|at| {
        let mut words = line[at + 2..].split(|&byte| byte == b'.' || byte.is_ascii_whitespace());
        words.find(|word| !word.is_empty()).is_some_and(|word| SanPlus::from_ascii(word).is_ok())
    })
}

fn is_position(line: &[u8]) -> bool {
    parse_board(line).is_ok_and(|(_, used)| line.get(used) == Some(&b' '))
}

/// Detects how the results of a text are written, and the points of view of results and scores.
///
/// `head` is its beginning; unless `complete`, its last line may be cut and is ignored.
///
/// # Errors
/// [`Error::Input`] with the first line when no line holds a position, positions have no result, it is not
/// clear which of several numbers is the result, or the results of the first lines clearly contradict
/// material.
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
    let columns = find_columns(first, first_number, asked.wants_scores);
    let lacking = || match lacking_column(first).filter(|_| !is_position(first)) {
        Some((reason, true)) => Some(Error::line(name, first_number, reason).advise(scores_instead())),
        Some((reason, false)) => Some(Error::line(name, first_number, reason)),
        None => None,
    };
    let (syntax, places, columns) = match (asked.syntax, columns) {
        (None | Some(LabelSyntax::Csv), Some(columns)) => {
            (LabelSyntax::Csv, Places::default(), Some(columns))
        }
        (Some(LabelSyntax::Csv), None) => {
            return Err(lacking().unwrap_or_else(|| {
                let reason = "no header line with a column fen and a column result, wdl or label";
                Error::line(name, first_number, reason)
            }));
        }
        (Some(syntax), _) if syntax != LabelSyntax::Fields => (syntax, Places::default(), None),
        (None, None) if let Some(error) = lacking() => return Err(error),
        _ => {
            let (syntax, places) = detect_syntax(name, head, asked)?;
            (syntax, places, None)
        }
    };
    let percent = columns.as_ref().is_some_and(|columns| columns.percent);
    let mut format = TextFormat { columns, places, ..TextFormat::new(syntax, PointOfView::White) };
    if !format.has_results() && !asked.wants_scores {
        let reason = "positions have scores, but no results";
        return Err(Error::line(name, first_number, reason).advise(scores_instead()));
    }
    format.scale = match asked.scale {
        Some(scale) => scale,
        None if percent => ResultScale::PERCENT,
        None => words_scale(head, &format),
    };
    format.pawns = are_pawns(head, &format);
    let reading = as_white(head, &format);
    let blocks = blocks_in_turn(head, &format).filter(|_| !reading.any_game_number);
    format.games_in_blocks = blocks.is_some_and(|blocks| blocks > 1);
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
    let scores = judge_scores(&reading, syntax, asked.score_view, judged.view);
    format.score_view = scores.view;
    Ok(Detection {
        layout: layout(&format, reading.any_score, blocks),
        has_games: reading.any_game_number || format.games_in_blocks,
        format,
        evidence: judged.evidence,
        score_evidence: reading.any_score.then_some(scores.evidence),
        warning: judged.warning,
        score_warning: scores.warning,
    })
}

/// Describes the meaning of the fields after the position, and the unit of scores, where the syntax leaves
/// that open.
fn layout(format: &TextFormat, any_score: bool, blocks: Option<usize>) -> Option<String> {
    let Places { result, score } = format.places;
    let place = |what: &str, place: Option<usize>| {
        Some(format!("{what} in field {} behind the position", place? + 1))
    };
    let pawns =
        (format.pawns && any_score).then(|| "scores are pawns, by their decimals and size".to_string());
    let blocks = blocks.map(|blocks| match blocks {
        1 => "games are unknown though positions look like games in order: each counts as a game of its own"
            .to_string(),
        _ => "games are parted by blank lines".to_string(),
    });
    let parts = [place("result", result), place("score", score), pawns, blocks];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn vote(label: Result<Label, LabelError>) -> u32 {
    match label {
        Ok(_) => 1000,
        Err(LabelError::Unknown | LabelError::OutOfRange(_) | LabelError::Word(_) | LabelError::Weight) => 1,
        Err(LabelError::Missing) => 0,
    }
}

fn scores_instead() -> Advice {
    Advice::default().setting("target", "score").text(" takes the scores instead")
}

fn detect_syntax(name: &str, head: &[u8], asked: TextOptions) -> Result<(LabelSyntax, Places)> {
    let mut votes = [0u32; LabelSyntax::ALL.len()];
    let mut first_position = None;
    let mut first_error = None;
    let mut instead = None;
    let mut survey = Survey::default();
    let mut positions = 0;
    for (number, line) in significant_lines(head, 1).take(DETECTION_LINES) {
        match parse_fen(line) {
            Err(error) => {
                let before = [LabelSyntax::Games, LabelSyntax::ResultFirst].map(|syntax| {
                    let (_, label) =
                        parse_labeled(&TextFormat::new(syntax, PointOfView::White), line).ok()?;
                    let at = LabelSyntax::ALL.iter().position(|&own| own == syntax)?;
                    Some((at, vote(label))).filter(|(_, vote)| *vote > 0 || syntax == LabelSyntax::Games)
                });
                if let Some((at, vote)) = before.into_iter().flatten().next() {
                    first_position.get_or_insert(number);
                    votes[at] += vote;
                    continue;
                }
                first_error.get_or_insert((number, error));
                if first_position.is_none() && instead.is_none() {
                    instead = instead_of_result(line, None).map(|reason| (number, reason));
                }
            }
            Ok((_, used)) => {
                let rest = &line[used..];
                if first_position.is_none() {
                    first_position = Some(number);
                    instead = instead_of_result(line, Some(rest)).map(|reason| (number, reason));
                }
                positions += 1;
                survey.add(rest, asked.scale);
                let ce = operations(rest).find(|(name, _)| *name == b"ce");
                if let Some((_, value)) = ce {
                    survey.ce.add(value, asked.scale);
                }
                for (votes, syntax) in votes.iter_mut().zip(LabelSyntax::ALL) {
                    // Without a result, `ce` is a score if its values are.
                    if syntax != LabelSyntax::CeScore {
                        *votes += vote(parse_label(syntax, b"", rest, ResultScale::default()));
                    }
                }
            }
        }
    }
    let best = votes.iter().copied().max().unwrap_or(0);
    let voted = votes.iter().position(|&vote| vote == best && best > 0).map(|index| LabelSyntax::ALL[index]);
    let line = first_position.unwrap_or(1);
    let fields = 2 * survey.lines > positions && voted != Some(LabelSyntax::Games);
    let mut places = Places::default();
    if fields {
        let documented = match voted {
            Some(LabelSyntax::Texelutil) => Places { result: Some(0), score: Some(1) },
            Some(LabelSyntax::ScoreResult) => Places { result: None, score: Some(0) },
            _ => Places::default(),
        };
        places = match survey.places(asked.wants_scores, documented) {
            Found::Places(places) => places,
            Found::Ambiguous(reason) => {
                let reason = format!("{reason}; name them in a header line, such as fen;score;result");
                return Err(Error::line(name, line, reason));
            }
        };
    }
    let own = match (voted, places.result, places.score) {
        (None | Some(LabelSyntax::Ce), ..) if survey.ce.has_no_results() => Some(LabelSyntax::CeScore),
        (Some(LabelSyntax::Texelutil), Some(0), _) | (Some(LabelSyntax::ScoreResult), Some(1), Some(0)) => {
            voted
        }
        // A result in front and no score: other syntaxes cover that.
        (Some(_), Some(0), None) if voted != Some(LabelSyntax::ScoreResult) => voted,
        (None, Some(0), None) if survey.columns.len() == 1 => None,
        (_, None, None) => voted,
        (_, None, Some(score)) if !asked.wants_scores => {
            let reason = "positions are followed by a number that is a score rather than a result";
            let advice = scores_instead();
            let advice = if survey.is_signed(score) || asked.scale.is_some() {
                advice
            } else {
                advice.text(", ").setting("results", "LOSS..WIN").text(" reads other scales of results")
            };
            return Err(Error::line(name, line, reason).advise(advice));
        }
        _ => Some(LabelSyntax::Fields),
    };
    if let (0, None, Some((number, reason))) = (best, own, instead) {
        return Err(Error::line(name, number, reason));
    }
    match (own, first_position, first_error) {
        (Some(LabelSyntax::Fields), _, _) => Ok((LabelSyntax::Fields, places)),
        (Some(syntax), _, _) => Ok((syntax, Places::default())),
        (None, Some(number), _) => Err(Error::line(name, number, "no result after the position")),
        (None, None, Some((number, error))) => Err(Error::line(name, number, error.reason())),
        (None, None, None) => Err(Error::input(name, "is empty: it contains no positions")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE_UP: &str = "4k3/8/8/8/8/8/3Q4/4K3";
    const BLACK_UP: &str = "4k3/3q4/8/8/8/8/8/4K3";

    #[test]
    fn games_without_tags_begin_with_a_move() {
        let games = ["1. e4 e5 2. Nf3 1-0", "{a comment} 1.d4 d5 1/2-1/2", "{alone}\n\n1... exd5+ 0-1"];
        assert!(games.iter().all(|text| detect_kind("x", text.as_bytes()) == InputKind::Pgn));
        let others =
            ["int f()\n{\n    return 1;\n}", "# How\n1. Install it.\n2. Run.", "x = {\n1.0f, 1.5\n};"];
        assert!(others.iter().all(|text| detect_kind("x", text.as_bytes()) == InputKind::Text));
    }

    /// Writes lines in which the side with the queen wins, as numbers from a point of view.
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
    fn results_may_precede_positions() {
        for result in ["0.5 ", "1-0\t", "1/2-1/2;", "[1.0] ", "\"0-1\","] {
            let format = detect(&format!("{result}{WHITE_UP} w - - 0 1\n")).format;
            assert_eq!((format.syntax, format.point_of_view), (LabelSyntax::ResultFirst, PointOfView::White));
        }
    }

    #[test]
    fn positions_between_blank_lines_are_games() {
        let game = format!("{WHITE_UP} w - - c1 1-0;\n{WHITE_UP} b - - c1 1-0;\n").repeat(3);
        let found = detect(&format!("{game}\n{game}"));
        assert!(found.has_games && found.layout.is_some_and(|layout| layout.contains("blank lines")));
        let batch = crate::text::read_text(
            format!("{game}\n{game}").as_bytes(),
            1,
            &found.format,
            &crate::selection::Selection::default(),
        );
        let games: Vec<_> = batch.samples.iter().map(|sample| sample.game).collect();
        assert_eq!(games[..6], [Some(1); 6]);
        assert_eq!(games[6..], [Some(8); 6]);
        let unknown = detect(&format!("{game}{game}"));
        assert!(!unknown.has_games && unknown.layout.is_some_and(|layout| layout.contains("unknown")));
        let black = format!("{WHITE_UP} b - - c1 1-0;\n").repeat(2);
        for mixed in [
            black.repeat(9),
            format!("{game}{black}\n{black}"),
            format!("{WHITE_UP} w - - c1 1-0;\n\n").repeat(9),
        ] {
            let found = detect(&mixed);
            assert_eq!((found.has_games, found.layout), (false, None));
        }
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
            ("-", "1-0 4k3/8/8/8/8/8/8/4K3 w - -\n", InputKind::Text),
            ("x.jsonl", "{\"fen\":\"4k3/8/8/8/8/8/8/4K3 w - -\",\"evals\":[]}\n", InputKind::Text),
        ] {
            assert_eq!(detect_kind(name, head.as_bytes()), kind, "{name} {head}");
        }
    }
}
