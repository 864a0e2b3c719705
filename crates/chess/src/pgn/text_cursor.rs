//! Follows `pgn-reader` through the text that it reads.

use memchr::{memchr, memchr3};

use super::split::tag_name;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    Word(&'a [u8]),
    Sign(u8),
    Pause,
    End,
}

#[derive(Clone, Debug)]
pub struct TextCursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> TextCursor<'a> {
    pub fn new(text: &'a [u8], at: usize) -> Self {
        Self { text, at: at.min(text.len()) }
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    pub fn since(&self, offset: usize) -> &'a [u8] {
        self.text.get(offset..self.at).unwrap_or_default()
    }

    pub fn advance(&mut self, bytes: usize) {
        self.at = self.text.len().min(self.at.saturating_add(bytes));
    }

    fn skip_line(&mut self) {
        self.advance(memchr(b'\n', self.rest()).unwrap_or(usize::MAX));
    }

    /// Skips what means nothing in a movetext, up to the next token.
    pub fn peek(&mut self) -> Token<'a> {
        loop {
            match self.rest() {
                [] => return Token::End,
                [b'\n', b'%', ..] => {
                    self.at += 1;
                    self.skip_line();
                }
                [b'\n', b'\n' | b'[', ..] | [b'\n', b'\r', b'\n', ..] => return Token::Pause,
                [b';', ..] => self.skip_line(),
                [b'$', rest @ ..] => self.advance(1 + digits(rest)),
                [sign @ (b'{' | b'(' | b')'), ..] => return Token::Sign(*sign),
                [b'.' | b'!' | b'?' | b'}' | b']', ..] => self.at += 1,
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                // Byte order marks of files that were concatenated.
                [0xef, 0xbb, 0xbf, ..] => self.at += 3,
                rest => {
                    let length = 1 + rest[1..].iter().position(ends_word).unwrap_or(rest.len() - 1);
                    let number = move_number(&rest[..length]);
                    if number < length {
                        self.at += number;
                        return Token::Word(&rest[number..length]);
                    }
                    self.at += length;
                }
            }
        }
    }

    /// Moves to where the parser begins with the tags of a game.
    pub fn skip_to_tags(&mut self) {
        if self.rest().starts_with(b"\xef\xbb\xbf") {
            self.at += 3;
        }
        self.skip_blank(true);
    }

    fn skip_blank(&mut self, mut line_start: bool) {
        loop {
            match self.rest() {
                [b'%', ..] if line_start => self.skip_line(),
                [byte @ (b' ' | b'\t' | b'\r' | b'\n'), ..] => {
                    line_start |= *byte == b'\n';
                    self.at += 1;
                }
                _ => return,
            }
        }
    }

    /// Steps over a bracket without a quoted value, which is not a tag pair for the parser. Returns its
    /// contents.
    pub fn pass_bracket(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest().strip_prefix(b"[")?;
        let end = memchr3(b'"', b'\n', b']', rest).filter(|end| rest[*end] != b'"')?;
        self.advance(end + 2);
        self.close_tag();
        Some(if rest[end] == b']' { &rest[..end] } else { b"" })
    }

    /// Steps over a tag pair whose value has `length` bytes for the parser. Returns its value, and true if
    /// the parser is at its end, too.
    pub fn pass_tag(&mut self, length: usize) -> (&'a [u8], bool) {
        let quote = memchr(b'"', self.rest()).unwrap_or_default();
        self.advance(quote + 1);
        let rest = self.rest();
        let end = match rest.get(length) {
            Some(b'"') => quote_inside(rest, length),
            _ => broken_value(rest, length),
        };
        if let Some(end) = end {
            self.advance(end + 1);
            self.close_tag();
            return (&rest[..end], false);
        }
        self.advance(length);
        let mut value = &rest[..length.min(rest.len())];
        if self.rest().starts_with(b"\"") {
            self.at += 1;
        } else {
            // No closing quote, or a backslash before it that was not meant to escape it.
            value = value.trim_ascii_end();
            value = value.strip_suffix(b"]").unwrap_or(value);
        }
        self.close_tag();
        (value, true)
    }

    fn close_tag(&mut self) {
        loop {
            match self.rest() {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [end @ (b']' | b'\n'), ..] => {
                    self.at += 1;
                    return self.skip_blank(*end == b'\n');
                }
                _ => return,
            }
        }
    }

    pub fn next_line(&mut self) {
        self.skip_line();
        self.advance(1);
    }

    /// Moves to the end of a comment in which others were opened, from the first closing brace.
    pub fn close_nested(&mut self, opened: usize) {
        for _ in 0..opened {
            let rest = self.rest();
            match rest.get(1..).and_then(|rest| memchr::memchr2(b'{', b'}', rest)) {
                Some(next) if rest[1 + next] == b'}' => self.at += 1 + next,
                _ => return,
            }
        }
    }
}

/// Returns the end of the value of a tag pair, if not at the quote at `at`: a quote that is followed by
/// neither a bracket nor the end of the line is part of the value.
fn quote_inside(text: &[u8], at: usize) -> Option<usize> {
    let is_end = |quote: usize| text[quote + 1..].trim_ascii_start().first() == Some(&b']');
    let behind = text[at + 1..].iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
    if matches!(behind, None | Some(b']' | b'\n')) {
        return None;
    }
    let line = &text[..memchr(b'\n', text).unwrap_or(text.len())];
    let mut ends = memchr::memchr_iter(b'"', line).filter(|quote| *quote > at && is_end(*quote));
    // Another tag pair may follow on the line; otherwise the last quote counts.
    let followed = |quote: usize| {
        let rest = line[quote + 1..].trim_ascii_start().strip_prefix(b"]").unwrap_or_default();
        tag_name(rest.trim_ascii_start()).is_some()
    };
    ends.clone().find(|quote| followed(*quote)).or_else(|| ends.next_back())
}

/// Returns the end of the value of a tag pair whose line ends at `at` without a quote: on the next line, if
/// that is unambiguous.
fn broken_value(text: &[u8], at: usize) -> Option<usize> {
    let begun = text.get(..at)?.trim_ascii_end();
    let next = text.get(at..)?.strip_prefix(b"\n")?;
    let line = &next[..memchr(b'\n', next).unwrap_or(next.len())];
    let quote = line.trim_ascii_end().strip_suffix(b"]")?.trim_ascii_end().strip_suffix(b"\"")?;
    (!begun.ends_with(b"]") && !quote.is_empty() && !line.starts_with(b"[")).then(|| at + 1 + quote.len())
}

fn ends_word(byte: &u8) -> bool {
    matches!(byte, b'{' | b'}' | b'(' | b')' | b';' | b'$' | b'!' | b'?' | b'*') || byte.is_ascii_whitespace()
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn move_number(word: &[u8]) -> usize {
    let ellipsis = "\u{2026}".as_bytes();
    if !word[0].is_ascii_digit() || word.starts_with(b"0000") || matches!(word, b"00" | b"000") {
        return if word.starts_with(ellipsis) { ellipsis.len() } else { 0 };
    }
    let digits = digits(word);
    let dots = word[digits..].iter().take_while(|b| **b == b'.').count();
    let number = digits + dots;
    match word.get(number) {
        _ if word[number..].starts_with(ellipsis) => number + ellipsis.len(),
        None => number,
        Some(byte) if dots > 0 || byte.is_ascii_alphabetic() => number,
        // A figurine, or a letter of another script.
        Some(0xd0..=0xd1) => number,
        Some(0xe2) if word[number..].starts_with(b"\xe2\x99") => number,
        Some(_) => 0,
    }
}

/// Parses a word as a result, `Some(None)` for an unknown one.
pub fn named_result(word: &[u8]) -> Option<Option<f32>> {
    let points = |side: &[u8]| match side {
        b"1" => Some(1.0),
        b"0" => Some(0.0),
        b"1/2" | b"\xc2\xbd" | b"\xbd" => Some(0.5),
        _ => None,
    };
    match word {
        b"*" => return Some(None),
        b"1/2" => return Some(Some(0.5)),
        _ => {}
    }
    ["-", "\u{2013}", "\u{2014}"].iter().find_map(|dash| {
        let at = memchr::memmem::find(word, dash.as_bytes())?;
        let (white, black) = (points(&word[..at])?, points(&word[at + dash.len()..])?);
        (white + black == 1.0).then_some(Some(white))
    })
}

pub fn is_null_move(word: &[u8]) -> bool {
    matches!(word, b"--" | b"Z0" | b"@@@@" | b"0000" | b"null" | b"pass")
        || word == "\u{2013}\u{2013}".as_bytes()
}

/// Returns true if a word only remarks on a move: marks of novelties, diagrams and captures en passant, and
/// judgments such as `+-`, `=`, `+/=`, `∞`.
pub fn is_remark(word: &[u8]) -> bool {
    matches!(word, b"N" | b"D" | b"TN" | b"e.p." | b"e.p" | b"ep" | b"ch" | b"ch." | b"mate" | b"[]")
        || word.iter().all(|b| b"+-=/~<>^#".contains(b) || *b >= 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut cursor = TextCursor::new(text.as_bytes(), 0);
        let mut found = Vec::new();
        loop {
            match cursor.peek() {
                Token::End => return found.join(" "),
                Token::Word(word) => {
                    cursor.advance(word.len());
                    found.push(String::from_utf8_lossy(word).into_owned());
                }
                Token::Sign(sign) => {
                    cursor.advance(1);
                    found.push(char::from(sign).to_string());
                }
                Token::Pause => {
                    cursor.advance(1);
                    found.push("|".into());
                }
            }
        }
    }

    #[test]
    fn words_lose_their_numbers_and_glyphs() {
        assert_eq!(words("1.e4 e5 2. Nf3!? $1 Nc6?! 3... 0-0-0+ 1-0"), "e4 e5 Nf3 Nc6 0-0-0+ 1-0");
        assert_eq!(words("1\u{2026}e5 2e4 12 ...d5 0000 3.0-0 1/2-1/2"), "e5 e4 d5 0000 0-0 1/2-1/2");
        assert_eq!(words("e4 ; rest\ne5 ;\n%escape\nd4 % {"), "e4 e5 d4 % {");
        assert_eq!(words("(a)}]b$3c{d*"), "( a ) b c { d *");
        assert_eq!(words("e4\n\ne5\r\n\r\nd4\n[d5\n"), "e4 | e5 | d4 | [d5");
    }

    #[test]
    fn results_are_read_with_any_dash() {
        for (word, result) in
            [("1-0", 1.0), ("0\u{2013}1", 0.0), ("1/2-1/2", 0.5), ("1/2", 0.5), ("½—½", 0.5)]
        {
            assert_eq!(named_result(word.as_bytes()), Some(Some(result)), "{word}");
        }
        assert_eq!(named_result(b"\xbd-\xbd"), Some(Some(0.5)));
        assert_eq!(named_result(b"*"), Some(None));
        for word in ["0-0", "1-1", "1", "0-0-0", "-", "e4", "1-"] {
            assert_eq!(named_result(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn nested_comments_end_where_their_writer_meant() {
        let rest = |text: &str, opened| {
            let mut cursor = TextCursor::new(text.as_bytes(), text.find('}').unwrap());
            cursor.close_nested(opened);
            String::from_utf8_lossy(cursor.rest()).into_owned()
        };
        assert_eq!(rest("{a {b} c} e4", 1), "} e4");
        assert_eq!(rest("{one { two} e5 {three}", 1), "} e5 {three}");
        assert_eq!(rest("{a {b {c} d} e", 2), "} e");
    }

    #[test]
    fn quotes_may_stand_in_values() {
        for (text, parsed, value, rest) in [
            (r#"[E "the "big" one"] x"#, 4, r#"the "big" one"#, "x"),
            (r#"[E "a "b" c"] [F "d"]"#, 2, r#"a "b" c"#, r#"[F "d"]"#),
            (r#"[E "see "x"] y"]"#, 4, r#"see "x"] y"#, ""),
            (r#"[E ""x""]"#, 0, r#""x""#, ""),
            ("[E \"a\nb\"]\nc", 1, "a\nb", "c"),
        ] {
            let mut cursor = TextCursor::new(text.as_bytes(), 0);
            assert_eq!(cursor.pass_tag(parsed), (value.as_bytes(), false), "{text}");
            assert_eq!(cursor.rest(), rest.as_bytes(), "{text}");
        }
        for text in
            ["[E \"a\" b\nc", "[E \"a\n[F \"b\"]", "[E \"a\n\"]", "[E \"a\"]", "[E \"a\"\nb\"]", "[E \"a"]
        {
            let mut cursor = TextCursor::new(text.as_bytes(), 0);
            assert_eq!(cursor.pass_tag(1), (&b"a"[..], true), "{text}");
        }
    }

    #[test]
    fn tag_pairs_are_passed_like_the_parser_does() {
        let mut cursor = TextCursor::new(b"\xef\xbb\xbf\n %x\n[a]\n[B \"c\"] [D \"e\n1. e4", 0);
        cursor.skip_to_tags();
        assert_eq!((cursor.pass_bracket(), cursor.pass_bracket()), (Some(&b"a"[..]), None));
        assert!(cursor.rest().starts_with(b"[B"));
        assert_eq!(cursor.pass_tag(1), (&b"c"[..], true));
        assert_eq!(cursor.pass_tag(1), (&b"e"[..], true));
        assert_eq!(cursor.rest(), b"1. e4");
    }
}
