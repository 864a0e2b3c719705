//! Finding a body in a source, regardless of whitespace.

use std::collections::HashSet;
use std::ops::Range;

use super::characters::{ends_with_point, is_digit, is_space, is_word, number_value};
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
    Number(Option<String>),
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

#[derive(Clone, Debug)]
pub(super) struct Frequencies(Box<[u32; 256]>);

impl Frequencies {
    pub fn of(text: &str) -> Self {
        let mut counts = Box::new([0u32; 256]);
        for &byte in text.as_bytes() {
            counts[usize::from(byte)] += 1;
        }
        Self(counts)
    }
}

impl Pattern {
    pub fn new(template: &Template, strict: bool) -> Self {
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
                Segment::Number { text, .. } => {
                    let begins = strict && !text.starts_with('-');
                    items.push((gap(spaced, word, begins), Item::Number(strict.then(|| text.clone()))));
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
            if matches!(items[i - 1].1, Item::Number(_)) || matches!(items[i].1, Item::Number(_)) {
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
    pub fn find_all(&self, text: &str, frequencies: &Frequencies) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        if self.items.is_empty() {
            return found;
        }
        let free_from = |found: &[Found]| found.last().map_or(0, |last| last.range.end);
        let consider = |start: usize, found: &mut Vec<Found>| {
            if free_from(found) <= start
                && let Some(place) = self.match_at(text, start)
            {
                found.push(place);
            }
        };
        match self.anchor(frequencies) {
            Some((index, needle)) => {
                // A needle may overlap itself.
                let finder = memchr::memmem::Finder::new(&needle);
                let mut from = 0;
                while let Some(at) = finder.find(&text.as_bytes()[from..]).map(|at| from + at) {
                    if let Some(start) = self.start_before(text, index, at, free_from(&found)) {
                        consider(start, &mut found);
                    }
                    from = at + 1;
                }
            }
            None => text.char_indices().for_each(|(start, _)| consider(start, &mut found)),
        }
        found
    }

    /// Item that leads to candidates, with its bytes, among those with a simple way back to the start: only
    /// characters and names before it, or one number and then those. It is the longest text that is known to have
    /// no blanks, as in words that stay words; else the rarest byte.
    fn anchor(&self, frequencies: &Frequencies) -> Option<(usize, Vec<u8>)> {
        let number = usize::from(matches!(self.items[0].1, Item::Number(_)));
        let run =
            self.items[number..].iter().take_while(|(_, item)| !matches!(item, Item::Number(_))).count();
        let mut texts: Vec<(usize, String)> = Vec::new();
        for (i, (gap, item)) in self.items.iter().enumerate().skip(number).take(run) {
            if i == number || *gap != Gap::None {
                texts.push((i, String::new()));
            }
            let text = &mut texts.last_mut().expect("one was pushed").1;
            match item {
                Item::Char(c) => text.push(*c),
                Item::Word(word) => text.push_str(word),
                Item::Number(_) => {}
            }
        }
        let longest = texts.into_iter().max_by_key(|(index, text)| (text.len(), std::cmp::Reverse(*index)));
        if let Some((index, text)) = longest
            && text.len() > 2
        {
            return Some((index, text.into_bytes()));
        }
        let first = |item: &Item| match item {
            Item::Char(c) => c.encode_utf8(&mut [0; 4]).as_bytes().first().copied(),
            Item::Word(word) => word.as_bytes().first().copied(),
            Item::Number(_) => None,
        };
        let bytes = (number..number + run).filter_map(|i| Some((i, first(&self.items[i].1)?)));
        let rarest = bytes.min_by_key(|(_, byte)| frequencies.0[usize::from(*byte)]);
        rarest.map(|(index, byte)| (index, vec![byte]))
    }

    /// Beginning of a match whose item `index` is at `at`, if it begins after another that ends at `free`.
    fn start_before(&self, text: &str, index: usize, mut at: usize, free: usize) -> Option<usize> {
        for i in (0..index).rev() {
            let before = &text[..at];
            let end = match self.items[i + 1].0 {
                Gap::None => at,
                Gap::Any | Gap::Some => before.trim_end_matches(is_space).len(),
            };
            at = match &self.items[i].1 {
                Item::Char(c) => end - text[..end].strip_suffix(*c).map(|_| c.len_utf8())?,
                Item::Word(word) => end - text[..end].strip_suffix(word.as_str()).map(|_| word.len())?,
                Item::Number(_) => {
                    let digits = |end: usize| text[..end].trim_end_matches(is_digit).len();
                    let mut start = digits(end);
                    if start == end {
                        return None;
                    }
                    if text[..start].ends_with('.') && digits(start - 1) < start - 1 {
                        start = digits(start - 1);
                    }
                    if text[..start].ends_with('-') {
                        start -= 1;
                    }
                    // The previous match may have consumed the sign, or the first digits.
                    if start < free {
                        start = free + text.get(free..end)?.find(is_digit)?;
                    }
                    start
                }
            };
        }
        Some(at)
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
            Item::Number(_) => false,
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
                Item::Number(expected) => return self.number(index, at, expected.as_deref()),
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
    fn number(&mut self, index: usize, at: usize, expected: Option<&str>) -> Option<usize> {
        if !self.failed.insert((index, at)) {
            return None;
        }
        let kept = self.marks.len();
        for end in number_ends(&self.text[at..]).into_iter().map(|length| at + length) {
            let text = &self.text[at..end];
            let wanted = expected.is_none_or(|expected| expected == text);
            if !wanted || !self.stands_alone(at, end) {
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

pub(super) fn number_ends(text: &str) -> Vec<usize> {
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

pub(super) fn values(text: &str, found: &Found) -> Vec<f64> {
    found.marks.iter().map(|mark| number_value(&text[mark.clone()])).collect()
}

#[cfg(test)]
mod tests;
