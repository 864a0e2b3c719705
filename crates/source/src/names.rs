//! Meaning of `@`: numbers to find, and the names that replace them.

use super::blocks::{Block, Body};
use super::characters::{ends_with_point, is_digit, is_space, is_word};
use gputexel_io::{Result, shown};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Text(String),
    Number { text: String, name: String },
    Name(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template {
    pub segments: Vec<Segment>,
}

enum Minus {
    Sign,
    Operator,
    /// `(a)-1`: a cast or a difference.
    Unclear,
}

impl Template {
    /// `d-25@` subtracts 25.
    pub fn parse(body: &str, prefix: &str) -> Result<Self, (usize, String)> {
        let mut template = Self::default();
        let mut unnamed = 0;
        let mut rest = 0;
        while let Some(at) = memchr::memchr(b'@', &body.as_bytes()[rest..]).map(|at| rest + at) {
            let suffix_end = body[at + 1..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .map_or(body.len(), |length| at + 1 + length);
            let mut suffix = body[at + 1..suffix_end].to_string();
            if suffix.is_empty() {
                unnamed += 1;
                suffix = unnamed.to_string();
            }
            let name = format!("{prefix}_{suffix}");
            if let Some(start) = number_before(body, rest, at) {
                let start = checked_start(body, start, at)?;
                if let Some(end) = fraction_behind(&body[at + 1..]) {
                    let whole = shown(&body[start..at]);
                    let part = shown(&body[at + 1..at + 1 + end]);
                    return Err((start, format!("'{whole}@{part}': marked is a part of a number")));
                }
                template.push_text(&body[rest..start]);
                let text = body[start..at].to_string();
                template.segments.push(Segment::Number { text, name });
            } else {
                template.push_text(&body[rest..at]);
                template.segments.push(Segment::Name(name));
            }
            rest = suffix_end;
        }
        template.push_text(&body[rest..]);
        Ok(template)
    }

    /// Parses as [`parse`](Self::parse), with the line for messages.
    pub fn of(body: &Body, block: &Block, path: &std::path::Path) -> Result<Self> {
        Self::parse(&body.text, &block.name).map_err(|(at, reason)| {
            let line = body.line + super::characters::line_of(&body.text, at) - 1;
            block.error(path, line, reason)
        })
    }

    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.segments.push(Segment::Text(text.to_string()));
        }
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Number { name, .. } | Segment::Name(name) => Some(name.as_str()),
            Segment::Text(_) => None,
        })
    }

    pub fn has_bare_names(&self) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Name(_)))
    }

    pub fn filled(&self, mut fill: impl FnMut(&str) -> String) -> String {
        let mut text = String::new();
        for segment in &self.segments {
            match segment {
                Segment::Text(part) => text.push_str(part),
                Segment::Number { name, .. } | Segment::Name(name) => text.push_str(&fill(name)),
            }
        }
        text
    }

    /// Same with names in place of numbers, as it looks once tuned.
    pub fn named(&self) -> Self {
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            match segment {
                Segment::Number { name, .. } => {
                    // `return-5` becomes `return name`.
                    if let Some(Segment::Text(before)) = segments.last_mut()
                        && before.ends_with(is_word)
                    {
                        before.push(' ');
                    }
                    segments.push(Segment::Name(name.clone()));
                }
                other => segments.push(other.clone()),
            }
        }
        Self { segments }
    }
}

pub(super) fn number_before(text: &str, from: usize, end: usize) -> Option<usize> {
    let digits = |end: usize| {
        let part = &text[from..end];
        let start = from + part.trim_end_matches(is_digit).len();
        (start < end).then_some(start)
    };
    let mut start = digits(end)?;
    if text[from..start].ends_with('.')
        && let Some(whole) = digits(start - 1)
    {
        start = whole;
    }
    if text[from..start].ends_with('-') {
        start -= 1;
    }
    Some(start)
}

fn checked_start(body: &str, start: usize, at: usize) -> Result<usize, (usize, String)> {
    let number = &body[start..at];
    let before = body[..start].chars().next_back();
    if let Some(unsigned) = number.strip_prefix('-') {
        return match minus(&body[..start]) {
            Minus::Sign => Ok(start),
            Minus::Operator => Ok(start + 1),
            Minus::Unclear => Err((
                start,
                format!(
                    "')-{}@': put a space after the minus if it subtracts, otherwise before it",
                    shown(unsigned)
                ),
            )),
        };
    }
    // 007 is 7 either way.
    let octal = number.starts_with('0') && number.trim_start_matches('0').len() > 1;
    if octal && number.bytes().all(|b| b.is_ascii_digit()) {
        return Err((
            start,
            format!("'{}@': is octal in C; mark it without the zeros in front", shown(number)),
        ));
    }
    if before.is_some_and(|c| is_word(c) || c == '@') || ends_with_point(&body[..start]) {
        let word_start = body[..start].trim_end_matches(|c| is_word(c) || c == '.').len();
        return Err((
            start,
            format!("'{}@': marked is a part of a word or number", shown(&body[word_start..at])),
        ));
    }
    Ok(start)
}

/// `.5`, `.f`, a point alone. Not `..64` and `.max(2)`.
fn fraction_behind(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('.')?;
    let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
    let is_suffix = matches!(word, "" | "f" | "F" | "l" | "L" | "e" | "E")
        || word.starts_with(|c: char| c.is_ascii_digit());
    let is_exponent =
        word.strip_prefix(['e', 'E']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_suffix = is_suffix || is_exponent;
    (is_suffix && !rest.starts_with('.')).then_some(1 + word.len())
}

const BEFORE_SIGNS: &str =
    "return case throw co_return co_yield co_await else do and or not xor in is match if while yield";

fn minus(before: &str) -> Minus {
    let text = before.trim_end_matches(is_space);
    match text.chars().next_back() {
        Some(')') => {
            let gap = text.len() < before.len();
            // `(Value)-1` or `(a)-1`: a single word in parentheses is ambiguous.
            let inside = text[..text.len() - 1].rsplit('(').next().unwrap_or("");
            let outside = text[..text.len() - 1 - inside.len()].trim_end_matches('(').chars().next_back();
            let one_word = inside.trim().chars().all(is_word) && !inside.trim().is_empty();
            let called = outside.is_some_and(is_word);
            match (one_word && !called, gap) {
                (true, false) => Minus::Unclear,
                (true, true) => Minus::Sign,
                (false, _) => Minus::Operator,
            }
        }
        // A marked number ends with its mark.
        Some(']' | '@') => Minus::Operator,
        Some(c) if is_word(c) => {
            let word = &text[text.trim_end_matches(is_word).len()..];
            let sign = BEFORE_SIGNS.split(' ').any(|own| own == word) || preprocessed(text, word);
            if sign { Minus::Sign } else { Minus::Operator }
        }
        _ => Minus::Sign,
    }
}

/// True if the word is the name in `#define NAME -1`.
fn preprocessed(text: &str, word: &str) -> bool {
    let before = text[..text.len() - word.len()].trim_end();
    before.strip_suffix("define").is_some_and(|hash| hash.trim_end().ends_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str) -> String {
        let template = Template::parse(body, "p").unwrap();
        template
            .segments
            .iter()
            .map(|segment| match segment {
                Segment::Text(text) => text.clone(),
                Segment::Number { text, name } => format!("<{text}:{name}>"),
                Segment::Name(name) => format!("<{name}>"),
            })
            .collect()
    }

    #[test]
    fn numbers_are_named_in_order() {
        assert_eq!(shown("a 100@ * 2@mul - 0.5@ @"), "a <100:p_1> * <2:p_mul> - <0.5:p_2> <p_3>");
        assert_eq!(shown("x = {@,@};"), "x = {<p_1>,<p_2>};");
    }

    #[test]
    fn a_minus_subtracts_or_belongs_to_the_number() {
        for (body, expected) in [
            ("d-25@", "d-<25:p_1>"),
            ("d -25@", "d -<25:p_1>"),
            ("f(x)-25@", "f(x)-<25:p_1>"),
            ("(a + b) -25@", "(a + b) -<25:p_1>"),
            ("t[3]-0.5@", "t[3]-<0.5:p_1>"),
            ("= -25@", "= <-25:p_1>"),
            ("f(-25@,-1@)", "f(<-25:p_1>,<-1:p_2>)"),
            ("return -25@;", "return <-25:p_1>;"),
            ("(int) -25@", "(int) <-25:p_1>"),
            ("#define X -25@", "#define X <-25:p_1>"),
            ("x*-25@", "x*<-25:p_1>"),
        ] {
            assert_eq!(shown(body), expected, "{body}");
        }
        let unclear = Template::parse("(a)-25@", "p").unwrap_err();
        assert!(unclear.1.contains("put a space"), "{unclear:?}");
    }

    #[test]
    fn parts_of_words_are_refused() {
        for body in ["x1@", "0x10@", "1e5@", ".5@", "1.2.3@"] {
            let error = Template::parse(body, "p").unwrap_err().1;
            assert!(error.contains(body) && error.contains("part of a word"), "{error}");
        }
    }
}
