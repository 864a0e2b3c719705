//! Lists that are lines of columns parted by commas: those of `spsa.pl`, `bspsa.pl`, fishtest and OpenBench, and names
//! with values.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::entry::ListEntry;
use gputexel_io::{Error, Result, shown};

pub(super) type Numbered = (u64, ListEntry);

/// Column that tells whole numbers from fractions.
const TYPE: &str = "int|float";

pub(super) const SPSA: &[&str] = &["name", "start", "min", "max", "c_end", "r_end", "simul_elo"];
pub(super) const BSPSA: &[&str] = &["name", "start", "min", "max", "c_end", "s", "sigma", "simul_elo"];
pub(super) const OPENBENCH: &[&str] = &["name", TYPE, "start", "min", "max", "c_end", "r_end"];
pub(super) const FISHTEST: &[&str] = &["name", "start", "min", "max", "c_end", "r_end"];
pub(super) const VALUES: &[&str] = &["name", "value"];

/// OpenBench never moves whole numbers by less.
const MIN_INTEGER_C: f64 = 0.5;

/// Lines that are not blank, numbered from 1, as trimmed columns.
pub(super) fn rows(text: &str) -> impl Iterator<Item = (u64, Vec<&str>)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| (number, line.trim().split(',').map(str::trim).collect()))
}

pub(super) fn number(name: &str, column: &str, text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("{}: {column} '{}': is not a number", shown(name), shown(text))),
    }
}

pub(super) fn parse(text: &str, path: &Path, columns: &[&str]) -> Result<Vec<Numbered>> {
    let one = |(line, row): (u64, Vec<&str>)| {
        let entry = entry(columns, &row).map_err(|reason| Error::line(path, line, reason))?;
        Ok((line, entry))
    };
    rows(text).map(one).collect()
}

fn entry(columns: &[&str], row: &[&str]) -> std::result::Result<ListEntry, String> {
    if row.len() != columns.len() {
        let (count, needed) = (row.len(), columns.len());
        return Err(format!("{count} columns; expected {needed} ({})", columns.join(",")));
    }
    let name = row[0];
    let mut entry = ListEntry::new(name, 0.0);
    for (column, text) in columns.iter().zip(row).skip(1) {
        match (*column, *text) {
            (TYPE, "int" | "float") => entry.integer = *text == "int",
            (TYPE, _) => {
                return Err(format!("{}: type '{}': expected int or float", shown(name), shown(text)));
            }
            ("start", _) => entry.start = number(name, column, text)?,
            ("value", _) => {
                entry.start = number(name, column, text)?;
                entry.integer = entry.start.fract() == 0.0;
            }
            _ => {
                let value = number(name, column, text)?;
                if let Some(place) = entry.setting_mut(column) {
                    *place = Some(value);
                }
            }
        }
    }
    Ok(entry)
}

pub(super) fn write(entries: &[ListEntry], columns: &[&str], notes: &mut Vec<String>) -> Result<String> {
    let has_types = columns.contains(&TYPE);
    let separator = if has_types || columns == VALUES { ", " } else { "," };
    let mut text = String::new();
    for entry in entries {
        check_name(entry)?;
        if has_types && entry.integer && entry.c_end.is_some_and(|c_end| c_end < MIN_INTEGER_C) {
            notes.push(format!("{}: OpenBench takes c_end of an int for 0.5", entry.name));
        }
        let kind = if entry.integer { "int" } else { "float" };
        let cell = |column: &&str| match *column {
            "name" => entry.name.clone(),
            TYPE => kind.to_string(),
            "start" | "value" => entry.start.to_string(),
            // Without exponents, which the scripts do not read.
            column => entry.setting(column).unwrap_or(0.0).to_string(),
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let _ = writeln!(text, "{}", cells.join(separator));
    }
    Ok(text)
}

/// Refuses names that would be read as others.
pub(super) fn check_name(entry: &ListEntry) -> Result<()> {
    match entry.name.contains(',') {
        true => Err(Error::Usage(format!("{}: a name in this list cannot have a comma", entry.name))),
        false => check_ends(entry),
    }
}

pub(super) fn check_ends(entry: &ListEntry) -> Result<()> {
    match entry.name.trim() == entry.name {
        true => Ok(()),
        false => {
            let reason = "a name in this list cannot begin or end with a blank";
            Err(Error::Usage(format!("'{}': {reason}", entry.name)))
        }
    }
}
