//! Lists of parameters as other programs have them, read and written.

mod columns;
mod entry;
mod texts;

use std::path::Path;

use super::variables::{Variable, validate};
use columns::rows;
use entry::SETTINGS;
use gputexel_io::{Error, Result};

pub use entry::ListEntry;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    Spsa,
    Bspsa,
    OpenBench,
    Fishtest,
    WeatherFactory,
    /// YaneuraOu's `.params`.
    Params,
    /// `setoption` lines.
    Uci,
    Values,
    Toml,
}

gputexel_io::names!(
    ListFormat "format":
    Spsa "spsa", Bspsa "bspsa", OpenBench "openbench", Fishtest "fishtest", WeatherFactory "weather-factory",
    Params "params", Uci "uci", Values "values", Toml "toml"
);

impl ListFormat {
    pub fn form(self) -> &'static str {
        match self {
            Self::Spsa => "name,start,min,max,c_end,r_end,simul_elo (spsa.pl)",
            Self::Bspsa => "name,start,min,max,c_end,s,sigma,simul_elo (bspsa.pl)",
            Self::OpenBench => "name, int|float, start, min, max, C_end, R_end",
            Self::Fishtest => "name,start,min,max,c_end,r_end (also what Stockfish's TUNE prints)",
            Self::WeatherFactory => r#"config.json: {"name": {"value", "min_value", "max_value", "step"}}"#,
            Self::Params => "name, int|float, v, min, max, step, delta //comment (YaneuraOu's tune.py)",
            Self::Uci => "setoption name NAME value VALUE",
            Self::Values => "name, value",
            Self::Toml => "[[parameter]] tables, alone or in a configuration of 'spsa run'",
        }
    }

    fn columns(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Spsa => Some(columns::SPSA),
            Self::Bspsa => Some(columns::BSPSA),
            Self::OpenBench => Some(columns::OPENBENCH),
            Self::Fishtest => Some(columns::FISHTEST),
            Self::Values => Some(columns::VALUES),
            Self::WeatherFactory | Self::Params | Self::Uci | Self::Toml => None,
        }
    }

    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::WeatherFactory => &["min", "max", "c_end"],
            Self::Params => &["min", "max", "c_end", "r_end", "comments"],
            Self::Toml => &SETTINGS,
            _ => self.columns().unwrap_or_default(),
        }
    }

    /// Settings that a list cannot do without; of a list of mere values none.
    fn needs(self) -> impl Iterator<Item = &'static str> {
        let optional: &'static [&'static str] = match self {
            Self::Toml => &["r_end", "s", "sigma", "simul_elo", "comments"],
            _ => &["simul_elo", "comments"],
        };
        let has = move |setting: &&str| self.settings().contains(setting) && !optional.contains(setting);
        SETTINGS.into_iter().filter(has)
    }

    fn has_fractions(self) -> bool {
        !matches!(self, Self::Spsa | Self::Bspsa | Self::Fishtest | Self::WeatherFactory)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct List {
    pub format: ListFormat,
    pub entries: Vec<ListEntry>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub text: String,
    pub notes: Vec<String>,
}

/// Without a `format` it is told by content and ending.
pub fn read_list(path: &Path, format: Option<ListFormat>) -> Result<List> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    parse_list(&bytes, path, format)
}

/// Reads a list that has all that tuning needs.
pub fn read_variables(path: &Path, format: Option<ListFormat>) -> Result<Vec<Variable>> {
    let entries = read_list(path, format)?.entries;
    let variables = entries.iter().map(ListEntry::variable).collect::<Result<Vec<Variable>>>();
    let valid = variables.and_then(|variables| validate(&variables).map(|()| variables));
    valid.map_err(|error| Error::input(path, error.to_string()))
}

pub fn parse_list(bytes: &[u8], path: &Path, format: Option<ListFormat>) -> Result<List> {
    let text = text_of(bytes, path)?;
    if text.trim().is_empty() {
        return Err(Error::input(path, "is empty"));
    }
    let mut notes = Vec::new();
    let has_columns = format.is_none_or(|format| format.columns().is_some());
    let titled = if has_columns { columns::parse_titled(text, path, &mut notes) } else { None };
    let format = match (format, &titled) {
        (Some(format), _) => format,
        (None, Some(_)) => ListFormat::Fishtest,
        (None, None) => detect(text, path, &mut notes)?,
    };
    let lines = match (format.columns(), format) {
        _ if let Some(lines) = titled => lines?,
        (Some(columns), _) => columns::parse(text, path, columns)?,
        (None, ListFormat::WeatherFactory) => texts::parse_json(text, path, &mut notes)?,
        (None, ListFormat::Params) => texts::parse_params(text, path, &mut notes)?,
        (None, ListFormat::Uci) => texts::parse_setoptions(text, path)?,
        (None, _) => texts::parse_toml(text, path)?,
    };
    let mut first = std::collections::HashMap::new();
    for (line, entry) in &lines {
        entry.check().map_err(|reason| Error::line(path, *line, reason))?;
        if let Some(other) = first.insert(entry.name.clone(), line) {
            let reason = format!("{}: is listed twice, first in line {other}", entry.name);
            return Err(Error::line(path, *line, reason));
        }
    }
    if lines.is_empty() {
        return Err(Error::input(path, "lists no parameter"));
    }
    let entries = lines.into_iter().map(|(_, entry)| entry).collect();
    Ok(List { format, entries, notes })
}

fn detect(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<ListFormat> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let Some((line, first)) = rows(text).next() else { return Err(Error::input(path, "is empty")) };
    let has_comments = |line: &str| line.contains("//") || line.contains("[[NOT USED]]");
    let is_typed = first.get(1).is_some_and(|word| ["int", "float"].contains(word));
    Ok(match (ending.as_deref(), first.len()) {
        (Some("params"), _) => ListFormat::Params,
        (Some("toml"), _) => ListFormat::Toml,
        (Some("json"), _) => ListFormat::WeatherFactory,
        _ if text.trim_start().starts_with('{') => ListFormat::WeatherFactory,
        _ if first[0].starts_with("setoption name ") => ListFormat::Uci,
        _ if texts::is_toml(text) => ListFormat::Toml,
        _ if rows(text).any(|(_, row)| row.len() >= 7 && has_comments(&row.join(","))) => ListFormat::Params,
        (_, 7) if is_typed => {
            let note = "read as openbench; a list of params looks the same and would be read the same";
            notes.push(note.to_string());
            ListFormat::OpenBench
        }
        (_, 2) => ListFormat::Values,
        (_, 6) => ListFormat::Fishtest,
        (_, 7) => ListFormat::Spsa,
        (_, 8) => ListFormat::Bspsa,
        (_, count) => {
            let columns = if count == 1 { "column" } else { "columns" };
            let known =
                "2 name,value; 6 fishtest; 7 spsa or openbench; 8 bspsa; also .params, JSON, TOML, setoption";
            let reason = format!("{count} {columns}: none of the lists that are known ({known})");
            return Err(Error::line(path, line, reason));
        }
    })
}

/// The first parameter that lacks something which lists of a format need, and what that is.
pub fn missing(entries: &[ListEntry], format: ListFormat) -> Option<(&ListEntry, &'static str)> {
    entries
        .iter()
        .find_map(|entry| format.needs().find(|setting| entry.lacks(setting)).map(|setting| (entry, setting)))
}

/// # Errors
/// [`Error::Usage`] naming a parameter that lacks something, or cannot be told in that format.
pub fn write_list(entries: &[ListEntry], format: ListFormat) -> Result<Written> {
    if let Some((entry, setting)) = missing(entries, format) {
        let reason = format!("format {format} requires {setting}, which the input lacks");
        return Err(Error::Usage(format!("{}: {reason}", entry.name)));
    }
    for entry in entries {
        entry.check().map_err(Error::Usage)?;
        if !entry.integer && !format.has_fractions() {
            let reason =
                format!("{}: has fractional values, but {format} only supports integers", entry.name);
            return Err(Error::Usage(reason));
        }
    }
    let lost = |setting: &&str| {
        !format.settings().contains(setting) && entries.iter().any(|entry| !entry.lacks(setting))
    };
    let lost: Vec<&str> = SETTINGS.into_iter().filter(|setting| lost(setting)).collect();
    let mut notes = Vec::new();
    if format.needs().next().is_some() && !lost.is_empty() {
        notes.push(format!("{format} has no place for {}", lost.join(", ")));
    }
    let text = match (format.columns(), format) {
        (Some(columns), _) => columns::write(entries, columns, &mut notes)?,
        (None, ListFormat::WeatherFactory) => texts::write_json(entries),
        (None, ListFormat::Params) => texts::write_params(entries)?,
        (None, ListFormat::Uci) => texts::write_setoptions(entries)?,
        (None, _) => texts::write_toml(entries)?,
    };
    Ok(Written { text, notes })
}

/// # Errors
/// [`Error::Input`] naming the first line that is not UTF-8.
pub(super) fn text_of<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Error::line(path, line as u64, "is not UTF-8 text")
    })
}

#[cfg(test)]
mod tests;
