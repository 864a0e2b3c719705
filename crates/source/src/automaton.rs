//! Finds where a pattern can begin, in time bounded for any source.
//!
//! Comparing at one position after the other is fast except for repetitive sources: they nearly match everywhere, and a
//! context of thousands of characters would be compared again at each position. The automaton reads the source once,
//! from its end to its beginning. For every element of the pattern, one bit records whether the rest of the pattern
//! matches the following text.

use std::collections::HashMap;

use super::characters::{ends_with_point, is_digit, is_space, is_word};

/// Element to find at one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Char(char),
    /// `-?\d+(\.\d+)?`
    Number,
}

/// Required text between an element and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Blanks or nothing.
    Any,
    /// Blanks.
    Some,
    None,
}

/// One bit per element.
type Set = Box<[u64]>;

/// A compiled pattern.
pub(super) struct Automaton {
    count: usize,
    /// True if words and numbers must be whole.
    whole: bool,
    chars: HashMap<char, Set>,
    numbers: Set,
    /// Elements that require blanks before them, and those that require none.
    blanks: Set,
    joined: Set,
    begins_with_word: bool,
}

/// Matches from one character on: elements at their first character, and numbers of which the rest has been read up to
/// their last digits, the point, or the digits before it.
struct Sets {
    begun: Set,
    end: Set,
    point: Set,
    integer: Set,
}

impl Automaton {
    pub fn new(elements: &[(Gap, Element)], whole: bool) -> Self {
        let width = elements.len().div_ceil(64);
        let of = |wanted: &dyn Fn(Gap, Element) -> bool| {
            let mut set = vec![0u64; width].into_boxed_slice();
            for (i, _) in elements.iter().enumerate().filter(|(_, (gap, element))| wanted(*gap, *element)) {
                set[i / 64] |= 1 << (i % 64);
            }
            set
        };
        let mut chars: HashMap<char, Set> = HashMap::new();
        for (i, (_, element)) in elements.iter().enumerate() {
            if let Element::Char(c) = element {
                let set = chars.entry(*c).or_insert_with(|| vec![0; width].into_boxed_slice());
                set[i / 64] |= 1 << (i % 64);
            }
        }
        let first = elements.first().map(|(_, element)| *element);
        Self {
            count: elements.len(),
            whole,
            chars,
            numbers: of(&|_, element| element == Element::Number),
            blanks: of(&|gap, _| gap == Gap::Some),
            joined: of(&|gap, _| gap == Gap::None),
            begins_with_word: matches!(first, Some(Element::Char(c)) if is_word(c)),
        }
    }

    /// Returns the places where the pattern matches, in order.
    #[allow(clippy::needless_range_loop, reason = "nine sets are read and written at one place")]
    pub fn starts(&self, text: &str) -> Vec<usize> {
        let width = self.numbers.len();
        let empty = || vec![0u64; width].into_boxed_slice();
        let none = empty();
        let last = 1u64 << ((self.count.max(1) - 1) % 64);
        let mut now = Sets { begun: empty(), end: empty(), point: empty(), integer: empty() };
        let mut starts = Vec::new();
        let mut blank = true;
        for (at, c) in text.char_indices().rev() {
            if is_space(c) {
                blank = true;
                continue;
            }
            let mut after = text[at + c.len_utf8()..].chars();
            let (second, third) = (after.next(), after.next());
            let before = &text[..at];
            let word_before = before.chars().next_back().is_some_and(is_word);
            let digit = is_digit(c);
            // True if a number may end here, and begin here without a sign.
            let ends = digit
                && (!self.whole
                    || match second {
                        Some(c) if is_word(c) => false,
                        Some('.' | '\'') => !third.is_some_and(is_digit),
                        _ => true,
                    });
            let begins = digit && !(self.whole && (word_before || ends_with_point(before)));
            let splits_word = self.whole && is_word(c) && second.is_some_and(is_word);
            let chars = self.chars.get(&c).unwrap_or(&none);
            let barred = if blank { &self.joined } else { &self.blanks };
            let inner = |set: u64, wanted: bool| if wanted && !blank { set } else { 0 };
            // The word of the next elements is read before it is overwritten: they are in the same word or in the
            // following one.
            for i in 0..width {
                let behind = now.begun.get(i + 1).map_or(0, |set| (set & !barred[i + 1]) << 63);
                let follows = ((now.begun[i] & !barred[i]) >> 1) | behind;
                let finish = if i + 1 == width { last } else { 0 };
                let char = chars[i] & (follows | if splits_word { 0 } else { finish });
                let (old_end, old_point, old_integer) = (now.end[i], now.point[i], now.integer[i]);
                let digits =
                    inner(old_end, digit) | if ends { (follows | finish) & self.numbers[i] } else { 0 };
                let integer = inner(old_point | old_integer, digit);
                let sign = inner(old_integer | old_end, c == '-');
                now.begun[i] = char | sign | if begins { digits | integer } else { 0 };
                (now.end[i], now.point[i], now.integer[i]) = (digits, inner(old_end, c == '.'), integer);
            }
            if now.begun.first().is_some_and(|set| set & 1 != 0)
                && !(self.whole && self.begins_with_word && word_before)
            {
                starts.push(at);
            }
            blank = false;
        }
        starts.reverse();
        starts
    }
}
