//! `setoption` lines: values without settings.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::ListEntry;
use super::Spec;
use super::columns::{Numbered, check_ends, number};
use gputexel_io::shown;
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "uci",
    form: "setoption name NAME value VALUE",
    ending: None,
    columns: None,
    fits: Some(fits),
    needs: &[],
    takes: &[],
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path),
    write: |entries, _| write(entries),
};

fn fits(text: &str) -> bool {
    let mut words = text.split_whitespace();
    ["setoption", "name"].iter().all(|word| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word)))
}

fn parse(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    let mut entries = Vec::new();
    for (line_number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let refuse = |reason: String| Err(Error::line(path, line_number, reason));
        let is = |i: usize, word: &str| words.get(i).is_some_and(|w| w.eq_ignore_ascii_case(word));
        if words.is_empty() {
            continue;
        }
        if !(is(0, "setoption") && is(1, "name")) {
            return refuse(format!("'{}' is not setoption name NAME value VALUE", shown(line)));
        }
        let at = (3..words.len()).rev().find(|&i| is(i, "value"));
        let (Some(at), true) = (at, at.is_some_and(|at| at + 2 == words.len())) else {
            return refuse(format!("'{}' has no value, or one that is not a number", shown(line)));
        };
        // Blanks within the name are part of it.
        let (name, behind_name) = (behind_words(line, 2), behind_words(line, at));
        let name = name[..name.len() - behind_name.len()].trim();
        let value =
            number(name, "value", words[at + 1]).map_err(|why| Error::line(path, line_number, why))?;
        let integer = value.fract() == 0.0;
        entries.push((line_number, ListEntry { integer, ..ListEntry::new(name, value) }));
    }
    Ok(entries)
}

fn behind_words(line: &str, count: usize) -> &str {
    (0..count).fold(line, |rest, _| {
        let rest = rest.trim_start();
        &rest[rest.find(char::is_whitespace).unwrap_or(rest.len())..]
    })
}

fn write(entries: &[ListEntry]) -> Result<String> {
    check_ends(entries)?;
    let mut text = String::new();
    for entry in entries {
        let value = match (entry.integer, entry.min, entry.max) {
            (false, ..) => entry.start,
            (true, min, max) => {
                let low = min.map_or(f64::NEG_INFINITY, f64::ceil);
                let high = max.map_or(f64::INFINITY, f64::floor);
                // Bounds that were read hold whole numbers; no others are let in.
                entry.start.round().max(low).min(high)
            }
        };
        // A zero without a sign.
        let _ = writeln!(text, "setoption name {} value {}", entry.name, value + 0.0);
    }
    Ok(text)
}
