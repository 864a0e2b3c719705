//! Numbers of a source by their places: `S(337, 281)` or `V(36)`, as evaluations that trace themselves write them, and
//! the names that the source gives them.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use crate::characters::line_of;
use crate::languages::Language;
use crate::lexer::{Kind, Token, begins_line, lex, logical_end};
use crate::number::Number;
use crate::sources::Loaded;
use gputexel_io::Result;

/// Words before a block that has no name of a function.
const STATEMENTS: [&str; 8] = ["if", "else", "for", "while", "switch", "match", "loop", "catch"];
/// Other words before a brace that begins no initial value.
const BLOCKS: [&str; 12] =
    ["fn", "impl", "trait", "mod", "struct", "class", "union", "enum", "namespace", "do", "try", "unsafe"];

/// A call of a function with one or two plain numbers.
#[derive(Clone, Debug)]
pub struct Literal {
    /// `KNIGHT_PSQT[3][12]`: what it initializes, with indices and fields; in other expressions, the function.
    pub name: String,
    /// Bytes, from the function's name to the closing parenthesis.
    pub range: Range<usize>,
    pub line: u64,
    pub(crate) numbers: Vec<(Range<usize>, Number)>,
}

impl Literal {
    pub fn values(&self) -> [f64; 2] {
        let value = |i: usize| self.numbers[i.min(self.numbers.len() - 1)].1.value;
        [value(0), value(1)]
    }
}

#[derive(Debug)]
pub struct Source {
    pub(crate) loaded: Loaded,
    pub literals: Vec<Literal>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Self> {
        let loaded = Loaded::all(&[path.to_path_buf()])?.remove(0);
        Ok(Self::of(loaded))
    }

    pub(crate) fn of(loaded: Loaded) -> Self {
        let literals = literals(&loaded.text, loaded.language);
        Self { loaded, literals }
    }

    /// Finds the literal at a line and column, from 1, as compilers count them: in bytes or characters, from the
    /// function's name to the closing parenthesis.
    pub fn at(&self, line: u64, column: usize) -> Option<&Literal> {
        literal_at(&self.literals, &self.loaded.text, line, column)
    }
}

/// Finds the literals of a source, in order. Their names are unique: others of the same name have a number.
pub(crate) fn literals(text: &str, language: Language) -> Vec<Literal> {
    let tokens = code(text, language);
    let source = Scan::new(text, &tokens, language);
    let mut names = HashSet::new();
    let mut found = Vec::new();
    for i in 0..tokens.len() {
        let Some((end, numbers)) = source.call(i) else { continue };
        let own = source.name(i);
        let numbered = (2..).map(|n| format!("{own}_{n}"));
        let mut ways = std::iter::once(own.clone()).chain(numbered);
        let name = ways.find(|name| names.insert(name.clone())).unwrap_or_default();
        // Compilers may count from the namespace of a function.
        let first =
            (0..i).rev().step_by(3).take_while(|&at| source.is_path(at)).last().map_or(i, |at| at - 2);
        let range = tokens[first].start..tokens[end].end;
        found.push(Literal { name, line: line_of(text, range.start), range, numbers });
    }
    found
}

fn literal_at<'a>(literals: &'a [Literal], text: &str, line: u64, column: usize) -> Option<&'a Literal> {
    let column = column.checked_sub(1)?;
    let mut of_line = literals.iter().filter(|literal| literal.line == line);
    of_line.find(|literal| {
        let start = text[..literal.range.start].rfind('\n').map_or(0, |at| at + 1);
        let [from, to] = [literal.range.start, literal.range.end].map(|at| &text[start..at]);
        (from.len()..to.len()).contains(&column)
            || (from.chars().count()..to.chars().count()).contains(&column)
    })
}

/// Returns the tokens without comments and directives.
fn code(text: &str, language: Language) -> Vec<Token> {
    let all: Vec<Token> =
        lex(text, language).into_iter().filter(|token| token.kind != Kind::Comment).collect();
    let mut end = 0;
    let mut code = Vec::with_capacity(all.len());
    for (i, token) in all.iter().enumerate() {
        if language.is_c && token.is(b'#') && begins_line(text, &all, i) {
            end = logical_end(text.as_bytes(), token.start);
        }
        if token.start >= end {
            code.push(*token);
        }
    }
    code
}

/// Where reading backwards ended.
enum Stop {
    /// At an opening bracket, before which there are so many commas.
    Bracket(usize, usize),
    Equals(usize),
    Statement,
}

struct Scan<'a> {
    text: &'a str,
    tokens: &'a [Token],
    language: Language,
    /// For each bracket, the other one of its pair.
    partner: Vec<Option<usize>>,
    /// For each token, the innermost bracket around it.
    around: Vec<Option<usize>>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, tokens: &'a [Token], language: Language) -> Self {
        let mut partner = vec![None; tokens.len()];
        let mut around = Vec::with_capacity(tokens.len());
        let mut open: Vec<usize> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            around.push(open.last().copied());
            match token.kind {
                Kind::Mark(b'(' | b'[' | b'{') => open.push(i),
                Kind::Mark(b')' | b']' | b'}') => {
                    if let Some(start) = open.pop() {
                        (partner[start], partner[i]) = (Some(i), Some(start));
                    }
                }
                _ => {}
            }
        }
        Self { text, tokens, language, partner, around }
    }

    fn is(&self, i: usize, mark: u8) -> bool {
        self.tokens.get(i).is_some_and(|token| token.is(mark))
    }

    fn word(&self, i: usize) -> &'a str {
        match self.tokens.get(i) {
            Some(token) if token.kind == Kind::Word => &self.text[token.start..token.end],
            _ => "",
        }
    }

    /// Tells whether a token ends `name::`.
    fn is_path(&self, at: usize) -> bool {
        at >= 2 && self.is(at, b':') && self.is(at - 1, b':') && !self.word(at - 2).is_empty()
    }

    /// Returns the end of a call with one or two numbers, and these.
    fn call(&self, at: usize) -> Option<(usize, Vec<(Range<usize>, Number)>)> {
        if self.word(at).is_empty() || !self.is(at + 1, b'(') {
            return None;
        }
        let (mut i, mut numbers) = (at + 2, Vec::new());
        loop {
            let start = self.tokens.get(i)?.start;
            let sign = [b'-', b'+'].into_iter().find(|&sign| self.is(i, sign));
            i += usize::from(sign.is_some());
            let token = self.tokens.get(i).filter(|token| token.kind == Kind::Number)?;
            let number = Number::parse(sign, &self.text[token.start..token.end], self.language).ok()?;
            numbers.push((start..token.end, number));
            match self.tokens.get(i + 1)?.kind {
                Kind::Mark(b')') => return Some((i + 1, numbers)),
                Kind::Mark(b',') if numbers.len() == 1 => i += 2,
                _ => return None,
            }
        }
    }

    /// Returns the name of what a literal initializes, found by reading backwards.
    fn name(&self, literal: usize) -> String {
        let (mut at, mut path) = (literal, String::new());
        let mut is_field = false; // of the element that begins at `at`
        loop {
            match self.back(at) {
                Stop::Equals(equals) if self.is_designated(equals) => {
                    path = format!(".{}{path}", self.word(equals - 1));
                    (at, is_field) = (equals - 2, true);
                }
                Stop::Equals(equals) => {
                    return self.declared(equals).unwrap_or_else(|| self.function(at)) + &path;
                }
                Stop::Bracket(open, commas) => {
                    let is_brace = self.is(open, b'{');
                    if is_brace && !self.is_initial(open) {
                        return self.function(at) + &path;
                    }
                    if let Some(field) = self.field(open, commas).filter(|_| is_brace) {
                        path = format!(".{field}{path}");
                    } else if !is_field && self.elements(open) > 1 {
                        path = format!("[{commas}]{path}");
                    }
                    if let Some(name) = self.uniform(open).filter(|_| is_brace) {
                        return name.to_string() + &path;
                    }
                    (at, is_field) = (open, false);
                }
                Stop::Statement => return self.function(at) + &path,
            }
        }
    }

    /// Reads backwards from a token, past whole brackets.
    fn back(&self, from: usize) -> Stop {
        let (mut at, mut commas) = (from, 0);
        while at > 0 {
            at -= 1;
            match self.tokens[at].kind {
                Kind::Mark(b',') => commas += 1,
                Kind::Mark(b'=') if commas == 0 && self.is_assignment(at) => return Stop::Equals(at),
                Kind::Mark(b'(' | b'[' | b'{') => return Stop::Bracket(at, commas),
                Kind::Mark(b';') => return Stop::Statement,
                // What ends without a comma is a block.
                Kind::Mark(b'}') if !self.is(at + 1, b',') => return Stop::Statement,
                Kind::Mark(b')' | b']' | b'}') => at = self.partner[at].unwrap_or(0),
                _ => {}
            }
        }
        Stop::Statement
    }

    /// Tells whether it is the sign of a plain assignment, not part of `==` or `+=`.
    fn is_assignment(&self, at: usize) -> bool {
        let touches = |a: usize, b: usize| self.tokens[a].end == self.tokens[b].start;
        let mark =
            |i: usize| matches!(self.tokens[i].kind, Kind::Mark(mark) if b"=<>!+-*/%&|^".contains(&mark));
        let before = at > 0 && touches(at - 1, at) && mark(at - 1);
        let after = at + 1 < self.tokens.len() && touches(at, at + 1) && mark(at + 1);
        !(before || after)
    }

    /// `{.field = …}`
    fn is_designated(&self, equals: usize) -> bool {
        equals >= 3
            && self.is(equals - 2, b'.')
            && !self.word(equals - 1).is_empty()
            && (self.is(equals - 3, b'{') || self.is(equals - 3, b','))
    }

    /// `{field: …}`, the element after so many commas.
    fn field(&self, open: usize, commas: usize) -> Option<&'a str> {
        let start = std::iter::once(open).chain(self.commas(open)).nth(commas)? + 1;
        (!self.language.is_c && self.is(start + 1, b':') && !self.is(start + 2, b':'))
            .then(|| self.word(start))
    }

    fn commas(&self, open: usize) -> impl Iterator<Item = usize> {
        let end = self.partner[open].unwrap_or(self.tokens.len());
        (open + 1..end).filter(move |&i| self.is(i, b',') && self.around[i] == Some(open))
    }

    fn elements(&self, open: usize) -> usize {
        let last = self.partner[open].unwrap_or(self.tokens.len()) - 1;
        self.commas(open).count() + usize::from(!self.is(last, b','))
    }

    /// Returns the beginning of the statement that a token belongs to, unless an assignment comes before.
    fn statement(&self, of: usize) -> usize {
        let mut at = of;
        while at > 0 {
            match self.tokens[at - 1].kind {
                Kind::Mark(b';' | b'{' | b'}' | b'(' | b'[') => return at,
                Kind::Mark(b')' | b']') => at = self.partner[at - 1].unwrap_or(0),
                _ => at -= 1,
            }
        }
        at
    }

    /// Tells whether a brace begins an initial value, not a block.
    fn is_initial(&self, open: usize) -> bool {
        let Some(before) = open.checked_sub(1) else { return false };
        let words = || (self.statement(open)..open).map(|i| self.word(i));
        match self.tokens[before].kind {
            Kind::Mark(b')' | b';' | b'}') => false,
            Kind::Word | Kind::Mark(b'>' | b']') => {
                !self.follows_arrow(open)
                    && !words().any(|word| BLOCKS.contains(&word) || STATEMENTS.contains(&word))
            }
            _ => true,
        }
    }

    /// `=> {`
    fn follows_arrow(&self, open: usize) -> bool {
        open >= 2 && self.is(open - 1, b'>') && self.is(open - 2, b'=')
    }

    /// `Type name{…}`
    fn uniform(&self, open: usize) -> Option<&'a str> {
        let name = self.before_dimensions(open)?;
        let kind = self.tokens.get(name.checked_sub(1)?)?.kind;
        let after_type = match kind {
            Kind::Word => self.word(name - 1) != "return",
            mark => matches!(mark, Kind::Mark(b'>' | b'*' | b'&')),
        };
        (self.language.is_c && after_type).then(|| self.word(name))
    }

    /// Returns the word before `[6][64]`, or without these, before a token.
    fn before_dimensions(&self, of: usize) -> Option<usize> {
        let mut at = of.checked_sub(1)?;
        while self.is(at, b']') {
            at = self.partner[at]?.checked_sub(1)?;
        }
        (!self.word(at).is_empty()).then_some(at)
    }

    fn declared(&self, equals: usize) -> Option<String> {
        let words = self.statement(equals)..equals;
        let mut after =
            words.skip_while(|&i| !["let", "static", "const"].contains(&self.word(i)) || self.language.is_c);
        let typed = after.find(|&i| !["", "let", "static", "const", "mut"].contains(&self.word(i)));
        typed.or_else(|| self.before_dimensions(equals)).map(|at| self.word(at).to_string())
    }

    fn function(&self, at: usize) -> String {
        let blocks = std::iter::successors(self.around[at], |&open| self.around[open]);
        let mut functions = blocks.filter(|&open| self.is(open, b'{')).filter_map(|open| {
            let header = self.statement(open)..open;
            let mut words = header.clone().map(|i| self.word(i));
            if self.follows_arrow(open) || words.clone().any(|word| STATEMENTS.contains(&word)) {
                return None;
            }
            if words.any(|word| word == "fn") {
                return words.next();
            }
            let call = header.clone().find(|&i| i > header.start && self.is(i, b'('))?;
            Some(self.word(call - 1)).filter(|word| !word.is_empty())
        });
        functions.next().unwrap_or("number").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(file: &str, text: &str) -> String {
        let found = literals(text, Language::of(Path::new(file)));
        found.iter().map(|literal| literal.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn literals_are_named_by_what_they_initialize() {
        for (source, expected) in [
            ("constexpr Pair A = S(1, 2), B = S(-3, +4); // S(5, 6)", "A B"),
            ("inline const Value TEMPO{V(3)};", "TEMPO"),
            ("Pair T[2][2] = {{S(1, 2), S(3, 4)}, {S(5, 6), S(7, 8)},};", "T[0][0] T[0][1] T[1][0] T[1][1]"),
            ("std::array<Pair, 2> M = {{S(1, 2), S(3, 4)}};", "M[0] M[1]"),
            ("constexpr std::array<Pair, 2> M{S(1, 2), S(3, 4)};", "M[0] M[1]"),
            ("namespace n {\nPair A[1][2] {{ mirror(S(1, 2)), -S(3, 4) }};\n}", "A[0] A[1]"),
            (
                "const Weights w = {.rook = S(1, 2), .bishop = {S(3, 4), S(5, 6)}};",
                "w.rook w.bishop[0] w.bishop[1]",
            ),
            ("struct W { Pair a = S(1, 2); Pair b{S(3, 4)}; };", "a b"),
            (
                "Value f(const P &p) const { Pair s; s += S(1, 2) * p.x; if (p) { s -= S(3, 4); } return V(5); }",
                "f f_2 f_3",
            ),
            ("#define X S(1, 2)\nPair a = c ? S(1, 2) : S(3, 4); Pair b = S(N, 2);", "a a_2"),
            ("int f() { return 1; }\nPair k = S(1, 2);", "k"),
        ] {
            assert_eq!(names("a.cpp", source), expected, "{source}");
        }
        for (source, expected) in [
            ("pub const A: [[Pair; 2]; 1] = [[S(1, 2), S(3, 4)]];\nstatic B: Pair = S(5, 6);", "A[0] A[1] B"),
            (
                "const P: Params = Params { rook: S(1, 2), list: [S(3, 4), S(5, 6)] };",
                "P.rook P.list[0] P.list[1]",
            ),
            ("fn f(n: i32) -> Pair { if n > 0 { S(1, 2) } else { let mut x = S(3, 4); x * n } }", "f x"),
            (
                "impl E { pub fn g(&self) -> Pair { match self.a { 0 => S(1, 2), _ => { S(3, 4) } } } }",
                "g g_2",
            ),
        ] {
            assert_eq!(names("a.rs", source), expected, "{source}");
        }
    }

    #[test]
    fn places_are_found_in_bytes_and_in_characters() {
        let text = "/* é */ Pair a = S(1, 2), b = S(3, 4);";
        let all = literals(text, Language::of(Path::new("a.cpp")));
        let at = |column| literal_at(&all, text, 1, column).map(|literal| literal.name.as_str());
        assert_eq!([17, 18, 25, 26, 32].map(at), [None, Some("a"), Some("a"), None, Some("b")]);
        assert_eq!(at(0), None);
        assert_eq!(all[1].values(), [3.0, 4.0]);
        let text = "Pair a = n::gputexel::S(1, 2);";
        let all = literals(text, Language::of(Path::new("a.cpp")));
        assert_eq!(
            [9, 10, 25].map(|column| literal_at(&all, text, 1, column).is_some()),
            [false, true, true]
        );
    }
}
