//! Names with values, and nothing else: what a run puts out.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, number, read, rows};
use super::{ListEntry, ListOptions, parse_list, text_of};
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "values",
    form: "name, value",
    ending: None,
    columns: Some(2),
    fits: None,
    needs: &[],
    takes: &[],
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path),
    write: |entries, _| write(entries),
};

fn parse(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    read(text, path, &["name", "value"], |columns| {
        let start = number(columns[0], "value", columns[1])?;
        Ok(ListEntry { integer: start.fract() == 0.0, ..ListEntry::new(columns[0], start) })
    })
}

fn write(entries: &[ListEntry]) -> Result<String> {
    check_names(entries)?;
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(text, "{}, {}", entry.name, entry.start);
    }
    Ok(text)
}

/// Takes the values in a file for the starts of parameters: any list, or a log as `spsa.pl` writes it
/// (`iteration,value,value,...` in the order of the parameters), whose latest iteration counts. Names of
/// parameters that the file has no value for; they keep theirs.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for what is no list, for names that are no parameters, and for values out
/// of bounds.
pub fn read_values(path: &Path, entries: &mut [ListEntry]) -> Result<Vec<String>> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    let text = text_of(&bytes, path)?;
    let mut unnamed = Vec::new();
    let is_named = |name: &str| entries.iter().any(|entry| entry.name == name);
    // Parameters may be called by numbers, too.
    let is_list = rows(text).all(|(_, row)| row.len() == 2 && is_named(row[0]));
    let log = if is_list { None } else { last_of_log(text, path, entries.len())? };
    if let Some((line, values)) = log {
        for (entry, value) in entries.iter_mut().zip(values) {
            entry.start = value;
            entry.check().map_err(|reason| Error::line(path, line, reason))?;
        }
        return Ok(unnamed);
    }
    let list = parse_list(&bytes, path, None, ListOptions::default(), None)?;
    if let Some(other) = list.entries.iter().find(|value| !entries.iter().any(|e| e.name == value.name)) {
        return Err(Error::input(path, format!("{}: is not a parameter of the list", other.name)));
    }
    for entry in entries {
        match list.entries.iter().find(|value| value.name == entry.name) {
            Some(value) => entry.start = value.start,
            None => unnamed.push(entry.name.clone()),
        }
        entry.check().map_err(|reason| Error::input(path, reason))?;
    }
    Ok(unnamed)
}

/// `None` for what is no log.
fn last_of_log(text: &str, path: &Path, count: usize) -> Result<Option<(u64, Vec<f64>)>> {
    let mut last: Option<(f64, u64, Vec<f64>)> = None;
    for (line, row) in rows(text) {
        let iteration = row[0].parse::<f64>().ok().filter(|k| k.is_finite());
        let (Some(k), 2..) = (iteration, row.len()) else { return Ok(None) };
        if row.len() != count + 1 {
            let (found, columns) = (row.len() - 1, count);
            let reason = format!("a log of {found} values; the list has {columns} parameters");
            return Err(Error::line(path, line, reason));
        }
        let value = |text: &&str| number(row[0], "value", text);
        let values = row[1..].iter().map(value).collect::<std::result::Result<Vec<f64>, String>>();
        let values = values.map_err(|reason| Error::line(path, line, reason))?;
        // Threads of spsa.pl end their iterations in any order.
        if last.as_ref().is_none_or(|(latest, ..)| k >= *latest) {
            last = Some((k, line, values));
        }
    }
    Ok(last.map(|(_, line, values)| (line, values)))
}
