//! Terms that an evaluation can do without: a line that ends in `//@ TERM` is written if the term is, one that
//! ends in `//@ !TERM` if it is not.

use std::collections::{HashMap, HashSet};

use gputexel_io::{Error, Result};
use gputexel_model::FeatureKind;

/// Terms of `classical`, each a sum that nothing else depends on.
const LINEAR: [&str; 10] =
    ["tempo", "pawns", "passed", "mobility", "outposts", "bishops", "rooks", "shelter", "attack", "threats"];

const NOT_LINEAR: [&str; 3] = ["danger", "complexity", "factor"];

/// Mark of lines that are written if any term is left out.
const WITHOUT: &str = "without";

fn of(kind: FeatureKind) -> Vec<&'static str> {
    match kind {
        FeatureKind::Classical => LINEAR.to_vec(),
        FeatureKind::Full => [&LINEAR[..], &NOT_LINEAR].concat(),
        _ => Vec::new(),
    }
}

pub fn check(without: &[String], kind: FeatureKind) -> Result<()> {
    let terms = of(kind);
    let Some(unknown) = without.iter().find(|term| !terms.contains(&term.as_str())) else { return Ok(()) };
    let name = kind.name();
    Err(Error::Usage(match terms.is_empty() {
        true => format!("--without does not apply to {name}: only classical and full are made of terms"),
        false => format!("--without '{unknown}': the terms of {name} are {}", terms.join(", ")),
    }))
}

pub fn are_linear(without: &[String]) -> bool {
    NOT_LINEAR.iter().all(|term| without.iter().any(|other| other == term))
}

/// The code without some terms and what only they use, and without the marks.
pub fn leave_out(text: &str, without: &[String]) -> String {
    let left_out = |term: &str| match term {
        WITHOUT => without.is_empty(),
        _ => without.iter().any(|other| other == term),
    };
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        match line.trim_end().split_once(" //@ ") {
            None => kept += line,
            Some((code, mark)) => {
                let write = mark.strip_prefix('!').map_or_else(|| !left_out(mark), left_out);
                if write {
                    kept += code;
                    kept.push('\n');
                }
            }
        }
    }
    if without.is_empty() { kept } else { used(&kept) }
}

/// A definition with the comments above it, or other lines.
struct Item<'a> {
    text: &'a str,
    code: String,
    name: Option<&'a str>,
}

impl Item<'_> {
    fn is_heading(&self) -> bool {
        self.code.trim().is_empty() && self.text.trim().lines().count() == 1
    }
}

/// Returns the code without private definitions that nothing else uses, and without headings of nothing.
fn used(text: &str) -> String {
    let mut items = items(text);
    loop {
        let mut users: HashMap<String, usize> = HashMap::new();
        for item in &items {
            let distinct: HashSet<&str> = words(&item.code).collect();
            distinct.into_iter().for_each(|word| *users.entry(word.to_string()).or_default() += 1);
        }
        let before = items.len();
        // Each definition uses its own name.
        items.retain(|item| item.name.is_none_or(|name| users[name] > 1));
        if items.len() == before {
            break;
        }
    }
    let ends = |item: Option<&Item<'_>>| item.is_none_or(|item| item.is_heading() || item.code.trim() == "}");
    let kept = |&(at, item): &(usize, &Item<'_>)| !item.is_heading() || !ends(items.get(at + 1));
    let text: String = items.iter().enumerate().filter(kept).map(|(_, item)| item.text).collect();
    text.replace("{\n\n", "{\n")
}

/// Splits code into definitions and other lines; an empty line belongs to what follows it.
fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let (mut start, mut end) = (0, 0);
    // The name and the indentation of the definition that the last lines are part of.
    let mut open: Option<(&str, usize)> = None;
    for line in text.split_inclusive('\n') {
        let code = without_comment(line);
        let indent = line.len() - line.trim_start().len();
        if code.is_empty() && line.trim().is_empty() && open.is_none() && start < end {
            items.push(item(&text[start..end], None));
            start = end;
        }
        end += line.len();
        if open.is_none() {
            open = defined(code).map(|name| (name, indent));
        }
        let complete = match open {
            Some((name, outer)) if is_function(name, &text[start..end]) => {
                code.ends_with('}') && (indent == outer)
            }
            Some(_) => code.ends_with(';'),
            None => !code.is_empty() && !code.starts_with("#["),
        };
        if complete {
            items.push(item(&text[start..end], open.take().map(|(name, _)| name)));
            start = end;
        }
    }
    if start < end {
        items.push(item(&text[start..end], None));
    }
    items
}

fn item<'a>(text: &'a str, name: Option<&'a str>) -> Item<'a> {
    Item { text, code: text.lines().map(|line| format!("{}\n", without_comment(line))).collect(), name }
}

fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code).trim()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// The name of a private definition that begins with a line, other than `main`.
fn defined(line: &str) -> Option<&str> {
    let (keyword, rest) = line.split_once(' ')?;
    let next = rest.split(' ').next()?;
    let name = match (keyword, next.strip_suffix(':')) {
        // Rust, where the name comes first.
        ("static" | "const", Some(name)) => name,
        ("fn", _) => rest.split('(').next()?,
        ("const", _) => rest.strip_prefix("fn ")?.split('(').next()?,
        ("static", _) => words(rest.split(['(', '[', '=']).next()?.trim_end()).last()?,
        _ => return None,
    };
    (name != "main").then_some(name)
}

fn is_function(name: &str, text: &str) -> bool {
    text.lines().map(without_comment).any(|code| code.contains(&format!("{name}(")))
}
