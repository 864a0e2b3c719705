//! Tags as the parser reads them, and those that it misreads.
//!
//! The parser ends a value at the first quote and skips brackets without quotes. A tag that is lost that way,
//! or assigned to the wrong game, means a wrong first position or a wrong result.

use std::ops::ControlFlow;

use super::game::Game;
use super::replay::{ParserExit, Replay};
use super::split::{follows_blank_line, tag_name};
use super::tags::KnownTag;

impl Replay<'_> {
    /// Takes a tag pair whose value has `length` bytes for the parser.
    pub fn read_tag(&mut self, name: &[u8], length: usize) -> ControlFlow<ParserExit> {
        self.bare_tags();
        let offset = self.cursor.offset();
        let name = name.trim_ascii();
        let (value, parsed) = self.cursor.pass_tag(length);
        if !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            self.take_tag(name, value, offset);
        }
        if parsed { ControlFlow::Continue(()) } else { ControlFlow::Break(ParserExit::Resync) }
    }

    /// Skips a tag pair that the parser gave up on. Its value cannot be used.
    pub fn tag_too_long(&mut self) {
        self.bare_tags();
        let offset = self.cursor.offset();
        if let Some((name, _)) = tag_name(self.cursor.rest()) {
            self.take_tag(name, b"too long", offset);
        }
        self.cursor.next_line();
    }

    /// Skips brackets without quotes, but reads the tags in them that matter.
    pub fn bare_tags(&mut self) {
        loop {
            let offset = self.cursor.offset();
            let Some(inside) = self.cursor.pass_bracket() else { return };
            let inside = inside.trim_ascii();
            let length = inside.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(inside.len());
            let (name, value) = inside.split_at(length);
            let value = unquoted(value);
            if KnownTag::parse(name).is_some() && !value.is_empty() {
                self.take_tag(name, value, offset);
            }
        }
    }

    fn take_tag(&mut self, name: &[u8], value: &[u8], offset: usize) {
        self.close_variations();
        let criteria = self.criteria;
        let known = KnownTag::parse(name);
        let blank = follows_blank_line(&self.chunk[..offset]);
        let over = |game: &Game| game.ends_at_tags() || game.ends_at_tag(known, blank);
        self.game_at(offset, over).tag(known, name, value, &criteria);
    }
}

/// Returns a value without the quotes of other kinds around it.
fn unquoted(value: &[u8]) -> &[u8] {
    const QUOTES: [&str; 7] = ["'", "`", "\u{201c}", "\u{201d}", "\u{201e}", "\u{2018}", "\u{2019}"];
    let mut value = value.trim_ascii();
    while let Some(inner) = QUOTES.iter().find_map(|quote| value.strip_prefix(quote.as_bytes())) {
        value = inner.trim_ascii();
    }
    while let Some(inner) = QUOTES.iter().find_map(|quote| value.strip_suffix(quote.as_bytes())) {
        value = inner.trim_ascii();
    }
    value
}
