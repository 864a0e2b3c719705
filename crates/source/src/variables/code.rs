//! Tokens of a source with the scope and the statement of each.

use crate::languages::Language;
use crate::lexer::{Kind, Token, begins_line, lex, logical_end};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    File,
    Function,
    Structure,
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

impl<'a> Scan<'a> {
    pub fn of(text: &'a str) -> Self {
        let tokens = lex(text, Language::C).into_iter().filter(|token| token.kind != Kind::Comment).collect();
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
        self.outside(statement).find(|&at| self.is(at, b'='))
    }

    /// Tokens of a statement that are in no brackets.
    pub fn outside(&self, statement: usize) -> impl Iterator<Item = usize> + '_ {
        let is_own = |at: &usize| !self.places[*at].inside && self.places[*at].directive.is_none();
        (statement..=self.end(statement)).filter(is_own)
    }

    fn find_places(&self) -> Vec<Place> {
        let mut places = Vec::with_capacity(self.tokens.len());
        // Open brackets; with their scope those of blocks, which hold statements.
        let mut open: Vec<Option<Scope>> = Vec::new();
        let (mut statement, mut line_end, mut directive) = (0, 0, None);
        for (at, token) in self.tokens.iter().enumerate() {
            let first = begins_line(self.text, &self.tokens, at);
            if directive.is_some() && token.start >= line_end {
                directive = None;
            }
            if directive.is_none() && first && token.is(b'#') {
                (directive, line_end) = (Some(at), logical_end(self.text.as_bytes(), token.start));
            }
            let scope = open.iter().rev().find_map(|scope| *scope).unwrap_or(Scope::File);
            let inside = open.last().is_some_and(Option::is_none);
            places.push(Place { scope, statement, directive, inside });
            if directive.is_some() {
                if statement == at {
                    statement = at + 1;
                }
                continue;
            }
            match token.kind {
                Kind::Mark(b'(' | b'[') => open.push(None),
                Kind::Mark(b'{') => {
                    let block = self.block(statement, at, scope).filter(|_| !inside);
                    if block.is_some() {
                        statement = at + 1;
                    }
                    open.push(block);
                }
                Kind::Mark(b')' | b']') if inside => drop(open.pop()),
                Kind::Mark(b'}') if open.pop() != Some(None) => statement = at + 1,
                Kind::Mark(b';') if !inside => statement = at + 1,
                _ => {}
            }
        }
        places
    }

    /// The scope of a block that opens, unless it holds values.
    fn block(&self, statement: usize, at: usize, scope: Scope) -> Option<Scope> {
        let words = || (statement..at).map(|i| self.word(i));
        let has = |word: &str| words().any(|own| own == word);
        let attributes = ["alignas", "aligned", "__attribute__", "__declspec", "("];
        let calls = (statement..at)
            .any(|i| self.is(i, b'(') && !(i > statement && attributes.contains(&self.word(i - 1))));
        match () {
            () if has("extern") && words().any(|word| word.starts_with('"')) => Some(Scope::File),
            () if has("=") => None,
            () if has("enum") => Some(Scope::Enum),
            () if !calls && ["struct", "union"].into_iter().any(has) => Some(Scope::Structure),
            () if scope == Scope::File => Some(Scope::Function),
            () => Some(scope),
        }
    }
}
