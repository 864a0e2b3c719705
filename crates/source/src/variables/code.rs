//! Tokens of a source with the scope and the statement of each.

use crate::languages::Language;
use crate::lexer::{Kind, Token, begins_line, lex, logical_end};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    File,
    Function,
    Class,
    Enum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub scope: Scope,
    pub statement: usize,
    pub directive: Option<usize>,
    /// True within brackets of any kind that belong to the statement.
    pub inside: bool,
}

pub(super) struct Scan<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token>,
    pub places: Vec<Place>,
}

enum Frame {
    Bracket,
    Initializer,
    Block(Scope),
}

impl<'a> Scan<'a> {
    pub fn of(text: &'a str, language: Language) -> Self {
        let tokens: Vec<Token> =
            lex(text, language).into_iter().filter(|token| token.kind != Kind::Comment).collect();
        let mut scan = Self { text, tokens, places: Vec::new() };
        scan.places = scan.find_places();
        scan
    }

    pub fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| &self.text[token.start..token.end])
    }

    pub fn is(&self, at: usize, mark: u8) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(mark))
    }

    pub fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == Kind::Word)
    }

    /// Token that begins at a byte, or the first after it.
    pub fn at(&self, byte: usize) -> usize {
        self.tokens.partition_point(|token| token.start < byte)
    }

    pub fn end(&self, statement: usize) -> usize {
        let own =
            |at: &usize| self.places[*at].directive.is_some() || self.places[*at].statement == statement;
        let is_code = |at: &usize| self.places[*at].directive.is_none();
        (statement..self.tokens.len()).take_while(own).filter(is_code).last().unwrap_or(statement)
    }

    pub fn equals(&self, statement: usize) -> Option<usize> {
        self.outside(statement).into_iter().find(|&at| self.is(at, b'='))
    }

    /// Tokens of a statement that are in no brackets, arguments of templates included.
    pub fn outside(&self, statement: usize) -> Vec<usize> {
        let end = self.end(statement);
        let (mut all, mut at, mut assigned) = (Vec::new(), statement, false);
        while at <= end {
            if self.is(at, b'<')
                && let Some(close) = self.closing_angle(at, end, assigned)
            {
                at = close;
            } else if !self.places[at].inside && self.places[at].directive.is_none() {
                assigned |= self.is(at, b'=');
                all.push(at);
            }
            at += 1;
        }
        all
    }

    /// The end of arguments of a template; in a value, `<` may also mean 'less than'.
    fn closing_angle(&self, open: usize, end: usize, in_value: bool) -> Option<usize> {
        let mut depth = 0;
        for at in (open..=end).filter(|&at| self.places[at].inside == self.places[open].inside) {
            match self.tokens[at].kind {
                Kind::Mark(b'<') => depth += 1,
                Kind::Mark(b'>') if depth == 1 => return Some(at),
                Kind::Mark(b'>') => depth -= 1,
                Kind::Mark(b'=') if in_value => return None,
                _ => {}
            }
        }
        None
    }

    fn find_places(&self) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.tokens.len());
        let mut frames: Vec<Frame> = Vec::new();
        let (mut statement, mut line_end, mut directive) = (0, 0, None);
        for (at, token) in self.tokens.iter().enumerate() {
            let first = begins_line(self.text, &self.tokens, at);
            if directive.is_some() && token.start >= line_end {
                directive = None;
            }
            if directive.is_none() && first && token.is(b'#') {
                (directive, line_end) = (Some(at), logical_end(self.text.as_bytes(), token.start));
            }
            let scope = frames.iter().rev().find_map(|frame| match frame {
                Frame::Block(scope) => Some(*scope),
                _ => None,
            });
            let scope = scope.unwrap_or(Scope::File);
            let inside = !matches!(frames.last(), None | Some(Frame::Block(_)));
            places.push(Place { scope, statement, directive, inside });
            if directive.is_some() {
                if statement == at {
                    statement = at + 1;
                }
                continue;
            }
            match token.kind {
                Kind::Mark(b'(' | b'[') => frames.push(Frame::Bracket),
                Kind::Mark(b'{') => {
                    let frame = self.block(statement, at, scope, inside);
                    if matches!(frame, Frame::Block(_)) {
                        statement = at + 1;
                    }
                    frames.push(frame);
                }
                Kind::Mark(b')' | b']') if inside => drop(frames.pop()),
                Kind::Mark(b'}') if matches!(frames.pop(), None | Some(Frame::Block(_))) => {
                    statement = at + 1
                }
                Kind::Mark(b';') if !inside => statement = at + 1,
                _ => {}
            }
        }
        places
    }

    fn block(&self, statement: usize, at: usize, scope: Scope, inside: bool) -> Frame {
        let words = || (statement..at).map(|i| self.word(i));
        let has = |word: &str| words().any(|own| own == word);
        let attributes = ["alignas", "aligned", "decltype", "__attribute__", "__declspec", "("];
        let calls = (statement..at)
            .any(|i| self.is(i, b'(') && !(i > statement && attributes.contains(&self.word(i - 1))));
        match () {
            () if inside => Frame::Initializer,
            () if has("namespace") => Frame::Block(Scope::File),
            () if has("extern") && words().any(|word| word.starts_with('"')) => Frame::Block(Scope::File),
            () if has("=") => Frame::Initializer,
            () if has("enum") => Frame::Block(Scope::Enum),
            () if !calls && ["struct", "class", "union"].into_iter().any(has) => Frame::Block(Scope::Class),
            // `Score tempo{1, 2};`
            () if !calls && at > statement + 1 && (self.is_name(at - 1) || self.is(at - 1, b']')) => {
                Frame::Initializer
            }
            () if scope == Scope::File || scope == Scope::Class => Frame::Block(Scope::Function),
            () => Frame::Block(scope),
        }
    }
}
