//! Finds the place in a source that is most similar to a missing context.
//!
//! Words that are rare in the source vote for the line where the context would begin; the places with the most votes
//! are compared character by character.

use std::cell::Cell;
use std::collections::HashMap;

use super::characters::{is_space, is_word};
use super::diff::likeness;
use super::names::{Segment, Template};
use gputexel_io::shown;

/// Number of places that are compared.
const CANDIDATES: usize = 12;

/// Maximum number of characters compared of two texts; a diff costs their product at worst.
const COMPARED: usize = 4000;

/// The same, after many contexts of a source have been compared.
const GLANCE: usize = 200;

/// Maximum cost of all diffs of a source: some seconds.
const BUDGET: usize = 400_000_000;

/// Number of words of a context that vote, and of places for which each does.
const VOTERS: usize = 64;
const VOTES: usize = 2000;

/// Minimum similarity that is reported: unrelated texts are a little similar, too.
const LEAST: f32 = 0.5;

/// A near miss.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Near {
    /// The first line of the source that differs, from 1.
    pub line: u64,
    /// First line of the place.
    pub begins: u64,
    /// That line, without blanks around it.
    pub source: String,
    /// The line of the context in its place.
    pub context: String,
    /// Share of characters that agree, 0 to 1.
    pub likeness: f32,
}

fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !is_word(c));
    words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the line with every run of blanks as one, and all numbers alike.
fn squeezed(line: &str) -> String {
    let mut text = String::new();
    for c in line.trim_matches(is_space).chars() {
        if !is_space(c) {
            text.push(c);
        } else if !text.ends_with(' ') {
            text.push(' ');
        }
    }
    text
}

/// A source, indexed once for all contexts searched in it.
pub(super) struct NearIndex<'s> {
    /// Lines that are not blank, with their numbers.
    lines: Vec<(u64, &'s str)>,
    /// Positions of words, as indices of `lines`.
    places: HashMap<&'s str, Vec<u32>>,
    /// Remaining work, in characters times characters.
    budget: Cell<usize>,
}

impl<'s> NearIndex<'s> {
    pub fn of(source: &'s str) -> Self {
        let numbered = (1u64..).zip(source.lines());
        let lines: Vec<(u64, &str)> =
            numbered.filter(|(_, line)| !line.trim_matches(is_space).is_empty()).collect();
        let mut places: HashMap<&str, Vec<u32>> = HashMap::new();
        for (i, (_, line)) in (0u32..).zip(&lines) {
            for token in tokens(line) {
                let list = places.entry(token).or_default();
                if list.last() != Some(&i) {
                    list.push(i);
                }
            }
        }
        Self { lines, places, budget: Cell::new(BUDGET) }
    }

    /// Returns the place most similar to a context.
    pub fn nearest(&self, context: &Template) -> Option<Near> {
        let body: String = context
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) | Segment::Number { text, .. } => text.clone(),
                Segment::Name(name) => name.clone(),
            })
            .collect();
        // Blank lines do not count on either side.
        let wanted: Vec<String> = body.lines().map(squeezed).filter(|line| !line.is_empty()).collect();
        let mut best: Option<(f32, usize)> = None;
        for (i, start) in self.candidates(&wanted).into_iter().enumerate() {
            let there = self.lines[start..].iter().take(wanted.len()).map(|(_, line)| squeezed(line));
            let there: Vec<String> = there.collect();
            // Once the budget is spent, the candidate with the most votes is compared briefly.
            let left = self.budget.get();
            let compared = if left > 0 { COMPARED } else { GLANCE };
            if left == 0 && i > 0 {
                break;
            }
            let clipped = |lines: &[String]| lines.join("\n").chars().take(compared).collect::<String>();
            let (a, b) = (clipped(&wanted), clipped(&there));
            self.budget.set(left.saturating_sub(a.len() * b.len()));
            let ratio = likeness(&a, &b);
            if best.is_none_or(|(before, _)| ratio > before) {
                best = Some((ratio, start));
            }
        }
        let (likeness, start) = best.filter(|(ratio, _)| *ratio >= LEAST)?;
        let lines = &self.lines;
        let plain =
            |line: &str| line.chars().filter(|c| !is_space(*c) && !c.is_numeric()).collect::<String>();
        let mut pairs = wanted.iter().zip(&lines[start..]);
        let differing = pairs.position(|(context, (_, line))| plain(context) != plain(line)).unwrap_or(0);
        let (line, text) = lines[start + differing.min(lines.len() - start - 1)];
        Some(Near {
            line,
            begins: lines[start].0,
            source: shown(text.trim_matches(is_space)),
            context: shown(&wanted[differing]),
            likeness,
        })
    }

    /// Returns the lines where the context may begin, by the votes of its rarest words.
    fn candidates(&self, wanted: &[String]) -> Vec<usize> {
        let lines = wanted.iter().enumerate();
        let mut voters: Vec<(usize, &[u32])> = lines
            .flat_map(|(offset, line)| tokens(line).map(move |token| (offset, token)))
            .filter_map(|(offset, token)| Some((offset, self.places.get(token)?.as_slice())))
            .collect();
        voters.sort_by_key(|(_, list)| list.len());
        voters.truncate(VOTERS);
        let mut votes: HashMap<usize, f64> = HashMap::new();
        for (offset, list) in voters {
            let weight = 1.0 / list.len() as f64;
            let starts = list.iter().filter_map(|place| (*place as usize).checked_sub(offset));
            for start in starts.take(VOTES) {
                *votes.entry(start).or_default() += weight;
            }
        }
        let mut ranked: Vec<(usize, f64)> = votes.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().take(CANDIDATES).map(|(start, _)| start).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_changed_is_named() {
        let source = "int f(Depth d) {\n  int m = 3;\n\n  return margin * depth - improving * 20;\n}\nint g(Depth d) { return 1; }\n";
        let index = NearIndex::of(source);
        let near = |body: &str| index.nearest(&Template::parse(body, "p", false).unwrap());
        let found = near("int f(Depth d) {\n int m = 3@;\n return margin * depth - 20@;\n").unwrap();
        assert_eq!((found.begins, found.line), (1, 4), "{found:?}");
        assert_eq!(found.source, "return margin * depth - improving * 20;");
        assert_eq!(found.context, "return margin * depth - 20;");
        assert_eq!(near("while (queue.pop(item)) handle(item, 5@);"), None);
    }

    #[test]
    fn many_long_contexts_cost_no_more_than_the_budget() {
        let source: String = (0..400).map(|i| format!("value = {i} * depth;\n")).collect();
        let body: String = (0..200).map(|i| format!("value = {i} - depth;\n")).collect();
        let template = Template::parse(&body, "p", false).unwrap();
        let index = NearIndex::of(&source);
        index.budget.set(50_000_000);
        let first = index.nearest(&template).unwrap();
        assert!(index.budget.get() < 50_000_000);
        while index.budget.get() > 0 {
            index.nearest(&template).unwrap();
        }
        // After the budget, the last brief comparison still gives a result.
        let last = index.nearest(&template).unwrap();
        assert_eq!((first.line, first.context), (last.line, last.context));
    }
}
