//! Lines of columns parted by commas, which most formats are.

use std::path::Path;

use super::ListEntry;
use gputexel_io::shown;
use gputexel_io::{Error, Result};

pub(super) type Numbered = (u64, ListEntry);

/// Lines that are not blank, numbered from 1, as trimmed columns.
pub(super) fn rows(text: &str) -> impl Iterator<Item = (u64, Vec<&str>)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| (number, columns(line)))
}

pub(super) fn columns(line: &str) -> Vec<&str> {
    line.trim().split(',').map(str::trim).collect()
}

pub(super) fn number(name: &str, column: &str, text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("{}: {column} '{}': is not a number", shown(name), shown(text))),
    }
}

pub(super) fn read(
    text: &str,
    path: &Path,
    names: &[&str],
    entry: impl Fn(&[&str]) -> std::result::Result<ListEntry, String>,
) -> Result<Vec<Numbered>> {
    let one = |(line, columns): (u64, Vec<&str>)| {
        if columns.len() != names.len() {
            let (count, needed) = (columns.len(), names.len());
            let reason = format!("{count} columns; expected {needed} ({})", names.join(","));
            return Err(Error::line(path, line, reason));
        }
        entry(&columns).map(|entry| (line, entry)).map_err(|reason| Error::line(path, line, reason))
    };
    rows(text).map(one).collect()
}

pub(super) fn is_integer(name: &str, text: &str) -> std::result::Result<bool, String> {
    match text {
        "int" => Ok(true),
        "float" => Ok(false),
        _ => Err(format!("{}: type '{}': expected int or float", shown(name), shown(text))),
    }
}

pub(super) fn check_names(entries: &[ListEntry]) -> Result<()> {
    match entries.iter().find(|entry| entry.name.contains(',')) {
        Some(entry) => Err(Error::Usage(format!("{}: a name in this list cannot have a comma", entry.name))),
        None => check_ends(entries),
    }
}

pub(super) fn check_ends(entries: &[ListEntry]) -> Result<()> {
    match entries.iter().find(|entry| entry.name.trim() != entry.name) {
        Some(entry) => {
            let reason = "a name in this list cannot begin or end with a blank";
            Err(Error::Usage(format!("'{}': {reason}", entry.name)))
        }
        None => Ok(()),
    }
}

pub(super) fn given(value: Option<f64>) -> f64 {
    value.expect("lists are written once nothing that they need is missing")
}
