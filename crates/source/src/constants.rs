//! Numbers of a source that cannot become variables: sizes and indices of arrays, and compile-time constants.

use std::ops::Range;

use super::languages::Language;
use super::lexer::{Kind, Token, lex};

/// Reason why a number must stay one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// It must be known at compile time, in this.
    Constant(&'static str),
    Size,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Constant(word) => write!(f, "must be known when compiling, in '{word}'"),
            Self::Size => f.write_str("is a size or an index"),
        }
    }
}

pub(super) struct Code {
    tokens: Vec<Token>,
    bound: Vec<(usize, Bound)>,
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "in"
            | "else"
            | "yield"
            | "and"
            | "or"
            | "not"
            | "if"
            | "match"
            | "break"
            | "mut"
            | "as"
            | "dyn"
            | "ref"
            | "case"
            | "is"
            | "co_return"
    )
}

impl Code {
    pub fn of(text: &str, language: Language) -> Self {
        let tokens = lex(text, language);
        let mut bound = vec![None; tokens.len()];
        // A directive is separate from its surroundings.
        let (mut main, mut directives): (Vec<usize>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
        let has_directives = language.has_directives;
        let (mut directive_end, mut comment_end, mut line_end) = (0, 0, 0);
        for (i, token) in tokens.iter().enumerate() {
            let begins_line = token.start >= line_end;
            if begins_line {
                line_end = logical_line_end(text, token.start, false);
            }
            if token.kind == Kind::Comment {
                if language.is_c && text[token.start..].starts_with("//") {
                    comment_end = logical_line_end(text, token.start, true);
                }
                // Comments may span lines; the text after them on the last line does not begin it.
                line_end = line_end.max(logical_line_end(text, token.end.max(token.start), false));
                continue;
            }
            if token.start < comment_end {
                bound[i] = Some(Bound::Constant("//"));
            } else if token.start < directive_end {
                directives.last_mut().expect("one has begun").push(i);
            } else if has_directives && begins_line && token.is(b'#') {
                directive_end = logical_line_end(text, token.start, true);
                directives.push(vec![i]);
            } else {
                main.push(i);
            }
        }
        Reader { text, tokens: &tokens, language, bound: &mut bound }.stream(&main);
        for directive in directives {
            let word = directive.get(1).map_or("", |i| &text[tokens[*i].start..tokens[*i].end]);
            let known = ["if", "elif", "pragma", "include", "line", "error", "warning", "region"];
            let shown = ["#if", "#elif", "#pragma", "#include", "#line", "#error", "#warning", "#region"];
            match known.iter().position(|known| *known == word) {
                Some(at) => directive.iter().for_each(|i| bound[*i] = Some(Bound::Constant(shown[at]))),
                None => Reader { text, tokens: &tokens, language, bound: &mut bound }.stream(&directive),
            }
        }
        let bound =
            tokens.iter().zip(bound).filter_map(|(token, bound)| Some((token.start, bound?))).collect();
        Self { tokens, bound }
    }

    pub fn numbers(&self, part: Range<usize>) -> impl Iterator<Item = &Token> {
        let first = self.tokens.partition_point(|token| token.start < part.start);
        let tokens = self.tokens[first..].iter().take_while(move |token| token.start < part.end);
        tokens.filter(|token| token.kind == Kind::Number)
    }

    pub fn around(&self, part: &Range<usize>) -> Option<&Token> {
        let behind = self.tokens.partition_point(|token| token.start <= part.start);
        self.tokens[..behind].last().filter(|token| token.end >= part.end)
    }

    /// Reason why the number at a position must stay one, or a name must stay constant.
    pub fn bound(&self, start: usize) -> Option<Bound> {
        let at = self.bound.binary_search_by_key(&start, |(at, _)| *at).ok()?;
        Some(self.bound[at].1)
    }
}

fn logical_line_end(text: &str, mut at: usize, continued: bool) -> usize {
    loop {
        let end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |n| at + n);
        let line = text[at..end].trim_end_matches('\r');
        if end == text.len() || !continued || !line.ends_with('\\') {
            return end;
        }
        at = end + 1;
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    language: Language,
    bound: &'a mut [Option<Bound>],
}

struct Stream<'a> {
    reader: &'a Reader<'a>,
    indices: &'a [usize],
    pairs: Vec<Option<usize>>,
}

impl Stream<'_> {
    fn token(&self, i: usize) -> Option<&Token> {
        Some(&self.reader.tokens[*self.indices.get(i)?])
    }

    fn is(&self, i: usize, mark: u8) -> bool {
        self.token(i).is_some_and(|token| token.is(mark))
    }

    fn is_any(&self, i: usize, marks: &[u8]) -> bool {
        marks.iter().any(|&mark| self.is(i, mark))
    }

    fn kind(&self, i: usize) -> Option<Kind> {
        self.token(i).map(|token| token.kind)
    }

    fn word(&self, i: usize) -> &str {
        match self.token(i) {
            Some(token) if token.kind == Kind::Word => &self.reader.text[token.start..token.end],
            _ => "",
        }
    }

    fn before(&self, i: usize, mark: u8) -> bool {
        i > 0 && self.is(i - 1, mark)
    }

    fn adjoins(&self, i: usize) -> bool {
        i > 0 && self.token(i - 1).map(|token| token.end) == self.token(i).map(|token| token.start)
    }

    /// End of the group that an opening bracket begins; the last token, if it is not closed.
    fn close(&self, i: usize) -> usize {
        self.pairs[i].unwrap_or(self.indices.len().saturating_sub(1)).max(i)
    }

    /// First token from `i` on for which `stop` holds, outside of brackets that open after `i`; else the one that
    /// closes the surrounding bracket, or the last.
    fn until(&self, mut i: usize, stop: impl Fn(usize) -> bool) -> usize {
        while i < self.indices.len() {
            if stop(i) || self.is_any(i, b")]}") {
                return i;
            }
            let opens = self.is_any(i, b"([{");
            i = if opens { self.close(i) + 1 } else { i + 1 };
        }
        self.indices.len().saturating_sub(1)
    }

    fn declaration_end(&self, i: usize) -> usize {
        let mut at = i + 1;
        loop {
            let end = self.until(at, |i| self.is(i, b';') || self.is(i, b'{'));
            if !self.is(end, b'{') {
                return end;
            }
            let close = self.close(end);
            // After the braces of a value, the declaration continues.
            if close + 1 >= self.indices.len() || !self.is_any(close + 1, b";,){") {
                return close;
            }
            at = close + 1;
        }
    }

    fn angle_close(&self, i: usize) -> Option<usize> {
        let mut depth = 0;
        let mut at = i;
        while at < self.indices.len().min(i + 100) {
            match self.kind(at)? {
                Kind::Mark(b'<') => depth += 1,
                Kind::Mark(b'>') => {
                    depth -= 1;
                    if depth == 0 {
                        let operand = matches!(self.kind(at + 1), Some(Kind::Number | Kind::Text));
                        return (!operand).then_some(at);
                    }
                }
                Kind::Mark(b'(' | b'[') => at = self.close(at),
                Kind::Mark(b'&') if self.is(at + 1, b'&') && !self.word(at + 2).is_empty() => return None,
                Kind::Mark(b';' | b'{' | b'}' | b')' | b']' | b'|' | b'?' | b'!') => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    fn pattern(&self, arrow: usize, opens: &[Option<usize>]) -> Range<usize> {
        let (mut start, mut end) = (arrow, arrow);
        while start > 0 {
            let i = start - 1;
            if self.is_any(i, b",{([;") {
                break;
            }
            if self.word(i) == "if" {
                end = i;
            }
            match opens[i] {
                // The block of the arm before.
                Some(open) if self.is(i, b'}') && !(open > 0 && self.kind(open - 1) == Some(Kind::Word)) => {
                    break;
                }
                Some(open) => start = open,
                None => start = i,
            }
        }
        start..end
    }

    fn is_bit_field(&self, i: usize) -> bool {
        let ends = self.is_any(i + 2, b";,=");
        if self.kind(i + 1) != Some(Kind::Number) || !ends {
            return false;
        }
        let mut words = 0;
        for at in (0..i).rev() {
            match self.kind(at) {
                Some(Kind::Mark(b';' | b'{' | b'}')) => break,
                Some(Kind::Mark(b'?' | b'(' | b':' | b'[')) => return false,
                Some(Kind::Word) if ["case", "default"].contains(&self.word(at)) => return false,
                Some(Kind::Word) => words += 1,
                _ => {}
            }
        }
        words >= 2
    }
}

impl Reader<'_> {
    fn stream(&mut self, indices: &[usize]) {
        let (mut pairs, mut opens) = (vec![None; indices.len()], vec![None; indices.len()]);
        let mut open: Vec<(usize, u8)> = Vec::new();
        for (i, index) in indices.iter().enumerate() {
            match self.tokens[*index].kind {
                Kind::Mark(mark @ (b'(' | b'[' | b'{')) => open.push((i, mark)),
                Kind::Mark(mark @ (b')' | b']' | b'}')) => {
                    let wanted = match mark {
                        b')' => b'(',
                        b']' => b'[',
                        _ => b'{',
                    };
                    if let Some(at) = open.iter().rposition(|(_, mark)| *mark == wanted) {
                        let begin = open[at].0;
                        open.truncate(at);
                        (pairs[begin], opens[i]) = (Some(i), Some(begin));
                    }
                }
                _ => {}
            }
        }
        let mut found: Vec<(Range<usize>, Bound)> = Vec::new();
        let stream = Stream { reader: self, indices, pairs };
        for i in 0..indices.len() {
            found.extend(constant(&stream, i, &opens));
        }
        for (range, bound) in found {
            for index in &indices[range.start.min(indices.len())..range.end.min(indices.len())] {
                self.bound[*index].get_or_insert(bound);
            }
        }
    }
}

fn constant(s: &Stream<'_>, i: usize, opens: &[Option<usize>]) -> Option<(Range<usize>, Bound)> {
    let language = s.reader.language;
    let (c, csharp) = (language.is_c, language == Language::CSHARP);
    let (go, rust) = (language == Language::GO, language == Language::RUST);
    let group = |open: usize, what| Some((open..s.close(open) + 1, Bound::Constant(what)));
    let to = |end: usize, what| Some((i..end + 1, Bound::Constant(what)));
    let declaration = |what| match s.word(i.wrapping_sub(1)) == "if" {
        true => group(i + 1, what).filter(|_| s.is(i + 1, b'(')),
        false => to(s.declaration_end(i), what),
    };
    match (s.kind(i)?, s.word(i)) {
        (_, "constexpr") if c => declaration("constexpr"),
        (_, "consteval") if c => declaration("consteval"),
        (_, "constinit") if c => declaration("constinit"),
        (_, "static_assert" | "_Static_assert") if c && s.is(i + 1, b'(') => group(i + 1, "static_assert"),
        (_, "alignas" | "_Alignas" | "__attribute__") if c && s.is(i + 1, b'(') => group(i + 1, "alignas"),
        (_, "enum") if c || csharp || rust => {
            let begin = s.until(i + 1, |i| s.is_any(i, b"{;("));
            if s.is(begin, b'{') { to(s.close(begin), "enum") } else { to(begin, "enum") }
        }
        (_, "case") if c || csharp || go => {
            let colon = |i: usize| {
                let double = (s.is(i + 1, b':') && s.adjoins(i + 1)) || (s.before(i, b':') && s.adjoins(i));
                s.is(i, b':') && !double
            };
            to(s.until(i + 1, |i| colon(i) || s.is(i, b';') || s.is(i, b'{')), "case")
        }
        (_, "template") if c && s.is(i + 1, b'<') => {
            let mut depth = 0;
            let end = (i + 1..indices_end(s, i)).find(|&at| {
                depth += i32::from(s.is(at, b'<')) - i32::from(s.is(at, b'>'));
                depth == 0
            })?;
            to(end, "template")
        }
        (_, "const") if rust && i > 0 && s.is_any(i - 1, b"*<,") => None,
        (_, "const") if rust => {
            let function = (i + 1..i + 4).any(|at| s.word(at) == "fn");
            let end = s.until(i + 1, |i| s.is(i, b';') || (function && s.is(i, b'{')));
            if s.is(i + 1, b'{') {
                to(s.close(i + 1), "const")
            } else if s.is(end, b'{') {
                to(s.close(end), "const")
            } else {
                to(end, "const")
            }
        }
        (_, "static") if rust && !s.before(i, b'\'') => to(s.until(i + 1, |i| s.is(i, b';')), "static"),
        (_, "const") if csharp => to(s.until(i + 1, |i| s.is(i, b';')), "const"),
        (_, "const") if go && s.is(i + 1, b'(') => group(i + 1, "const"),
        (_, "const") if go => {
            let line = logical_line_end(s.reader.text, s.token(i)?.start, false);
            let count = (i..indices_end(s, i)).take_while(|at| s.token(*at).is_some_and(|t| t.start < line));
            to(i + count.count() - 1, "const")
        }
        (Kind::Mark(b'#'), _) if rust => {
            let open = if s.is(i + 1, b'!') { i + 2 } else { i + 1 };
            s.is(open, b'[').then(|| group(open, "#[]")).flatten()
        }
        (Kind::Mark(b'['), _) => brackets(s, i, language),
        (Kind::Mark(b'<'), _) if c || csharp || rust => {
            let named = i > 0 && s.kind(i - 1) == Some(Kind::Word) && s.adjoins(i);
            let turbofish = rust && s.before(i, b':');
            let shift = s.is(i + 1, b'<') || s.is(i + 1, b'=');
            if !(named || turbofish) || shift { None } else { to(s.angle_close(i)?, "<>") }
        }
        (Kind::Mark(b':'), _) if c && s.is_bit_field(i) => Some((i..i + 2, Bound::Size)),
        (Kind::Mark(b'='), _) if (rust || csharp) && s.is(i + 1, b'>') && s.adjoins(i + 1) => {
            Some((s.pattern(i, opens), Bound::Constant("=>")))
        }
        _ => None,
    }
}

fn indices_end(s: &Stream<'_>, i: usize) -> usize {
    s.indices.len().min(i + 1000)
}

fn brackets(s: &Stream<'_>, i: usize, language: Language) -> Option<(Range<usize>, Bound)> {
    let close = s.close(i);
    let all = Some((i..close + 1, Bound::Size));
    if i > 0 {
        let word = s.word(i - 1);
        let array = (!word.is_empty() && !is_keyword(word)) || s.before(i, b']') || s.before(i, b')');
        if array && !(language == Language::RUST && s.before(i, b']') && !s.adjoins(i)) {
            return all;
        }
    }
    match () {
        () if language == Language::RUST => {
            let end = s.until(i + 1, |i| s.is(i, b';'));
            // Parentheses that are not closed within the brackets hide their end from the search.
            (s.is(end, b';') && end < close).then_some((end..close + 1, Bound::Size))
        }
        () if language == Language::GO
            && (!s.word(close + 1).is_empty() || s.is(close + 1, b'[') || s.is(close + 1, b'*')) =>
        {
            all
        }
        () if language.is_c && (s.before(i, b'{') || s.before(i, b',')) => {
            let designator = s.is_any(close + 1, b"=[.");
            designator.then_some((i..close + 1, Bound::Size))
        }
        // An attribute.
        () if language == Language::CSHARP && (i == 0 || s.is_any(i - 1, b";{}")) => {
            Some((i..close + 1, Bound::Constant("[]")))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_known_by_their_words() {
        for (line, number, expected) in [
            ("constexpr int A = 5;", "5", Some(Bound::Constant("constexpr"))),
            ("  #if A > 5", "5", Some(Bound::Constant("#if"))),
            ("  #define A 5", "5", None),
            ("  case -5: return 3;", "5", Some(Bound::Constant("case"))),
            ("  case B: return 5;", "5", None),
            ("  case A::B: return 5;", "5", None),
            ("  enum { A = 5 };", "5", Some(Bound::Constant("enum"))),
            ("  enumerate(5);", "5", None),
            ("x[y[1] + 5] = 2;", "5", Some(Bound::Size)),
            ("return [5];", "5", None),
        ] {
            let at = line.find(number).unwrap();
            assert_eq!(Code::of(line, Language::C).bound(at), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_closed_does_no_harm() {
        let parts = [
            "constexpr",
            "enum {",
            "[",
            "(",
            "{",
            "<",
            "template <",
            "case",
            "const",
            "=>",
            "}",
            ")",
            "]",
            "a<",
            "#[",
        ];
        for language in Language::ALL {
            for a in parts {
                for b in parts {
                    for c in parts {
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
    }
}
