//! Cuts the text of games into tokens.
//!
//! Owns everything lexical: comments and their braces, variations, move numbers, annotation
//! glyphs, tag pairs, escape lines, blank lines (which mean nothing here: games begin at tags or
//! after a result). Unlike the crate `pgn-reader`, which skips tokens that it cannot read and
//! ends a game at a blank line, every unreadable token is handed on, so that no move can go
//! missing unnoticed.

/// A piece of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    /// `[Name "value"]`, the value as written.
    Tag(&'a [u8], &'a [u8]),
    /// Something that should be a move, without move number and glyphs.
    Move(&'a [u8]),
    /// A null move.
    NullMove,
    /// A comment without its braces.
    Comment(&'a [u8]),
    /// A comment or variation that never closes.
    Open,
    /// `1-0`, `0-1`, `1/2-1/2`.
    Result(f32),
    /// `*`.
    UnknownResult,
}

/// Walks a text of games.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Begins at the start of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self { text, at: if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 } }
    }

    /// Offset of the next token's search.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || self.text[self.at - 1] == b'\n'
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn comment(&mut self) -> Token<'a> {
        let rest = &self.text[self.at + 1..];
        let Some(mut end) = memchr::memchr(b'}', rest) else {
            return self.open();
        };
        // A new game inside the braces: the comment was never closed.
        if let Some(game) = game_start_within(&rest[..end]) {
            self.at += 1 + game;
            return Token::Open;
        }
        // By the standard, braces do not nest. Where one was opened inside and the next brace
        // closes again, the writer nested them all the same.
        let mut opened = memchr::memchr_iter(b'{', &rest[..end]).count();
        while opened > 0 {
            match memchr::memchr2(b'{', b'}', &rest[end + 1..]) {
                Some(next) if rest[end + 1 + next] == b'}' => {
                    if game_start_within(&rest[end + 1..end + 1 + next]).is_some() {
                        break;
                    }
                    end += 1 + next;
                    opened -= 1;
                }
                _ => break,
            }
        }
        self.at += end + 2;
        Token::Comment(&rest[..end])
    }

    /// Goes on at the next game.
    fn open(&mut self) -> Token<'a> {
        let rest = &self.text[self.at + 1..];
        self.at += 1 + game_start_within(rest).unwrap_or(rest.len());
        Token::Open
    }

    /// Skips a variation with everything in it; `false` when it does not end within the game.
    fn variation(&mut self) -> bool {
        let mut depth = 0usize;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return true;
                    }
                }
                b'{' => {
                    if self.comment() == Token::Open {
                        return false;
                    }
                    continue;
                }
                b';' => {
                    self.skip_line();
                    continue;
                }
                b'[' if self.at_line_start() && is_tag_pair(&self.text[self.at..]) => return false,
                _ => {}
            }
            self.at += 1;
        }
        false
    }

    fn tag(&mut self) -> Option<Token<'a>> {
        let text = &self.text[self.at..];
        let (name, value_start) = tag_name(text)?;
        let value = &text[value_start..];
        let line_end = memchr::memchr(b'\n', value).unwrap_or(value.len());
        let mut end = None;
        let mut escaped = false;
        for (i, &byte) in value[..line_end].iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    end = Some(i);
                    break;
                }
                _ => {}
            }
        }
        let after = match end {
            Some(end) => end + 1,
            // No closing quote, or a backslash before it that was not meant to escape it.
            None => line_end,
        };
        let value = match end {
            Some(end) => &value[..end],
            None => {
                let line = value[..line_end].trim_ascii_end();
                line.strip_suffix(b"]").unwrap_or(line).trim_ascii_end()
            }
        };
        self.at += value_start + after;
        let gap = self.text[self.at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        if self.text.get(self.at + gap) == Some(&b']') {
            self.at += gap + 1;
        }
        Some(Token::Tag(name, value))
    }

    fn word(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        let ends = |byte: u8| byte.is_ascii_whitespace() || b"{}();$!?".contains(&byte);
        let length = rest.iter().position(|b| ends(*b)).unwrap_or(rest.len()).max(1);
        self.at += length;
        classify(&rest[..length])
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            match *self.text.get(self.at)? {
                b'%' if self.at_line_start() => self.skip_line(),
                b'{' => return Some(self.comment()),
                b';' => self.skip_line(),
                b'(' => {
                    if !self.variation() {
                        return Some(Token::Open);
                    }
                }
                b'$' => {
                    self.at += 1;
                    self.at += self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
                }
                b'[' => match self.tag() {
                    Some(tag) => return Some(tag),
                    None => self.skip_line(),
                },
                b')' | b'}' | b']' | b'!' | b'?' => self.at += 1,
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => {
                    if let Some(token) = self.word() {
                        return Some(token);
                    }
                }
            }
        }
    }
}

/// What a word is; `None` for move numbers and glyphs.
fn classify(word: &[u8]) -> Option<Token<'_>> {
    match word {
        b"1-0" => return Some(Token::Result(1.0)),
        b"0-1" => return Some(Token::Result(0.0)),
        b"1/2-1/2" | b"1/2" | b"\xc2\xbd-\xc2\xbd" | b"\xbd-\xbd" => return Some(Token::Result(0.5)),
        b"*" => return Some(Token::UnknownResult),
        b"--" | b"Z0" | b"@@@@" | b"0000" | b"null" | b"pass" => return Some(Token::NullMove),
        // Marks of novelties, diagrams and captures en passant, written as words.
        b"N" | b"D" | b"TN" | b"e.p." | b"ep" | b"ch" | b"mate" => return None,
        _ => {}
    }
    // Move numbers: digits with dots, glued to the move or not. `0-0` is castling.
    let digits = word.iter().take_while(|b| b.is_ascii_digit()).count();
    let dots = word[digits..].iter().take_while(|b| **b == b'.').count();
    if digits == word.len() || digits + dots == word.len() {
        return None;
    }
    let ellipsis = "\u{2026}".as_bytes();
    let word = if dots > 0 { &word[digits + dots..] } else { word };
    let word = word
        .strip_prefix(ellipsis)
        .or_else(|| word[digits.min(word.len())..].strip_prefix(ellipsis))
        .unwrap_or(word);
    // Judgments such as `+-`, `=`, `+/=`, `∞`.
    if word.iter().all(|b| b"+-=/~<>^#".contains(b) || *b >= 0x80) {
        return match word {
            b"--" => Some(Token::NullMove),
            _ => None,
        };
    }
    Some(Token::Move(word))
}

/// The name of a tag pair at the start of `text`, and where its value begins.
fn tag_name(text: &[u8]) -> Option<(&[u8], usize)> {
    let start = 1 + text.strip_prefix(b"[")?.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let length = text[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    let end = start + length;
    let gap = text[end..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    (length > 0 && text.get(end + gap) == Some(&b'"')).then(|| (&text[start..end], end + gap + 1))
}

/// Whether a line begins with a tag pair, such as `[Event "x"]`.
pub fn is_tag_pair(line: &[u8]) -> bool {
    tag_name(line).is_some()
}

/// A tag section within what should be a comment.
fn game_start_within(text: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, b"\n[Event \"").map(|at| at + 1)
}

/// The start of the last game in `text` that is not at its very start: a tag pair that follows
/// something else than tag pairs.
pub fn last_game_start(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = memchr::memrchr(b'[', &text[..end]) {
        end = at;
        if at > 0 && text[at - 1] == b'\n' && is_tag_pair(&text[at..]) && !follows_tag(&text[..at]) {
            return Some(at);
        }
    }
    None
}

/// Whether the last line that is not blank is nothing but a tag pair.
fn follows_tag(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let line = &text[memchr::memrchr(b'\n', text).map_or(0, |at| at + 1)..];
    text.is_empty() || (is_tag_pair(line) && line.ends_with(b"]"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> String {
        Scanner::new(text.as_bytes())
            .map(|token| match token {
                Token::Tag(name, value) => {
                    format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
                }
                Token::Move(word) => String::from_utf8_lossy(word).into_owned(),
                Token::Comment(text) => format!("{{{}}}", String::from_utf8_lossy(text)),
                Token::NullMove => "null".into(),
                Token::Open => "open".into(),
                Token::Result(value) => value.to_string(),
                Token::UnknownResult => "*".into(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn tokens() {
        assert_eq!(words("1.e4 e5 2. Nf3!? $1 Nc6?! 3... 0-0-0+ 1-0"), "e4 e5 Nf3 Nc6 0-0-0+ 1");
        assert_eq!(words("1. e4 (1. d4 {x)} (2. c4) d5) e5 +- = N ; rest\n2. -- *"), "e4 e5 null *");
        assert_eq!(words("{a {b} c} e4 {one { two} e5 {three}"), "{a {b} c} e4 {one { two} e5 {three}");
        assert_eq!(words("% escape\n[A \"b\\\"c\"] [B \"\"] e4"), "A=b\\\"c B= e4");
        assert_eq!(words("[Event \"Ugra \\\"]\n[Site \"?\"]\n"), "Event=Ugra \\\" Site=?");
        assert_eq!(words("e4 {open\n\n[Event \"x\"]\n\ne5 {closed} *"), "e4 open Event=x e5 {closed} *");
        assert_eq!(words("e4 {open"), "e4 open");
        assert_eq!(words("e4 (e5 {x}\n[Event \"x\"]\nd4"), "e4 open Event=x d4");
        assert_eq!(words("\u{feff}[A \"x\"]\r\n\r\n1\u{2026}e5 ½-½"), "A=x e5 0.5");
    }

    #[test]
    fn games_are_split_at_the_first_tag_after_moves() {
        let start = |text: &str| last_game_start(text.as_bytes());
        assert_eq!(start("[A \"x\"]\n[B \"y\"]\n\ne4 *\n"), None);
        let two = "[A \"x\"]\n\ne4 {\n[%clk 1]} *\n\n[A \"x\"]\r\n\r\n[B \"y\"]\r\n\r\ne4";
        assert_eq!(start(two), Some(two.rfind("[A").unwrap()));
        let glued = "[R \"x\"] e4 *\n[R \"y\"] d4 *\n";
        assert_eq!(start(glued), Some(13));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in "[\\[\\]{}();$!?.*\" \n\\\\%a-h1-8NO0/=+-]{0,120}") {
            let count = Scanner::new(text.as_bytes()).count();
            prop_assert!(count <= text.len() + 1);
            let _ = last_game_start(text.as_bytes());
        }
    }
}
