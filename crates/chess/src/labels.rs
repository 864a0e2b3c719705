//! Syntaxes of results next to positions, as authors of tuners write them.

use super::epd::{is_no_score, operations};
use super::prose::has_score;
pub use super::scale::{Outcome, Word};
use super::scale::{ResultScale, parse_number};

/// Syntax of the result after a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelSyntax {
    /// `c9 "1-0";`, `c9 1-0`, `c2 "0.5";`: an EPD comment operation.
    Opcode,
    /// `c9 "0.33|1-0";`: pawns and result in an EPD comment operation.
    OpcodeScore,
    /// `ce 0.5`: an expected score, the side to move's unless shown otherwise.
    Ce,
    /// `ce 35`: centipawns, the side to move's unless shown otherwise, and no result.
    CeScore,
    Brackets,
    Semicolon,
    /// `| 35 | 1.0`: centipawns and result.
    ScoreResult,
    Pipe,
    /// `: 1 : 35 : 30 : 17 : 3`: result, search score, quiescence score, game, move.
    Texelutil,
    Bare,
    /// `17 1 FEN 35`: game and result before the position, and perhaps centipawns after it, as this program
    /// writes positions for engines to trace.
    Games,
    /// `1-0 FEN`: a result before the position.
    ResultFirst,
    /// `; 35 ; 0.5`, `[0.5] 35` and the like: fields, of which at most one is the result, and one the score.
    Fields,
    Csv,
}

// If lines fit several syntaxes, the earlier one is taken.
gputexel_io::names!(
    LabelSyntax "label syntax": Opcode "c9", OpcodeScore "c9-score", Ce "ce", CeScore "ce-score", Brackets "brackets",
    Semicolon "semicolon", ScoreResult "score-result", Pipe "pipe", Texelutil "texelutil", Bare "bare", Games "games",
    ResultFirst "result-first", Fields "fields", Csv "csv"
);

impl LabelSyntax {
    /// Returns an example of the text next to the position.
    pub fn example(self) -> &'static str {
        match self {
            Self::Opcode => "c9 \"1-0\";",
            Self::OpcodeScore => "c9 \"0.33|1-0\";",
            Self::Ce => "ce 0.5",
            Self::CeScore => "ce 35",
            Self::Brackets => "[1.0]",
            Self::Semicolon => "; [0.5]",
            Self::ScoreResult => "| 35 | 1.0",
            Self::Pipe => "|1-0",
            Self::Texelutil => ": 1 : 35 : 30 : 17",
            Self::Bare => "1-0",
            Self::Games => "17 1 FEN 35",
            Self::ResultFirst => "1-0 FEN",
            Self::Fields => ";35;0.5",
            Self::Csv => "columns fen,result",
        }
    }

    pub fn position_start(self, line: &[u8]) -> usize {
        let (words, parts): (usize, fn(u8) -> bool) = match self {
            Self::Games => (2, |byte| byte.is_ascii_whitespace()),
            Self::ResultFirst => (1, parts_result),
            _ => return 0,
        };
        let run = |at: usize, wanted| line[at..].iter().take_while(|byte| parts(**byte) == wanted).count();
        let mut at = run(0, true);
        for _ in 0..words {
            at += run(at, false);
            at += run(at, true);
        }
        at
    }
}

/// Parsed text after a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Label {
    pub outcome: Outcome,
    /// Centipawns in the file's point of view, NaN without a score.
    pub score_cp: f32,
    pub game: Option<u64>,
    pub unread: Remainder,
    /// True if the operations `hmvc` or `fmvn` are part of it.
    pub has_counters: bool,
}

impl Label {
    pub(super) fn of(outcome: Outcome) -> Self {
        Self { outcome, score_cp: f32::NAN, game: None, unread: Remainder::Nothing, has_counters: false }
    }
}

/// Parts of a line besides position and label that are not read; the higher one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remainder {
    #[default]
    Nothing,
    Text,
    Score,
}

impl Remainder {
    pub(super) fn of(text: &[u8]) -> Self {
        if text.is_empty() {
            return Self::Nothing;
        }
        let words = text.split(|byte| separates(*byte)).filter(|word| !word.is_empty());
        words
            .map(|word| if looks_like_score(word) { Self::Score } else { Self::Text })
            .max()
            .unwrap_or_default()
    }
}

fn separates(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'|' | b';' | b':' | b'[' | b']' | b'(' | b')' | b'"')
}

fn parts_result(byte: u8) -> bool {
    separates(byte) || byte == b','
}

/// Returns true if a word is a number or a mate, perhaps followed by a depth (`+0.35/12`, `23,14`).
fn looks_like_score(word: &[u8]) -> bool {
    let end = word.iter().position(|byte| matches!(byte, b'/' | b',')).unwrap_or(word.len());
    !word.iter().any(|byte| matches!(byte, b'e' | b'E')) && parse_cp(&word[..end]).is_some()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabelError {
    Missing,
    OutOfRange(f32),
    Word(Word),
    /// `*`: the game had no result.
    Unknown,
    Weight,
}

/// Bound of scores: mates and anything beyond are clamped to it.
pub const MAX_SCORE_CP: f32 = 30_000.0;

pub(super) type Parsed<T> = Result<T, LabelError>;

/// Parses the text before a position, which only one syntax has, and the text after it.
pub fn parse_label(syntax: LabelSyntax, before: &[u8], rest: &[u8], scale: ResultScale) -> Parsed<Label> {
    let rest = rest.trim_ascii();
    let parse_outcome = |text: &[u8]| parse_outcome(text, scale);
    match syntax {
        LabelSyntax::Opcode | LabelSyntax::OpcodeScore | LabelSyntax::Ce | LabelSyntax::CeScore => {
            parse_operations(syntax, rest, scale)
        }
        LabelSyntax::Brackets => bracketed(rest, scale),
        LabelSyntax::Semicolon => {
            let value = rest.strip_prefix(b";").ok_or(LabelError::Missing)?.trim_ascii();
            if value.starts_with(b"[") {
                return bracketed(value, scale);
            }
            let end = memchr::memchr(b';', value).unwrap_or(value.len());
            parse_outcome(&value[..end])
                .map(|outcome| Label { unread: Remainder::of(&value[end..]), ..Label::of(outcome) })
        }
        LabelSyntax::ScoreResult => {
            let mut fields = rest.strip_prefix(b"|").ok_or(LabelError::Missing)?.split(|b| *b == b'|');
            let (Some(score), Some(outcome)) = (fields.next(), fields.next()) else {
                return Err(LabelError::Missing);
            };
            let score_cp = parse_cp(score).ok_or(LabelError::Missing)?;
            let unread = fields.map(Remainder::of).max().unwrap_or_default();
            Ok(Label { score_cp, unread, ..Label::of(parse_outcome(outcome)?) })
        }
        LabelSyntax::Pipe => {
            let value = rest.strip_prefix(b"|").ok_or(LabelError::Missing)?;
            parse_outcome(value).map(Label::of)
        }
        LabelSyntax::Texelutil => {
            let mut fields = rest
                .strip_prefix(b":")
                .ok_or(LabelError::Missing)?
                .split(|b| *b == b':')
                .map(<[u8]>::trim_ascii);
            let outcome = parse_outcome(fields.next().unwrap_or_default())?;
            let score = fields.next().unwrap_or_default();
            let score_cp = parse_cp(score).unwrap_or(f32::NAN);
            let game = fields.nth(1).and_then(|field| std::str::from_utf8(field).ok()?.parse().ok());
            let unread = if score_cp.is_nan() { Remainder::of(score) } else { Remainder::Nothing };
            Ok(Label { score_cp, game, unread, ..Label::of(outcome) })
        }
        LabelSyntax::Bare => parse_outcome(rest).map(Label::of),
        LabelSyntax::Games => {
            let (mut before, mut rest) = (words(before), words(rest));
            let game = before.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
            let outcome = parse_outcome(before.next().ok_or(LabelError::Missing)?)?;
            let score_cp = match rest.next() {
                None | Some(b"-") => f32::NAN,
                Some(word) => parse_cp(word).ok_or(LabelError::Missing)?,
            };
            if rest.next().is_some() {
                return Err(LabelError::Weight);
            }
            Ok(Label { score_cp, game: Some(game.ok_or(LabelError::Missing)?), ..Label::of(outcome) })
        }
        LabelSyntax::ResultFirst => {
            let result = before.split(|byte| parts_result(*byte)).find(|field| !field.is_empty());
            let outcome = parse_outcome(result.unwrap_or_default())?;
            Ok(Label { unread: Remainder::of(rest), ..Label::of(outcome) })
        }
        LabelSyntax::Fields | LabelSyntax::Csv => Err(LabelError::Missing),
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Returns the result and score from EPD operations. Of several comments that can be read as a result, `c9`
/// counts, else the first.
fn parse_operations(syntax: LabelSyntax, rest: &[u8], scale: ResultScale) -> Parsed<Label> {
    let mut label = Label::of(Outcome::Missing);
    let mut error = if syntax == LabelSyntax::CeScore { None } else { Some(LabelError::Missing) };
    let (mut ce, mut found) = (f32::NAN, false);
    for (name, value) in operations(rest) {
        let is_comment = matches!(name, [b'c', digit] if digit.is_ascii_digit());
        let is_result = match syntax {
            LabelSyntax::CeScore => false,
            LabelSyntax::Ce => name == b"ce",
            _ => is_comment,
        };
        let unread = if is_result {
            match parse_operand(syntax, value, scale) {
                Ok(_) if found && name != b"c9" => Remainder::Nothing,
                Ok((outcome, score_cp)) => {
                    (label.outcome, label.score_cp) = (outcome, score_cp);
                    (found, error) = (true, None);
                    Remainder::Nothing
                }
                Err(reason) => {
                    if reason != LabelError::Missing && !found {
                        error = Some(reason);
                    }
                    if is_comment { of_comment(value) } else { Remainder::of(value) }
                }
            }
        } else if name == b"ce" && syntax != LabelSyntax::Ce {
            // The standard has whole centipawns; anything else is in an unknown unit.
            let whole = parse_cp(unquoted(value)).filter(|_| !value.contains(&b'.'));
            ce = whole.unwrap_or(ce);
            if whole.is_none() { Remainder::of(value) } else { Remainder::Nothing }
        } else if name == b"hmvc" || name == b"fmvn" {
            label.has_counters = true;
            Remainder::Nothing
        } else if is_comment {
            of_comment(value)
        } else if is_no_score(name) {
            Remainder::Text
        } else {
            Remainder::of(value).max(Remainder::Text)
        };
        label.unread = label.unread.max(unread);
    }
    if label.score_cp.is_nan() {
        label.score_cp = ce;
    }
    error.map_or(Ok(label), Err)
}

/// Comments are prose, in which numbers are versions of programs and dates.
fn of_comment(value: &[u8]) -> Remainder {
    let is_score = looks_like_score(unquoted(value)) || has_score(value);
    Remainder::Text.max(if is_score { Remainder::Score } else { Remainder::Nothing })
}

fn parse_operand(syntax: LabelSyntax, value: &[u8], scale: ResultScale) -> Parsed<(Outcome, f32)> {
    if syntax != LabelSyntax::OpcodeScore {
        return Ok((parse_outcome(value, scale)?, f32::NAN));
    }
    let text = unquoted(value);
    // A file of scored positions may hold some without a score.
    let Some(at) = memchr::memchr(b'|', text) else { return Ok((parse_outcome(text, scale)?, f32::NAN)) };
    let outcome = parse_outcome(&text[at + 1..], scale)?;
    Ok((outcome, pawns_to_cp(parse_number(&text[..at]).ok_or(LabelError::Missing)?)))
}

/// Converts pawns to centipawns, without the digits that single precision adds to their few decimals.
pub(super) fn pawns_to_cp(pawns: f32) -> f32 {
    clamp_cp(((1e4 * f64::from(pawns)).round() / 100.0) as f32)
}

fn bracketed(text: &[u8], scale: ResultScale) -> Parsed<Label> {
    let inner = text.strip_prefix(b"[").ok_or(LabelError::Missing)?;
    let end = memchr::memchr(b']', inner).ok_or(LabelError::Missing)?;
    let outcome = parse_outcome(&inner[..end], scale)?;
    Ok(Label { unread: Remainder::of(&inner[end + 1..]), ..Label::of(outcome) })
}

/// Parses a game result, or a number or word on the scale, with or without quotes.
pub fn parse_outcome(text: &[u8], scale: ResultScale) -> Parsed<Outcome> {
    let text = unquoted(text);
    let game = |value: f32| Ok(Outcome::Game(if scale.is_reversed() { 1.0 - value } else { value }));
    match text {
        b"1-0" => game(1.0),
        b"0-1" => game(0.0),
        b"1/2-1/2" | b"1/2" | b"0.5-0.5" | b"\xc2\xbd-\xc2\xbd" | b"\xc2\xbd" => Ok(Outcome::Game(0.5)),
        b"*" => Err(LabelError::Unknown),
        _ => {
            let number = match text {
                b"1.0" | b"1" => 1.0,
                b"0.0" | b"0" => 0.0,
                b"0.5" => 0.5,
                _ => match parse_number(text) {
                    Some(number) => number,
                    None => {
                        let word = Word::of(text).ok_or(LabelError::Missing)?;
                        return scale.word(word).ok_or(LabelError::Word(word));
                    }
                },
            };
            scale.value(number).map(Outcome::Number).ok_or(LabelError::OutOfRange(number))
        }
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    match text.trim_ascii() {
        [b'"' | b'\'', inner @ .., b'"' | b'\''] => inner.trim_ascii(),
        plain => plain,
    }
}

/// Parses centipawns; `#3`, `M5`, `-#2`, `+M7` are mates and become ±[`MAX_SCORE_CP`].
pub fn parse_cp(text: &[u8]) -> Option<f32> {
    parse_mate(text).or_else(|| parse_number(text).map(clamp_cp))
}

/// Parses pawns in decimal notation, or a mate, as centipawns.
pub fn parse_pawns(text: &[u8]) -> Option<f32> {
    parse_mate(text).or_else(|| parse_number(text).map(|pawns| clamp_cp((100.0 * pawns).round())))
}

fn clamp_cp(score: f32) -> f32 {
    score.clamp(-MAX_SCORE_CP, MAX_SCORE_CP) + 0.0
}

fn parse_mate(text: &[u8]) -> Option<f32> {
    let mut sign = 1.0;
    let mut marked = false;
    for (i, byte) in text.trim_ascii().iter().enumerate() {
        match byte {
            b'-' => sign = -1.0,
            b'+' if i < 2 => {}
            b'#' | b'M' if !marked => marked = true,
            digit if digit.is_ascii_digit() && marked => return Some(sign * MAX_SCORE_CP),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(syntax: LabelSyntax, rest: &str) -> Parsed<(Outcome, Option<f32>, Option<u64>)> {
        let before = match syntax {
            LabelSyntax::Games => "17 1 ",
            LabelSyntax::ResultFirst => "[1/2-1/2]; ",
            _ => "",
        };
        parse_label(syntax, before.as_bytes(), rest.as_bytes(), ResultScale::default())
            .map(|l| (l.outcome, Some(l.score_cp).filter(|s| !s.is_nan()), l.game))
    }

    #[test]
    fn every_syntax_is_read() {
        use LabelSyntax::*;
        use Outcome::*;
        for (syntax, rest, outcome, score, game) in [
            (Opcode, " c9 \"1-0\";", Game(1.0), None, None),
            (Opcode, " c9 \"1/2-1/2\";", Game(0.5), None, None),
            (Opcode, " c9 0-1", Game(0.0), None, None),
            (Opcode, " c2 \"0.25\";", Number(0.25), None, None),
            (Opcode, " bm e4; hmvc 0; id \"a;b\"; c0 \"x\"; c9 \"0-1\";", Game(0.0), None, None),
            (OpcodeScore, " c9 \"0.33|1-0\";", Game(1.0), Some(33.0), None),
            (OpcodeScore, " c9 \"-1.5|1/2-1/2\";", Game(0.5), Some(-150.0), None),
            (Ce, " ce 0.5", Number(0.5), None, None),
            (Ce, " ce 0.0;", Number(0.0), None, None),
            (CeScore, " ce -35; acd 12;", Missing, Some(-35.0), None),
            (CeScore, " id \"x\";", Missing, None, None),
            (Opcode, " ce -12; c9 \"1/2-1/2\";", Game(0.5), Some(-12.0), None),
            (Opcode, " c9 \"0-1\"; ce 32765", Game(0.0), Some(30_000.0), None),
            (Opcode, " c0 \"0\"; c9 \"1-0\"; c1 \"0-1\";", Game(1.0), None, None),
            (OpcodeScore, " c9 \"0-1\"; ce 7;", Game(0.0), Some(7.0), None),
            (Brackets, " [1.0]", Number(1.0), None, None),
            (Brackets, " [1-0] 35", Game(1.0), None, None),
            (Brackets, "[0.5]", Number(0.5), None, None),
            (Semicolon, "; [0.5]", Number(0.5), None, None),
            (Semicolon, ";1-0", Game(1.0), None, None),
            (Semicolon, ";1.0", Number(1.0), None, None),
            (Semicolon, " ; 0-1 ; x", Game(0.0), None, None),
            (ScoreResult, " | -35 | 1.0", Number(1.0), Some(-35.0), None),
            (ScoreResult, " | #3 | 1-0", Game(1.0), Some(30_000.0), None),
            (Pipe, "|1-0", Game(1.0), None, None),
            (Pipe, " | 0.5", Number(0.5), None, None),
            (Texelutil, " : 1 : 35 : 30", Number(1.0), Some(35.0), None),
            (Texelutil, " : 0.5 : -12 : 30 : 17", Number(0.5), Some(-12.0), Some(17)),
            (Texelutil, " : 0 : 35 : 30 : 17 : 44", Number(0.0), Some(35.0), Some(17)),
            (Bare, " 1/2-1/2", Game(0.5), None, None),
            (Bare, " 0.125", Number(0.125), None, None),
            (Bare, " 1e-3", Number(0.001), None, None),
            (OpcodeScore, " c9 \"0-1\";", Game(0.0), None, None),
            (ResultFirst, "", Game(0.5), None, None),
            (Games, " -35", Number(1.0), Some(-35.0), Some(17)),
            (Games, " -", Number(1.0), None, Some(17)),
            (Games, "", Number(1.0), None, Some(17)),
        ] {
            assert_eq!(label(syntax, rest), Ok((outcome, score, game)), "{syntax:?} {rest}");
        }
    }

    #[test]
    fn syntaxes_refuse_each_others_lines() {
        let others = [
            LabelSyntax::Csv,
            LabelSyntax::Games,
            LabelSyntax::ResultFirst,
            LabelSyntax::Fields,
            LabelSyntax::CeScore,
        ];
        let strict = LabelSyntax::ALL.into_iter().filter(|s| !others.contains(s));
        for syntax in strict.clone() {
            for other in strict.clone().filter(|other| *other != syntax) {
                if (syntax, other) == (LabelSyntax::OpcodeScore, LabelSyntax::Opcode) {
                    continue;
                }
                assert_eq!(label(syntax, other.example()), Err(LabelError::Missing), "{syntax:?} {other:?}");
            }
            assert!(label(syntax, syntax.example()).is_ok(), "{syntax:?}");
            assert_eq!(syntax.name().parse::<LabelSyntax>().unwrap(), syntax);
        }
    }

    #[test]
    fn games_and_results_may_precede_positions() {
        for (line, position) in [("17 0.5  4k3/8 w", "4k3/8 w"), ("17 0.5", ""), ("17", ""), ("", "")] {
            assert_eq!(&line[LabelSyntax::Games.position_start(line.as_bytes())..], position);
        }
        assert_eq!(LabelSyntax::Bare.position_start(b"17 0.5 4k3"), 0);
        let read = |before: &str, rest: &str| {
            parse_label(LabelSyntax::Games, before.as_bytes(), rest.as_bytes(), ResultScale::default())
        };
        assert_eq!(read("17 1-0 ", " 35").unwrap().outcome, Outcome::Game(1.0));
        assert_eq!(read("17 0 ", " 35 0.25"), Err(LabelError::Weight));
        assert_eq!(read("17 0 ", " - 0.25"), Err(LabelError::Weight));
        for (before, rest) in [("x 0 ", ""), ("17 ", ""), ("", ""), ("17 0 ", " e4")] {
            assert_eq!(read(before, rest), Err(LabelError::Missing), "{before} {rest}");
        }
    }

    #[test]
    fn unusable_results_are_told_apart() {
        assert_eq!(label(LabelSyntax::Brackets, " [1.5]"), Err(LabelError::OutOfRange(1.5)));
        assert_eq!(label(LabelSyntax::Brackets, " [nan]"), Err(LabelError::Missing));
        assert_eq!(label(LabelSyntax::Opcode, " c9 \"*\";"), Err(LabelError::Unknown));
        assert_eq!(label(LabelSyntax::Bare, ""), Err(LabelError::Missing));
        assert_eq!(label(LabelSyntax::Ce, " ce -35"), Err(LabelError::OutOfRange(-35.0)));
        assert_eq!(label(LabelSyntax::Pipe, "|Draw"), Err(LabelError::Word(Word::Draw)));
    }

    #[test]
    fn what_is_not_read_is_told() {
        use LabelSyntax::*;
        for (syntax, rest, unread) in [
            (Opcode, " hmvc 3; fmvn 9; c9 \"1-0\"; ce 5;", Remainder::Nothing),
            (Opcode, " c9 \"1-0\"; acd 12; acn 5000; id \"7\";", Remainder::Text),
            (Opcode, " bm e4; c9 \"1-0\"; c0 \"a book\";", Remainder::Text),
            (Opcode, " c0 Stockfish 15.1-Fritz 5.32 local 2026.11.20; c1 1-0;", Remainder::Text),
            (CeScore, " ce 35; c0 \"Fritz 5.32\";", Remainder::Text),
            (Opcode, " c9 \"1-0\"; ce 0.35;", Remainder::Score),
            (Opcode, " c9 \"1-0\"; c1 \"-35\";", Remainder::Score),
            (Opcode, " c9 \"1-0\"; c1 \"eval -0.35/12\";", Remainder::Score),
            (Opcode, " c9 \"1-0\"; dm 3;", Remainder::Score),
            (Opcode, " c9 \"1-0\"; eval 35;", Remainder::Score),
            (Brackets, "[0.5] -12", Remainder::Score),
            (Brackets, "[0.5] ; e2e4", Remainder::Text),
            (Brackets, "[0.5];", Remainder::Nothing),
            (Brackets, "[0.5] ; 1.e4", Remainder::Text),
            (Semicolon, "; 0.5 ; #3", Remainder::Score),
            (Semicolon, "; 1-0", Remainder::Nothing),
            (ScoreResult, "| 35 | 1.0 | 12", Remainder::Score),
            (ScoreResult, "| 35 | 1.0", Remainder::Nothing),
            (Texelutil, ": 1 : +0.35/12 : 30", Remainder::Score),
            (Texelutil, ": 1 : - : 30", Remainder::Text),
        ] {
            let label = parse_label(syntax, b"", rest.as_bytes(), ResultScale::default());
            assert_eq!(label.map(|label| label.unread), Ok(unread), "{syntax:?} {rest}");
        }
    }

    #[test]
    fn words_mean_what_the_scale_says() {
        use Outcome::{Game, Number};
        let read = |scale: &str, text: &str| {
            parse_label(LabelSyntax::Semicolon, b"", text.as_bytes(), scale.parse().unwrap())
                .map(|l| l.outcome)
        };
        for (scale, text, outcome) in [
            ("wdb", ";w", Ok(Game(1.0))),
            ("wdb", "; D", Ok(Game(0.5))),
            ("wdb", "; \"black\"", Ok(Game(0.0))),
            ("wdb", ";1-0", Ok(Game(1.0))),
            ("wdb", ";l", Err(LabelError::Word(Word::Loss))),
            ("wdb", ";win", Err(LabelError::Word(Word::Win))),
            ("wdb", ";1", Err(LabelError::OutOfRange(1.0))),
            ("wdl", ";W", Ok(Number(1.0))),
            ("wdl", ";draw", Ok(Number(0.5))),
            ("wdl", ";Lost", Ok(Number(0.0))),
            ("wdl", ";b", Err(LabelError::Word(Word::Black))),
            ("wdl", ";white", Err(LabelError::Word(Word::White))),
            ("wdl", ";0.5", Err(LabelError::OutOfRange(0.5))),
            ("0..1", ";w", Err(LabelError::Word(Word::W))),
            ("wdl", ";x", Err(LabelError::Missing)),
        ] {
            assert_eq!(read(scale, text), outcome, "{scale} {text}");
        }
    }

    #[test]
    fn scores_and_mates() {
        assert_eq!(parse_pawns(b"+0.35"), Some(35.0));
        assert_eq!(parse_pawns(b"-M12"), Some(-30_000.0));
        assert_eq!(parse_pawns(b"#-3"), Some(-30_000.0));
        assert_eq!(parse_pawns(b"900.0"), Some(30_000.0));
        assert_eq!(parse_pawns(b""), None);
        assert_eq!(parse_cp(b"M"), None);
        assert_eq!(parse_cp(b" -12 "), Some(-12.0));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            for syntax in LabelSyntax::ALL {
                if let Ok(label) = parse_label(syntax, &bytes, &bytes, ResultScale::default()) {
                    match label.outcome {
                        Outcome::Game(value) | Outcome::Number(value) => prop_assert!((0.0..=1.0).contains(&value)),
                        Outcome::Missing => prop_assert_eq!(syntax, LabelSyntax::CeScore),
                    }
                    prop_assert!(label.score_cp.is_nan() || label.score_cp.abs() <= MAX_SCORE_CP);
                }
            }
        }
    }
}
