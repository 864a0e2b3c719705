//! Numbers of a source that cannot become variables: sizes and indices of arrays, and compile-time constants.

use std::ops::Range;

use super::languages::Language;
use super::lexer::{Kind, Token, begins_line, lex, logical_end};

/// The word or the brackets in which something must be known when compiling.
type Bound = &'static str;

pub(super) struct Code {
    /// Without comments.
    tokens: Vec<Token>,
    bound: Vec<Option<Bound>>,
}

impl Code {
    pub fn of(text: &str, language: Language) -> Self {
        let mut tokens = lex(text, language);
        tokens.retain(|token| token.kind != Kind::Comment);
        let mut reader = Reader { text, tokens: &tokens, language, open: Vec::new() };
        let (mut bound, mut directive) = (Vec::with_capacity(tokens.len()), None);
        for (i, token) in tokens.iter().enumerate() {
            directive = directive.filter(|(end, _)| token.start < *end);
            if directive.is_none() && language.has_directives && token.is(b'#') && reader.begins_line(i) {
                directive = Some((logical_end(text.as_bytes(), token.start), reader.directive(i)));
            }
            bound.push(match directive {
                Some((_, constant)) => constant,
                None => reader.step(i),
            });
        }
        Self { tokens, bound }
    }

    pub fn numbers(&self, part: Range<usize>) -> impl Iterator<Item = &Token> {
        let first = self.tokens.partition_point(|token| token.start < part.start);
        let tokens = self.tokens[first..].iter().take_while(move |token| token.start < part.end);
        tokens.filter(|token| token.kind == Kind::Number)
    }

    pub fn bound(&self, start: usize) -> Option<Bound> {
        self.bound[self.tokens.binary_search_by_key(&start, |token| token.start).ok()?]
    }
}

#[derive(Clone, Copy)]
enum Open {
    /// A bracket by its mark, and why what is in it must be constant.
    Bracket(u8, Option<Bound>),
    /// Until a mark, or the end of the bracket or block that it stands in.
    Statement(Bound, u8),
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    language: Language,
    open: Vec<Open>,
}

impl Reader<'_> {
    fn is(&self, i: usize, mark: u8) -> bool {
        self.tokens.get(i).is_some_and(|token| token.is(mark))
    }

    fn word(&self, i: usize) -> &str {
        match self.tokens.get(i) {
            Some(token) if token.kind == Kind::Word => &self.text[token.start..token.end],
            _ => "",
        }
    }

    fn follows(&self, i: usize, marks: &[u8]) -> bool {
        i > 0 && marks.iter().any(|mark| self.is(i - 1, *mark))
    }

    fn begins_line(&self, i: usize) -> bool {
        begins_line(self.text, self.tokens, i)
    }

    /// The directive that begins with a `#`, unless it defines what is used elsewhere.
    fn directive(&self, i: usize) -> Option<&'static str> {
        let known = ["#if", "#elif", "#pragma", "#include", "#line", "#error", "#warning", "#region"];
        known.into_iter().find(|known| known[1..] == *self.word(i + 1))
    }

    /// Reads a token; returns why it must be constant.
    fn step(&mut self, i: usize) -> Option<Bound> {
        if matches!(self.open.last(), Some(Open::Statement(_, b'\n'))) && self.begins_line(i) {
            self.open.pop();
        }
        let constant = self.constant(i);
        self.open.extend(constant.map(|(word, end)| Open::Statement(word, end)));
        match self.tokens.get(i)?.kind {
            Kind::Mark(mark @ (b'(' | b'[' | b'{')) => {
                let own = if mark == b'[' && self.is_size(i) { Some("[]") } else { self.bound() };
                self.open.push(Open::Bracket(mark, own));
            }
            Kind::Mark(b')' | b']' | b'}') => self.close(i),
            Kind::Mark(mark) => self.end(i, mark),
            Kind::Number if self.is_argument(i) => return Some("<>"),
            _ => {}
        }
        self.bound()
    }

    fn bound(&self) -> Option<Bound> {
        match self.open.last()? {
            Open::Bracket(_, own) => *own,
            Open::Statement(own, _) => Some(*own),
        }
    }

    fn close(&mut self, i: usize) {
        let bracket = self.open.iter().rposition(|open| matches!(open, Open::Bracket(..)));
        self.open.truncate(bracket.unwrap_or(0));
        // The body of a function or an enumeration ends its statement.
        if let Some(Open::Statement(_, end)) = self.open.last()
            && (*end == b')' || self.is(i, b'}') && !self.is(i + 1, b','))
        {
            self.open.pop();
        }
    }

    fn end(&mut self, i: usize, mark: u8) {
        let double = mark == b':' && (self.is(i + 1, b':') || self.follows(i, b":"));
        match self.open.last_mut() {
            Some(Open::Statement(_, end)) if mark == b';' || (mark == *end && !double) => {
                self.open.pop();
            }
            // The length of an array in Rust.
            Some(Open::Bracket(b'[', own)) if mark == b';' => *own = Some("[]"),
            _ => {}
        }
    }

    /// The word that begins something constant, and the mark that ends it.
    fn constant(&self, i: usize) -> Option<(&'static str, u8)> {
        let rust = self.language == Language::RUST;
        let words: &[(&'static str, u8)] = match self.language {
            language if language.is_c => &[
                ("constexpr", b';'),
                ("consteval", b';'),
                ("constinit", b';'),
                ("static_assert", b')'),
                ("alignas", b')'),
                ("template", b'>'),
                ("case", b':'),
                ("enum", b';'),
            ],
            language if language == Language::RUST => &[("const", b';'), ("static", b';'), ("enum", b';')],
            language if language == Language::CSHARP => &[("const", b';'), ("case", b':'), ("enum", b';')],
            language if language == Language::GO => &[("const", b'\n'), ("case", b':')],
            _ => &[],
        };
        let (word, end) = *words.iter().find(|(known, _)| *known == self.word(i))?;
        match word {
            "constexpr" if i > 0 && self.word(i - 1) == "if" => Some((word, b')')),
            "const" | "static" if rust && self.follows(i, b"*<,'") => None,
            "const" if self.is(i + 1, b'(') => Some((word, b')')),
            _ => Some((word, end)),
        }
    }

    /// True for the bracket of a size or an index, or of an attribute.
    fn is_size(&self, i: usize) -> bool {
        let keyword = ["return", "in", "else", "yield", "and", "or", "not", "mut"];
        let word = if i > 0 { self.word(i - 1) } else { "" };
        (!word.is_empty() && !keyword.contains(&word))
            || self.follows(i, b"])#")
            || (self.language.is_c && self.follows(i, b"{,"))
            || self.language == Language::GO
    }

    /// True for the argument of a template, `<8>`.
    fn is_argument(&self, i: usize) -> bool {
        self.follows(i, b"<,") && self.is(i + 1, b'>') && !self.is(i + 2, b'=')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_known_by_their_words() {
        for (line, number, expected) in [
            ("constexpr int A = 5;", "5", Some("constexpr")),
            ("  #if A > 5", "5", Some("#if")),
            ("  #define A 5", "5", None),
            ("  case -5: return 3;", "5", Some("case")),
            ("  case B: return 5;", "5", None),
            ("  case A::B: return 5;", "5", None),
            ("  enum { A = 5 };", "5", Some("enum")),
            ("  enumerate(5);", "5", None),
            ("x[y[1] + 5] = 2;", "5", Some("[]")),
            ("return [5];", "5", None),
        ] {
            let at = line.find(number).unwrap();
            assert_eq!(Code::of(line, Language::C).bound(at), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_closed_does_no_harm() {
        let parts =
            ["constexpr", "enum {", "[", "(", "{", "<", "template <", "case", "const", "}", ")", "]", "#["];
        for language in Language::ALL {
            for at in 0..parts.len().pow(3) {
                let [a, b, c] = [1, 13, 169].map(|place| parts[at / place % parts.len()]);
                let text = format!("{a} 1 {b} 2 {c} 3;");
                let code = Code::of(&text, language);
                // Text after '#' is a comment in Python.
                let shown = if language == Language::PYTHON { text.split('#').next() } else { None };
                let shown = shown.unwrap_or(&text).matches(|c: char| c.is_ascii_digit()).count();
                assert_eq!(code.numbers(0..text.len()).count(), shown, "{text}");
            }
        }
    }
}
