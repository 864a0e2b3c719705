//! Finds the place in a source that is most similar to a missing context: the lines that share most words with it.

use std::collections::HashMap;

use super::characters::{is_space, is_word};
use super::names::{Segment, Template};
use gputexel_io::shown;

/// Minimum similarity that is reported: unrelated texts are a little similar, too.
const LEAST: f32 = 0.5;

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Near {
    /// The first line of the source that differs, from 1.
    pub line: u64,
    pub begins: u64,
    pub source: String,
    pub context: String,
    /// Share of words that agree, 0 to 1.
    pub likeness: f32,
}

fn tokens(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !is_word(c));
    words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

fn squeezed(line: &str) -> String {
    line.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Words of the context that the current lines of the source lack (above 0) or have too often.
#[derive(Default)]
struct Window<'a> {
    lacking: HashMap<&'a str, i64>,
    wanted: usize,
    there: usize,
    common: usize,
}

impl<'a> Window<'a> {
    fn enter(&mut self, line: &'a str) {
        for token in tokens(line) {
            self.there += 1;
            if let Some(lacking) = self.lacking.get_mut(token) {
                self.common += usize::from(*lacking > 0);
                *lacking -= 1;
            }
        }
    }

    fn leave(&mut self, line: &'a str) {
        for token in tokens(line) {
            self.there -= 1;
            if let Some(lacking) = self.lacking.get_mut(token) {
                *lacking += 1;
                self.common -= usize::from(*lacking > 0);
            }
        }
    }

    fn likeness(&self) -> f32 {
        2.0 * self.common as f32 / (self.wanted + self.there).max(1) as f32
    }
}

/// Place of a source that is most similar to a context; blank lines do not count on either side.
pub(super) fn nearest(source: &str, context: &Template) -> Option<Near> {
    let text = |segment: &Segment| match segment {
        Segment::Text(text) | Segment::Number { text, .. } => text.clone(),
        Segment::Name(name) => name.clone(),
    };
    let body: String = context.segments.iter().map(text).collect();
    let wanted: Vec<String> = body.lines().map(squeezed).filter(|line| !line.is_empty()).collect();
    let numbered = (1u64..).zip(source.lines());
    let lines: Vec<(u64, &str)> =
        numbered.filter(|(_, line)| !line.trim_matches(is_space).is_empty()).collect();
    let mut window = Window::default();
    for token in wanted.iter().flat_map(|line| tokens(line)) {
        *window.lacking.entry(token).or_default() += 1;
        window.wanted += 1;
    }
    let mut best = (LEAST, None);
    for (end, (_, line)) in lines.iter().enumerate() {
        window.enter(line);
        let start = (end + 1).saturating_sub(wanted.len());
        if start > 0 {
            window.leave(lines[start - 1].1);
        }
        let is_full = end + 1 >= wanted.len() || end + 1 == lines.len();
        if is_full && (window.likeness() > best.0 || best.1.is_none() && window.likeness() >= LEAST) {
            best = (window.likeness(), Some(start));
        }
    }
    let (likeness, start) = (best.0, best.1?);
    let plain = |line: &str| line.chars().filter(|c| !is_space(*c) && !c.is_numeric()).collect::<String>();
    let mut pairs = wanted.iter().zip(&lines[start..]);
    let differing = pairs.position(|(context, (_, line))| plain(context) != plain(line)).unwrap_or(0);
    let (line, text) = *lines.get(start + differing)?;
    Some(Near {
        line,
        begins: lines[start].0,
        source: shown(text.trim_matches(is_space)),
        context: shown(&wanted[differing]),
        likeness,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_changed_is_named() {
        let source = "int f(Depth d) {\n  int m = 3;\n\n  return margin * depth - improving * 20;\n}\nint g(Depth d) { return 1; }\n";
        let near = |body: &str| nearest(source, &Template::parse(body, "p").unwrap());
        let found = near("int f(Depth d) {\n int m = 3@;\n return margin * depth - 20@;\n").unwrap();
        assert_eq!((found.begins, found.line), (1, 4), "{found:?}");
        assert_eq!(found.source, "return margin * depth - improving * 20;");
        assert_eq!(found.context, "return margin * depth - 20;");
        assert_eq!(near("while (queue.pop(item)) handle(item, 5@);"), None);
    }
}
