//! Lists that are lines of columns parted by commas, tabs or blanks: those of `spsa.pl`, `bspsa.pl`, fishtest and OpenBench,
//! and names with values.

use std::collections::BTreeSet;
use std::path::Path;

use super::entry::{ListEntry, SETTINGS};
use gputexel_io::{Error, Result, shown};

pub(super) type Numbered = (u64, ListEntry);

/// Column that tells whole numbers from fractions.
const TYPE: &str = "int|float";

pub(super) const SPSA: &[&str] = &["name", "start", "min", "max", "c_end", "r_end", "simul_elo"];
pub(super) const BSPSA: &[&str] = &["name", "start", "min", "max", "c_end", "s", "sigma", "simul_elo"];
pub(super) const OPENBENCH: &[&str] = &["name", TYPE, "start", "min", "max", "c_end", "r_end"];
pub(super) const FISHTEST: &[&str] = &["name", "start", "min", "max", "c_end", "r_end"];
pub(super) const VALUES: &[&str] = &["name", "value"];
/// Titles of values, the first of which counts: those that tuning has reached, then the first ones.
const START: [&str; 4] = ["best", "value", "theta", "start"];
/// OpenBench never moves whole numbers by less.
const MIN_INTEGER_C: f64 = 0.5;

/// Lines that are neither blank nor comments, numbered from 1 and trimmed.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !is_comment(line))
}

fn is_comment(line: &str) -> bool {
    line == "#" || line.starts_with("# ") || line.starts_with("//")
}

pub(super) fn rows(text: &str) -> impl Iterator<Item = (u64, Vec<&str>)> {
    lines(text).map(|(number, line)| (number, row(line)))
}

fn row(line: &str) -> Vec<&str> {
    let separator = if line.contains(',') || !line.contains('\t') { ',' } else { '\t' };
    match line.rsplit_once(' ') {
        Some((name, value)) if !line.contains([',', '\t']) && value.parse::<f64>().is_ok() => {
            vec![name.trim(), value]
        }
        _ => line.split(separator).map(str::trim).collect(),
    }
}

pub(super) fn number(name: &str, column: &str, text: &str) -> Result<f64, String> {
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

/// Reads a list whose columns have names, in a line of titles or in each field (`best: 165.38`), as on the pages of
/// fishtest; `None` for others.
pub(super) fn parse_titled(
    text: &str,
    path: &Path,
    notes: &mut Vec<String>,
) -> Option<Result<Vec<Numbered>>> {
    let is_name =
        |title: &str| ["name", "param", "parameter"].contains(&title.trim().to_lowercase().as_str());
    let (_, titles) = rows(text).next()?;
    let has_titles =
        is_name(titles[0]) && titles.iter().any(|title| START.contains(&title.to_lowercase().as_str()));
    if !has_titles && !titles[0].split_once(':').is_some_and(|(title, _)| is_name(title)) {
        return None;
    }
    let mut left_out = BTreeSet::new();
    let mut one = |row: &[&str]| {
        if has_titles && row.len() != titles.len() {
            return Err(format!("{} columns; expected {} ({})", row.len(), titles.len(), titles.join(",")));
        }
        let named = |(cell, title)| match has_titles {
            true => Some((title, cell)),
            false => str::split_once(cell, ':').or_else(|| str::rsplit_once(cell, ' ')),
        };
        let titles = titles.iter().copied().chain(std::iter::repeat(""));
        let cells: Option<Vec<(&str, &str)>> = row.iter().copied().zip(titles).map(named).collect();
        let cells = cells.ok_or("a column without a name")?;
        let cells: Vec<_> =
            cells.iter().map(|(title, cell)| (title.trim().to_lowercase(), cell.trim())).collect();
        let start = START.iter().find(|start| cells.iter().any(|(title, _)| title == *start));
        let start = start.ok_or("no column value")?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (title, value) in &cells {
            columns.push(match title.as_str() {
                title if is_name(title) => "name",
                title if title == *start => "start",
                "type" | TYPE => TYPE,
                title if SETTINGS.contains(&title) => title,
                _ => {
                    left_out.insert(shown(title));
                    continue;
                }
            });
            values.push(*value);
        }
        entry(&columns, &values)
    };
    let read = |(line, row): (u64, Vec<&str>)| {
        one(&row).map(|entry| (line, entry)).map_err(|reason| Error::line(path, line, reason))
    };
    let entries: Result<Vec<Numbered>> = rows(text).skip(usize::from(has_titles)).map(read).collect();
    if !left_out.is_empty() {
        notes.push(format!("columns left out: {}", Vec::from_iter(left_out).join(", ")));
    }
    Some(entries)
}

fn entry(columns: &[&str], row: &[&str]) -> Result<ListEntry, String> {
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
        text += &format!("{}\n", cells.join(separator));
    }
    Ok(text)
}

/// Refuses names that would be read as others.
pub(super) fn check_name(entry: &ListEntry) -> Result<()> {
    let has_comma = entry.name.contains(',');
    if has_comma || is_comment(&entry.name) && entry.name != "#" {
        let what = if has_comma { "have a comma" } else { "begin like a comment" };
        return Err(Error::Usage(format!("{}: a name in this list cannot {what}", entry.name)));
    }
    check_ends(entry)
}

pub(super) fn check_ends(entry: &ListEntry) -> Result<()> {
    if entry.name.trim() == entry.name {
        Ok(())
    } else {
        let reason = "a name in this list cannot begin or end with a blank";
        Err(Error::Usage(format!("'{}': {reason}", entry.name)))
    }
}
