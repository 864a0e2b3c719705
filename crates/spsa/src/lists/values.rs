//! Names with values, and nothing else: what a run puts out.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, is_header, number, rows};
use super::{ListEntry, ListOptions, parse_list, text_of};
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "values",
    form: "name, value; reads columns under a header, too, such as OpenBench's digest",
    ending: None,
    columns: Some(2),
    fits: None,
    needs: &[],
    takes: &[],
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path, &mut reading.notes),
    write: |entries, _| write(entries),
};

/// Headers of columns of values, the best first: OpenBench's digest has `Curr` and `Start`, fishtest's page `theta` or `value`.
const VALUES: [&str; 5] = ["value", "theta", "curr", "current", "start"];

/// `name, value` lines, or columns under a header with `name` and one of [`VALUES`]. A parameter may be
/// called `Name` as well. Bounds and settings are taken from columns that are called by them.
fn parse(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    let mut rows = rows(text).peekable();
    let mut places = (0, 1, 2);
    let mut settings = [None; 5];
    if let Some((line, header)) = rows.next_if(|(_, row)| is_header(row)) {
        let find = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let Some(value) = VALUES.iter().find_map(|name| find(name)) else {
            return Err(Error::line(path, line, "has no column 'value'"));
        };
        places = (0, value, header.len());
        settings = ["min", "max", "c_end", "r_end", "start"].map(find);
        if settings[..2].iter().all(Option::is_some) {
            notes.push("types are not in it: taken for int where start and bounds are whole and c_end is not below 0.5".to_string());
        }
    }
    let (name, value, count) = places;
    let one = |(line, row): (u64, Vec<&str>)| {
        if row.len() != count {
            let reason = format!("{} columns; expected {count}, with a name and a value", row.len());
            return Err(Error::line(path, line, reason));
        }
        let wrong = |why: String| Error::line(path, line, why);
        let start = number(row[name], "value", row[value]).map_err(wrong)?;
        let setting = |at: Option<usize>, what: &str| {
            at.map(|at| number(row[name], what, row[at])).transpose().map_err(wrong)
        };
        let [min, max, c_end, r_end, first] = settings;
        let (min, max, first) = (setting(min, "min")?, setting(max, "max")?, setting(first, "start")?);
        let (c_end, r_end) = (setting(c_end, "c_end")?, setting(r_end, "r_end")?);
        // A value on its way is no whole number, whatever the parameter is.
        let known = min.and(max).and(first).is_some();
        let told = [min, max, first];
        let told = if known { &told[..] } else { &[Some(start)] };
        let integer =
            told.iter().flatten().all(|value| value.fract() == 0.0) && c_end.is_none_or(|c| c >= 0.5);
        Ok((line, ListEntry { integer, min, max, c_end, r_end, ..ListEntry::new(row[name], start) }))
    };
    rows.map(one).collect()
}

fn write(entries: &[ListEntry]) -> Result<String> {
    check_names(entries)?;
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(text, "{}, {}", entry.name, entry.start);
    }
    Ok(text)
}

/// Takes the values in a file for the starts of parameters: any list, or a log as `spsa.pl` writes
/// it (`iteration,value,value,...` in the order of the parameters), whose latest iteration counts.
/// Returns the names of parameters that the file has no value for; they keep theirs.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for what is no list, for names that are no parameters, and for
/// values out of bounds.
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

/// The values of the latest iteration in a log of `count` parameters, with their line; `None` for
/// what is no log.
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
