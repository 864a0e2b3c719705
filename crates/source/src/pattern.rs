//! Finding a body in a source, regardless of whitespace.

use std::collections::HashSet;
use std::ops::Range;

use super::characters::{ends_with_point, is_digit, is_space, is_word};
use super::names::{Segment, Template};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    Any,
    Some,
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Char(char),
    Number,
    Word(String),
}

#[derive(Clone, Debug)]
pub(super) struct Pattern {
    items: Vec<(Gap, Item)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub range: Range<usize>,
    pub marks: Vec<Range<usize>>,
}

impl Pattern {
    pub fn new(template: &Template) -> Self {
        let mut items: Vec<(Gap, Item)> = Vec::new();
        let mut spaced = false;
        // True if the last item ends with a letter, digit or underscore.
        let mut word = false;
        let gap = |spaced: bool, word: bool, begins: bool| match (word && begins, spaced) {
            (true, true) => Gap::Some,
            (true, false) => Gap::None,
            (false, _) => Gap::Any,
        };
        for segment in &template.segments {
            match segment {
                Segment::Text(text) => {
                    for c in text.chars() {
                        if is_space(c) {
                            spaced = true;
                            continue;
                        }
                        items.push((gap(spaced, word, is_word(c)), Item::Char(c)));
                        (spaced, word) = (false, is_word(c));
                    }
                }
                Segment::Number { .. } => {
                    items.push((Gap::Any, Item::Number));
                    (spaced, word) = (false, true);
                }
                Segment::Name(name) => {
                    items.push((gap(spaced, word, true), Item::Word(name.clone())));
                    (spaced, word) = (false, true);
                }
            }
        }
        // The bounds of a number separate it from the following text.
        for i in 1..items.len() {
            if matches!(items[i - 1].1, Item::Number) || matches!(items[i].1, Item::Number) {
                items[i].0 = Gap::Any;
            }
        }
        Self { items }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn looks_like(&self, other: &Self) -> bool {
        self.items == other.items
    }

    /// All matches, from left to right, that do not overlap.
    pub fn find_all(&self, text: &str) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let mut consider = |start: usize| {
            if found.last().is_none_or(|last| last.range.end <= start) {
                found.extend(self.match_at(text, start));
            }
        };
        let needle = self.first_word();
        if !needle.is_empty() {
            memchr::memmem::find_iter(text.as_bytes(), &needle).for_each(consider);
        } else if !self.is_empty() {
            let numbers = text.char_indices().filter(|(_, c)| *c == '-' || is_digit(*c));
            numbers.for_each(|(start, _)| consider(start));
        }
        found
    }

    /// Text that every match begins with; empty for a number.
    fn first_word(&self) -> String {
        let mut word = String::new();
        for (i, (gap, item)) in self.items.iter().enumerate() {
            match item {
                _ if i > 0 && *gap != Gap::None => break,
                Item::Char(c) => word.push(*c),
                Item::Word(name) => word.push_str(name),
                Item::Number => break,
            }
        }
        word
    }

    fn match_at(&self, text: &str, start: usize) -> Option<Found> {
        if self.begins_with_word() && ends_with_word(&text[..start]) {
            return None;
        }
        let mut search = Search { pattern: self, text, marks: Vec::new(), failed: HashSet::new() };
        let end = search.advance(0, start)?;
        Some(Found { range: start..end, marks: search.marks })
    }

    fn begins_with_word(&self) -> bool {
        match &self.items[0].1 {
            Item::Char(c) => is_word(*c),
            Item::Word(_) => true,
            Item::Number => false,
        }
    }
}

fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

fn begins_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

struct Search<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    marks: Vec<Range<usize>>,
    /// Numbers and positions from which nothing was found; keeps the cost linear.
    failed: HashSet<(usize, usize)>,
}

impl Search<'_> {
    fn advance(&mut self, mut index: usize, mut at: usize) -> Option<usize> {
        let items = &self.pattern.items;
        while let Some((gap, item)) = items.get(index) {
            if index > 0 {
                let rest = &self.text[at..];
                let skipped = at + (rest.len() - rest.trim_start_matches(is_space).len());
                match gap {
                    Gap::None if skipped > at => return None,
                    Gap::Some if skipped == at => return None,
                    _ => at = skipped,
                }
            }
            let rest = &self.text[at..];
            match item {
                Item::Char(c) => {
                    rest.strip_prefix(*c)?;
                    at += c.len_utf8();
                }
                Item::Word(word) => {
                    rest.strip_prefix(word.as_str())?;
                    self.marks.push(at..at + word.len());
                    at += word.len();
                }
                Item::Number => return self.number(index, at),
            }
            index += 1;
        }
        let last = items.last().map(|(_, item)| item);
        let word = match last {
            Some(Item::Char(c)) => is_word(*c),
            Some(Item::Word(_)) => true,
            _ => false, // numbers look for themselves
        };
        let splits_word = word && begins_with_word(&self.text[at..]);
        (!splits_word).then_some(at)
    }

    /// Tries the numbers at a position, longest first, like the regular expression.
    fn number(&mut self, index: usize, at: usize) -> Option<usize> {
        if !self.failed.insert((index, at)) {
            return None;
        }
        let kept = self.marks.len();
        for end in number_ends(&self.text[at..]).into_iter().map(|length| at + length) {
            if !self.stands_alone(at, end) {
                continue;
            }
            self.marks.truncate(kept);
            self.marks.push(at..end);
            if let Some(end) = self.advance(index + 1, end) {
                return Some(end);
            }
        }
        self.marks.truncate(kept);
        None
    }

    fn stands_alone(&self, start: usize, end: usize) -> bool {
        let before = self.text[..start].chars().next_back();
        let signed = self.text[start..].starts_with('-');
        if !signed && (before.is_some_and(is_word) || ends_with_point(&self.text[..start])) {
            return false;
        }
        let mut after = self.text[end..].chars();
        match after.next() {
            Some(c) if is_word(c) => false,
            Some('.' | '\'') => !after.next().is_some_and(is_digit),
            _ => true,
        }
    }
}

fn number_ends(text: &str) -> Vec<usize> {
    let sign = usize::from(text.starts_with('-'));
    let run = |from: usize| {
        let digits = text[from..].char_indices().take_while(|(_, c)| is_digit(*c));
        digits.map(|(i, c)| from + i + c.len_utf8()).collect::<Vec<_>>()
    };
    let whole = run(sign);
    let mut ends = Vec::new();
    if let Some(&end) = whole.last()
        && text[end..].starts_with('.')
    {
        ends.extend(run(end + 1).into_iter().rev());
    }
    ends.extend(whole.into_iter().rev());
    ends
}

#[cfg(test)]
mod tests;
