//! Search scores in the comments of games.
//!
//! Three forms are known: TCEC's and CCC's `wv=0.35` (White's view), Lichess's `[%eval 0.35]`
//! (White's view, of the position after the move), and the engine form `+0.35/12 2.0s` of match
//! programs. Whose view the engine form takes was decided from data: CCC games carry it beside
//! `wv=`, and for Black's moves the two have opposite signs, and of 258,261 positions
//! of decided self-play games whose score in that form is beyond three pawns, 99.6 % go to the
//! better side when it is read as the mover's. So it is the mover's, and it belongs to the position
//! that was searched, before the move.
//!
//! Mates become ±30,000 centipawns, the bound of all scores: a sigmoid makes 1 or 0 of them, and a
//! filter by size takes them for what they are.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::labels::parse_pawns;

/// Scores found in one comment, centipawns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommentScores {
    /// Of the position after the move, White's view.
    pub after: Option<f32>,
    /// Of the position before the move, the mover's view.
    pub mover: Option<f32>,
}

static WHITE_VALUE: LazyLock<Finder> = LazyLock::new(|| Finder::new("wv="));
static EVAL: LazyLock<Finder> = LazyLock::new(|| Finder::new("[%eval"));

/// Reads the scores of a comment; where there is a score in White's view, the engine form beside
/// it says the same and is left alone.
pub fn comment_scores(comment: &[u8]) -> CommentScores {
    let after = find_value(comment, &WHITE_VALUE).or_else(|| find_value(comment, &EVAL));
    let mover = if after.is_none() { engine_score(comment) } else { None };
    CommentScores { after, mover }
}

fn find_value(comment: &[u8], key: &Finder) -> Option<f32> {
    let at = key.find(comment)? + key.needle().len();
    let text = comment[at..].trim_ascii_start();
    let end = text.iter().position(|b| !is_score_byte(*b)).unwrap_or(text.len());
    parse_pawns(&text[..end])
}

fn is_score_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'#' | b'M')
}

/// `+0.35/12`, `-M5/20`, `(0.00/8)` at the start of a comment.
fn engine_score(comment: &[u8]) -> Option<f32> {
    let text = comment.trim_ascii_start();
    let text = text.strip_prefix(b"(").unwrap_or(text);
    let end = text.iter().position(|b| !is_score_byte(*b))?;
    let (score, rest) = text.split_at(end);
    let [b'/', digit, ..] = rest else { return None };
    // A decimal point or a mate sets a score apart from `1/2`.
    (digit.is_ascii_digit() && score.iter().any(|b| matches!(b, b'.' | b'M' | b'#')))
        .then(|| parse_pawns(score))
        .flatten()
}

/// Whether a comment says that its move came from an opening book: `book`, alone or among other
/// remarks between commas.
pub fn is_book(comment: &[u8]) -> bool {
    let says = |part: &[u8]| part.trim_ascii().eq_ignore_ascii_case(b"book");
    comment.len() >= 4 && comment.split(|b| matches!(b, b',' | b';' | b'(' | b')')).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        let scores = |text: &str| {
            let found = comment_scores(text.as_bytes());
            (found.after, found.mover)
        };
        assert_eq!(scores("+0.35/12 2000"), (None, Some(35.0)));
        assert_eq!(scores(" -1.20/9 0.5s, book"), (None, Some(-120.0)));
        assert_eq!(scores("0.00/10"), (None, Some(0.0)));
        assert_eq!(scores("(-0.10/7) comment"), (None, Some(-10.0)));
        assert_eq!(scores("+M5/20 0.1s"), (None, Some(30_000.0)));
        assert_eq!(scores(" -0.28/25 8.1s, ev=-0.28, wv=0.28 "), (Some(28.0), None));
        assert_eq!(scores("d=31, tb=0, wv=-M12, mb=+0"), (Some(-30_000.0), None));
        assert_eq!(scores(" [%eval -0.35] [%clk 0:05:00]"), (Some(-35.0), None));
        assert_eq!(scores("[%eval #-3,20]"), (Some(-30_000.0), None));
        for none in ["", "book", "1/2", "12/4 moves", "wv=", "+0.35", "-", "[%eval]", "a +0.35/12"] {
            assert_eq!(scores(none), (None, None), "{none}");
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

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = comment_scores(&bytes);
        }
    }
}
