//! The `.params` files of YaneuraOu's `tune.py`.
//!
//! Lines are `name, type, v, min, max, step, delta`, then ` //comment`, and `[[NOT USED]]` where the
//! source has the parameter no longer. `step` is c_end and `delta` r_end. Further columns are
//! ignored, as they are by the script.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::ListEntry;
use super::columns::{Numbered, check_names, columns, given, is_integer, number};
use crate::error::{Error, Result};

const UNUSED: &str = "[[NOT USED]]";
const NAMES: [&str; 7] = ["name", "type", "v", "min", "max", "step", "delta"];

pub(super) fn parse(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    let mut entries = Vec::new();
    let mut unused = Vec::new();
    for (line_number, line) in (1..).zip(text.lines()) {
        let stripped = line.replace(UNUSED, "");
        let (row, comment) = match stripped.split_once("//") {
            Some((row, comment)) => (row, Some(comment.trim_end())),
            None => (stripped.as_str(), None),
        };
        if row.trim().is_empty() {
            continue;
        }
        let columns = columns(row);
        if line.contains(UNUSED) {
            unused.push(columns[0].to_string());
            continue;
        }
        let mut entry = entry(&columns).map_err(|reason| Error::line(path, line_number, reason))?;
        entry.comment = comment.filter(|comment| !comment.trim().is_empty()).map(str::to_string);
        entries.push((line_number, entry));
    }
    if entries.is_empty() && !unused.is_empty() {
        return Err(Error::input(path, "lists only parameters that are marked as not used"));
    }
    if !unused.is_empty() {
        notes.push(format!("left out, being marked as not used: {}", unused.join(", ")));
    }
    Ok(entries)
}

fn entry(columns: &[&str]) -> std::result::Result<ListEntry, String> {
    if columns.len() < NAMES.len() {
        return Err(format!("{} columns; expected {} ({})", columns.len(), NAMES.len(), NAMES.join(",")));
    }
    let value = |i: usize| number(columns[0], NAMES[i], columns[i]);
    Ok(ListEntry {
        integer: is_integer(columns[0], columns[1])?,
        min: Some(value(3)?),
        max: Some(value(4)?),
        c_end: Some(value(5)?),
        r_end: Some(value(6)?),
        ..ListEntry::new(columns[0], value(2)?)
    })
}

pub(super) fn write(entries: &[ListEntry]) -> Result<String> {
    check_names(entries)?;
    let mut text = String::new();
    for entry in entries {
        if entry.name.contains("//") || entry.name.contains(UNUSED) {
            let reason = format!("{}: params would take a part of this name for a comment", entry.name);
            return Err(Error::Usage(reason));
        }
        let kind = if entry.integer { "int" } else { "float" };
        let numbers = [entry.min, entry.max, entry.c_end, entry.r_end].map(given);
        let _ = write!(text, "{}, {kind}, {}", entry.name, python(entry.start));
        for number in numbers {
            let _ = write!(text, ", {}", python(number));
        }
        if let Some(comment) = &entry.comment {
            let _ = write!(text, " //{comment}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// A number as Python's `repr` writes it: `100.0`, `1e-05`, `1e+16`.
fn python(value: f64) -> String {
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_python_does() {
        // From CPython's repr.
        for (value, expected) in [
            (100.0, "100.0"),
            (0.002, "0.002"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e16, "1e+16"),
            (1.25e100, "1.25e+100"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (123456789012345.0, "123456789012345.0"),
        ] {
            assert_eq!(python(value), expected);
        }
    }
}
