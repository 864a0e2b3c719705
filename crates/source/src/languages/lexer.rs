//! Tokens of sources: comments, words, numbers, literals, punctuation. Any input is accepted: what is not closed
//! ends with its line or the file.

use super::Language;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Comment,
    Word,
    Number,
    Text,
    /// Any other single byte, such as a bracket.
    Mark(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn is(&self, mark: u8) -> bool {
        self.kind == Kind::Mark(mark)
    }
}

/// Returns the tokens of a source, in order; only whitespace and a byte order mark are left out.
pub fn lex(source: &str, language: Language) -> Vec<Token> {
    let bytes = source.as_bytes();
    // A byte order mark is not part of a word.
    let mut at = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut tokens = Vec::new();
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() || bytes[at] == 0x0b {
            at += 1;
            continue;
        }
        let (kind, end) = token(bytes, at, language);
        tokens.push(Token { kind, start: at, end });
        at = end;
    }
    tokens
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn token(bytes: &[u8], at: usize, language: Language) -> (Kind, usize) {
    if let Some(literal) = (language.literal)(bytes, at) {
        return literal;
    }
    let rest = &bytes[at..];
    let next = rest.get(1).copied().unwrap_or(0);
    match rest[0] {
        _ if rest.starts_with(language.comment.as_bytes()) => {
            (Kind::Comment, comment_end(bytes, at, language))
        }
        b'/' if next == b'*' && language.has_blocks => {
            (Kind::Comment, block_comment(bytes, at, language.nests))
        }
        quote @ (b'"' | b'\'') => (Kind::Text, quoted(bytes, at, quote, false)),
        // Not the second half of a range.
        b'.' if next.is_ascii_digit() && language.leading_point && !bytes[..at].ends_with(b".") => {
            (Kind::Number, number(bytes, at, language))
        }
        digit if digit.is_ascii_digit() => (Kind::Number, number(bytes, at, language)),
        byte if is_word(byte) => (Kind::Word, at + rest.iter().take_while(|&&byte| is_word(byte)).count()),
        mark => (Kind::Mark(mark), at + 1),
    }
}

/// Returns the end of a line without its break; in C, with the lines that it continues on.
fn comment_end(bytes: &[u8], at: usize, language: Language) -> usize {
    let end = if language.is_c { logical_end(bytes, at) } else { line_end(bytes, at) };
    if end > at && bytes[end - 1] == b'\r' { end - 1 } else { end }
}

/// Returns the end of a line with those that it continues on: backslashes join lines.
pub fn logical_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        let end = line_end(bytes, at);
        let last = bytes[at..end].iter().rfind(|byte| **byte != b'\r');
        if end == bytes.len() || last != Some(&b'\\') {
            return end;
        }
        at = end + 1;
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |n| at + n)
}

/// Tells whether a token is the first of its line; `code` holds the tokens without comments.
pub fn begins_line(source: &str, code: &[Token], at: usize) -> bool {
    at == 0 || source[code[at - 1].end..code[at].start].contains('\n')
}

pub(super) fn find(bytes: &[u8], at: usize, wanted: &[u8]) -> usize {
    let from = at.min(bytes.len());
    memchr::memmem::find(&bytes[from..], wanted).map_or(bytes.len(), |n| from + n + wanted.len())
}

fn block_comment(bytes: &[u8], at: usize, nests: bool) -> usize {
    let mut depth = 1;
    let mut i = at + 2;
    while i < bytes.len() {
        if bytes[i..].starts_with(b"*/") {
            depth -= 1;
            i += 2;
            if depth == 0 {
                return i;
            }
        } else if nests && bytes[i..].starts_with(b"/*") {
            depth += 1;
            i += 2;
        } else {
            i += 1;
        }
    }
    bytes.len()
}

pub(super) fn quoted(bytes: &[u8], at: usize, quote: u8, lines: bool) -> usize {
    let mut i = at + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'\n' if !lines => return i,
            byte if byte == quote => return i + 1,
            _ => {}
        }
        i += 1;
    }
    bytes.len()
}

fn number(bytes: &[u8], at: usize, language: Language) -> usize {
    let hexadecimal = bytes[at] == b'0' && matches!(bytes.get(at + 1), Some(b'x' | b'X'));
    let mut i = at;
    while let Some(&byte) = bytes.get(i) {
        let next = bytes.get(i + 1).copied().unwrap_or(0);
        let exponent = if hexadecimal { matches!(byte, b'p' | b'P') } else { matches!(byte, b'e' | b'E') };
        let separator = byte == b'\'' && language.is_c && next.is_ascii_alphanumeric();
        if separator || (exponent && matches!(next, b'+' | b'-')) {
            i += 2;
        } else if byte == b'.' {
            // Except in C, a method or a range may follow.
            if next == b'.' || (is_word(next) && !next.is_ascii_digit() && !language.is_c) {
                break;
            }
            i += 1;
        } else if is_word(byte) {
            i += 1;
        } else {
            break;
        }
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hide_what_is_in_them() {
        for (language, source, expected) in [
            (
                Language::C,
                "\u{feff}int a='\\''; // x {\r\n/* { */ R\"x(})\" )x\" \"\\\"{\" #error Can't {\n1'000 -.5f",
                "int|a|=|'\\''|;|// x {|/* { */|R\"x(})\" )x\"|\"\\\"{\"|#|error|Can|'t {|1'000|-|.5f",
            ),
            (
                Language::RUST,
                "/* a /* b */ c */ r#\"\"{\"# 'a' '{' &'static \"a\nb\" 0..5 1_000i32 1.max(2) r#fn",
                "/* a /* b */ c */|r#\"\"{\"#|'a'|'{'|&|'|static|\"a\nb\"|0|.|.|5|1_000i32|1|.|max|(|2|)|r|#|fn",
            ),
            (Language::GO, "a := `\n\\` + '\\'' // x { \"", "a|:|=|`\n\\`|+|'\\''|// x { \""),
            (
                Language::PYTHON,
                "a = '\"' # x [ '\nb = '''c\n'd''' // 2",
                "a|=|'\"'|# x [ '|b|=|'''c\n'd'''|/|/|2",
            ),
            (
                Language::CSHARP,
                "@\"\\\" $@\"{\"\"\" \"\"\"a\"b\"\"\" @class 1e+5 0x1F",
                "@\"\\\"|$@\"{\"\"\"|\"\"\"a\"b\"\"\"|@|class|1e+5|0x1F",
            ),
        ] {
            let texts: Vec<&str> =
                lex(source, language).iter().map(|token| &source[token.start..token.end]).collect();
            assert_eq!(texts.join("|"), expected);
        }
    }

    #[test]
    fn what_is_not_closed_ends_with_the_file() {
        for language in Language::ALL {
            for source in
                ["/* a", "\"a", "'", "'\\", "R\"(", "r#\"", "@\"a\"\"", "\"\"\"", "$", "1e+", "/*/", "'é"]
            {
                let tokens = lex(source, language);
                assert!(tokens.last().unwrap().end <= source.len(), "{source}");
                assert!(tokens.iter().all(|token| source.get(token.start..token.end).is_some()), "{source}");
            }
        }
    }
}
