//! Scores in the comments of games, in three forms:
//!
//! - match programs: pawns or whole centipawns before a depth, `+0.35/12 2.0s`, `27/10 123ms` (c-chess-cli),
//!   `+0.35 12/20 5 40000` (OpenBench), or pawns alone; of the position before the move, the mover's view: of
//!   258,261 positions of decided self-play games with such a score beyond three pawns, 99.6 % go to the better
//!   side when it is read so;
//! - `[%eval 0.35]`, `[%eval 0.35,18]` (Lichess), `[%eval 35,18]` in whole centipawns (ChessBase, Fritz): of the
//!   position after the move, White's view;
//! - TCEC's and CCC's `wv=0.35`: of the position after the move.
//!
//! Mates become ±30,000 centipawns, the bound of all scores.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::convention::ScoreConvention;
use super::{ScoreForm, Spelling, WrittenScore};
use crate::labels::{parse_cp, parse_pawns};
use crate::prose::has_score;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CommentScore {
    Missing,
    Unread,
    Found(WrittenScore),
}

static WHITE_VALUE: LazyLock<Finder> = LazyLock::new(|| Finder::new("wv="));
static EVAL: LazyLock<Finder> = LazyLock::new(|| Finder::new("[%eval"));

/// Reads the score of a comment. Of several, the engine form counts, since it determines the position that
/// was searched, then `wv=`.
pub fn comment_score(comment: &[u8], convention: &ScoreConvention) -> CommentScore {
    let engine = engine_score(behind_commands(comment), convention);
    if matches!(engine, CommentScore::Found(_)) {
        return engine;
    }
    let found = |form, spelling, cp| CommentScore::Found(WrittenScore { cp, form, spelling, alone: false });
    let white = value_of(comment, &WHITE_VALUE);
    if let Some(cp) = white.and_then(parse_pawns) {
        return found(ScoreForm::White, Spelling::Decimal, cp);
    }
    let eval = value_of(comment, &EVAL);
    if let Some((spelling, text)) = eval.and_then(|text| Some((spelling(text)?, text))) {
        let in_pawns = spelling != Spelling::Whole || convention.whole_evals_are_pawns;
        if let Some(cp) = if in_pawns { parse_pawns(text) } else { parse_cp(text) } {
            return found(ScoreForm::Eval, spelling, cp);
        }
    }
    if white.or(eval).is_some() || has_score(comment) { CommentScore::Unread } else { engine }
}

fn value_of<'c>(comment: &'c [u8], key: &Finder) -> Option<&'c [u8]> {
    let at = key.find(comment)? + key.needle().len();
    let text = comment[at..].trim_ascii_start();
    let (number, rest) = text.split_at(text.iter().take_while(|b| is_score_byte(**b)).count());
    // `[%eval 35,18]` has a depth there; else it is a decimal comma, as it is behind a zero with a sign.
    let has_depth = key.needle() != b"wv=" && !matches!(number, b"-0" | b"+0");
    Some(if has_depth || !matches!(rest, [b',', b'0'..=b'9', ..]) { number } else { b"" })
}

fn behind_commands(comment: &[u8]) -> &[u8] {
    let mut text = comment.trim_ascii_start();
    while text.starts_with(b"[%")
        && let Some(end) = memchr::memchr(b']', text)
    {
        text = &text[end + 1..];
        text = &text[text.iter().take_while(|b| b.is_ascii_whitespace() || **b == b',').count()..];
    }
    text
}

fn is_score_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'#' | b'M')
}

/// Returns the spelling of a number; `None` for anything else, such as `12.`, the number of a move.
fn spelling(number: &[u8]) -> Option<Spelling> {
    let digits = number.strip_prefix(b"+").or_else(|| number.strip_prefix(b"-")).unwrap_or(number);
    match digits {
        [] | [.., b'.'] => None,
        _ if digits.iter().all(u8::is_ascii_digit) => Some(Spelling::Whole),
        _ if digits.iter().any(|b| matches!(b, b'M' | b'#')) => Some(Spelling::Mate),
        _ => Some(Spelling::Decimal),
    }
}

fn engine_score(comment: &[u8], convention: &ScoreConvention) -> CommentScore {
    let mut text = comment.trim_ascii_start();
    if let Some(inner) = text.strip_prefix(b"(") {
        // Either the score is in parentheses, or the expected moves are, before it (Arena).
        text = match memchr::memchr(b')', inner) {
            Some(end) if !inner.first().is_some_and(|b| is_score_byte(*b)) => {
                inner[end + 1..].trim_ascii_start()
            }
            _ => inner,
        };
    }
    let end = text.iter().position(|b| !is_score_byte(*b)).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    let Some(spelling) = spelling(number) else { return CommentScore::Missing };
    let is_whole = spelling == Spelling::Whole;
    let Some(cp) = (if is_whole { parse_cp(number) } else { parse_pawns(number) }) else {
        return CommentScore::Missing;
    };
    let is_signed = matches!(number[0], b'+' | b'-');
    let found = |alone| CommentScore::Found(WrittenScore { cp, form: ScoreForm::Engine, spelling, alone });
    let words = rest.trim_ascii_start();
    if let Some(behind) = rest.strip_prefix(b"/").and_then(after_digits) {
        // A whole number without a sign may as well be half a point, or a depth before a selective one.
        let is_plain = is_whole && !is_signed;
        let is_half = number == b"1" && rest.trim_ascii_end() == b"/2";
        return match is_plain {
            true if is_half || !is_time(behind) => CommentScore::Missing,
            true if !convention.whole_before_depth => CommentScore::Unread,
            _ => found(false),
        };
    }
    if words.len() < rest.len()
        && let Some(behind) = after_digits(words).and_then(|rest| after_digits(rest.strip_prefix(b"/")?))
        && behind.first().is_none_or(u8::is_ascii_whitespace)
        && (!is_whole || after_digits(behind.trim_ascii_start()).is_some())
    {
        return found(false);
    }
    let is_alone = matches!(words.trim_ascii_end(), b"" | b")");
    match spelling {
        Spelling::Decimal if is_alone && (is_signed || (cp == 0.0 && convention.bare_zeros)) => found(true),
        Spelling::Mate if is_alone && (is_signed || number[0] == b'M') => found(true),
        _ => CommentScore::Missing,
    }
}

fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| &text[end..])
}

fn is_time(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let end = text.iter().position(|b| !(b.is_ascii_digit() || *b == b'.')).unwrap_or(text.len());
    text.is_empty() || (end > 0 && matches!(&text[end..], b"s" | b"ms"))
}

/// Returns true if a comment marks its move as one of an opening book: `book`, alone or among other remarks
/// between commas.
pub fn is_book(comment: &[u8]) -> bool {
    let says = |part: &[u8]| part.trim_ascii().eq_ignore_ascii_case(b"book");
    comment.len() >= 4 && comment.split(|b| matches!(b, b',' | b';' | b'(' | b')')).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use CommentScore::{Missing, Unread};

    fn score(text: &str) -> CommentScore {
        comment_score(text.as_bytes(), &ScoreConvention::default())
    }

    /// Returns the centipawns of the engine form, of the others, or neither.
    fn forms(text: &str) -> (Option<f32>, Option<f32>) {
        match score(text) {
            CommentScore::Found(WrittenScore { cp, form: ScoreForm::Engine, .. }) => (Some(cp), None),
            CommentScore::Found(WrittenScore { cp, .. }) => (None, Some(cp)),
            _ => (None, None),
        }
    }

    #[test]
    fn scores_before_a_depth_are_the_engines() {
        for (text, cp) in [
            ("+0.35/12 2000", 35.0),
            (" -1.20/9 0.5s, book", -120.0),
            ("0.00/10", 0.0),
            ("(-0.10/7) comment", -10.0),
            ("+M5/20 0.1s", 30_000.0),
            ("(Nf6 Bb5) -0.34/10 9", -34.0),
            ("27/10", 27.0),
            ("-25/11 123ms", -25.0),
            ("0/1 1.5s", 0.0),
            ("1/12", 1.0),
            ("+35/12 5 40000", 35.0),
            ("-M5/10", -30_000.0),
            ("+0.57 17/28 583 363004", 57.0),
            ("-0.28 11/19 8 40000", -28.0),
            ("0.00 11/19 8 40000", 0.0),
            ("+35 12/20 5 40000", 35.0),
            ("+M1 96/2 2 2516, White mates", 30_000.0),
            ("+0.35", 35.0),
            ("-1.5 ", -150.0),
            ("0.00", 0.0),
            ("+M3", 30_000.0),
            ("M3", 30_000.0),
            ("[%emt 00:00:00] +4.63/11", 463.0),
            ("[%clk 0:05:00] -0.35/12 1.2s", -35.0),
            ("[%csl Ga4][%cal Re2e4], +6.70/40 3", 670.0),
            // It takes precedence over the others.
            ("[%eval 0.17] +0.25/9", 25.0),
            (" -0.28/25 8.1s, ev=-0.28, wv=0.28 ", -28.0),
        ] {
            assert_eq!(forms(text), (Some(cp), None), "{text}");
        }
    }

    #[test]
    fn scores_behind_keys_are_of_the_position_after_the_move() {
        for (text, cp) in [
            ("d=31, tb=0, wv=-M12, mb=+0", -30_000.0),
            ("d=31, wv=0.28", 28.0),
            ("wv=3, d=31", 300.0),
            (" [%eval -0.35] [%clk 0:05:00]", -35.0),
            ("[%eval #-3,20]", -30_000.0),
            ("[%eval 0.23,14]", 23.0),
            ("[%eval 23,14] [%emt 0:00:04]", 23.0),
            ("[%eval -161,20]", -161.0),
            ("[%eval 23]", 23.0),
        ] {
            assert_eq!(forms(text), (None, Some(cp)), "{text}");
        }
        let pawns = ScoreConvention { whole_evals_are_pawns: true, ..ScoreConvention::default() };
        let CommentScore::Found(found) = comment_score(b"[%eval 3,14]", &pawns) else { panic!() };
        assert_eq!(found.cp, 300.0);
    }

    #[test]
    fn times_moves_and_words_are_no_scores() {
        for text in [
            "",
            "book",
            "unknown",
            "1/2",
            "12/4 moves",
            "-",
            " 0/1 8 40000",
            "12/20 5 40000",
            "12. Nf3 is better",
            "1.e4",
            "12...Nf6",
            "1-0",
            "1/2-1/2",
            "0-1",
            "+-",
            "-+",
            "+/-",
            "=",
            "2.5s",
            "[%csl Ga4][%cal Re2e4] [%ts 12.35]",
            "Stockfish 15.1-Fritz 5.32 2026.11.20",
            "d=12, t=0.35, mb=+0, book",
            "0.12 s",
            "[%clk 0:05:00]",
            "[%emt 0:00:04]",
            "0:05:00",
            "2024.01.05",
            "#",
            "#3 is forced",
            "M",
            "Mate in 3",
            "e4 e5",
            "Sicilian, B22",
            "10 12",
            "42",
            "B01/2",
        ] {
            assert_eq!(score(text), Missing, "{text}");
        }
        let none =
            ScoreConvention { whole_before_depth: false, bare_zeros: false, ..ScoreConvention::default() };
        assert_eq!(comment_score(b"7/10", &none), Unread);
        assert_eq!(comment_score(b"0.00", &none), Unread);
    }

    #[test]
    fn what_looks_like_a_score_is_not_passed_over() {
        for text in [
            "+35",
            "-0.35 d12",
            "0.35|12",
            "0.35",
            "+0.35,12",
            "wv=",
            "[%eval]",
            "[%eval N/A]",
            "-2 pawns",
            "a +0.35/12",
            "d=12, 0.35",
            "(d12,+0.35)",
            "eval: 35 depth 12",
            "score 35cp",
            "0,35/12",
            "(\u{2212}0.35/12)",
            "[%emt 2.0] \u{2212}M3",
            "[%clk 0:05:00] +35",
            "0.35 d12",
            "#5",
            "book -M3/7",
            "Nf6 0.35",
            "wv=0,28, d=31",
            "[%eval -0,35]",
            "[%Eval 0.35]",
            "+M5: mates",
        ] {
            assert_eq!(score(text), Unread, "{text}");
        }
    }

    #[test]
    fn books_are_named() {
        for text in ["book", " Book ", "(book)", "0.00/0 0s, book", "book, mb=+0+0", " d=1; BOOK"] {
            assert!(is_book(text.as_bytes()), "{text}");
        }
        for text in ["", "out of book", "OwnBook=false", "bookish", "a book draw", "boo"] {
            assert!(!is_book(text.as_bytes()), "{text}");
        }
    }
}
