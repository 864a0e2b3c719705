//! Finds the place in a source that is most similar to a missing context: the lines that share most words with it.

use super::characters::{is_space, is_word};
use super::names::{Segment, Template};
use gputexel_io::shown;

/// Minimum similarity that is reported: unrelated texts are a little similar, too.
const LEAST: f32 = 0.5;

#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Near {
    /// The first line of the source that differs, from 1.
    pub line: u64,
    pub source: String,
    pub context: String,
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !is_word(c));
    words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Place of a source that is most similar to a context; blank lines do not count on either side.
pub(super) fn nearest(source: &str, context: &Template) -> Option<Near> {
    let text = |segment: &Segment| match segment {
        Segment::Text(text) | Segment::Number { text, .. } => text.clone(),
        Segment::Name(name) => name.clone(),
    };
    let body: String = context.segments.iter().map(text).collect();
    let is_blank = |line: &str| line.trim_matches(is_space).is_empty();
    let wanted: Vec<&str> = body.lines().filter(|line| !is_blank(line)).collect();
    let lines: Vec<(u64, &str)> = (1u64..).zip(source.lines()).filter(|(_, line)| !is_blank(line)).collect();
    let likeness = |start: usize| {
        let (mut common, mut all) = (0, 0);
        for (context, (_, line)) in wanted.iter().zip(&lines[start..]) {
            let there: Vec<&str> = words(line).collect();
            all += there.len();
            common += words(context).filter(|word| there.contains(word)).count();
        }
        all += wanted.iter().flat_map(|line| words(line)).count();
        2.0 * common as f32 / all.max(1) as f32
    };
    let mut best = (LEAST, None);
    for start in 0..lines.len() {
        let likeness = likeness(start);
        if likeness > best.0 || (likeness == LEAST && best.1.is_none()) {
            best = (likeness, Some(start));
        }
    }
    let start = best.1?;
    let plain = |line: &str| line.chars().filter(|c| !is_space(*c) && !c.is_numeric()).collect::<String>();
    let mut pairs = wanted.iter().zip(&lines[start..]);
    let differing = pairs.position(|(context, (_, line))| plain(context) != plain(line)).unwrap_or(0);
    let (line, text) = *lines.get(start + differing)?;
    let context = wanted[differing].split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>();
    Some(Near { line, source: shown(text.trim_matches(is_space)), context: shown(&context.join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_changed_is_named() {
        let source = "int f(Depth d) {\n  int m = 3;\n\n  return margin * depth - improving * 20;\n}\nint g(Depth d) { return 1; }\n";
        let near = |body: &str| nearest(source, &Template::parse(body, "p").unwrap());
        let found = near("int f(Depth d) {\n int m = 3@;\n return margin * depth - 20@;\n").unwrap();
        assert_eq!(found.line, 4, "{found:?}");
        assert_eq!(found.source, "return margin * depth - improving * 20;");
        assert_eq!(found.context, "return margin * depth - 20;");
        assert_eq!(near("while (queue.pop(item)) handle(item, 5@);"), None);
    }
}
