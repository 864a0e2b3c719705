//! The `.params` files of YaneuraOu's `tune.py`.

use std::path::Path;

use crate::error::{Error, Result};
use crate::messages::shown;

/// Mark of unused parameters, anywhere in a line.
pub const NOT_USED: &str = "[[NOT USED]]";

pub const COLUMNS: [&str; 7] = ["name", "type", "v", "min", "max", "step", "delta"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ParamKind {
    Int,
    Float,
}

impl std::fmt::Display for ParamKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Int => "int",
            Self::Float => "float",
        })
    }
}

impl std::str::FromStr for ParamKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "int" => Ok(Self::Int),
            "float" => Ok(Self::Float),
            _ => Err(format!("type '{}': expected int or float", shown(text))),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub value: f64,
    text: Option<String>,
}

impl Number {
    /// Zero, written `0.0`.
    pub const ZERO: Self = Self { value: 0.0, text: None };

    /// Creates a number written like a float by Python's `repr`.
    pub fn new(value: f64) -> Self {
        Self { value, text: None }
    }

    /// Returns a whole number written without a fraction, like an int by Python's `repr`.
    pub fn whole(value: i32) -> Self {
        Self { value: f64::from(value), text: Some(value.to_string()) }
    }

    /// Parses a finite number, which is written back with the same text.
    pub fn parse(text: &str) -> Option<Self> {
        // Python's float() accepts digits in groups; Rust accepts names for infinity that are excluded.
        let plain = text.trim().replace('_', "");
        let value: f64 = plain.parse().ok()?;
        value.is_finite().then(|| Self { value, text: Some(text.trim().to_string()) })
    }

    fn shown(&self) -> String {
        shown(&self.to_string())
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.text {
            Some(text) => f.pad(text),
            None => f.pad(&python(self.value)),
        }
    }
}

/// Formats a number like a float by Python's `repr`: `100.0`, `1e-05`, `1e+16`.
pub fn python(value: f64) -> String {
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// Formats a number for sources: always with a point, and never with an exponent, which could not be found again.
pub fn plain(value: f64) -> String {
    let text = format!("{value}");
    if text.contains('.') { text } else { text + ".0" }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ParamEntry {
    pub name: String,
    pub kind: ParamKind,
    pub v: Number,
    /// Smallest value.
    pub min: Number,
    /// Largest value.
    pub max: Number,
    pub step: Number,
    pub delta: Number,
    /// Columns past the seventh.
    pub more: Vec<String>,
    /// Text after `//`, with its blanks.
    pub comment: Option<String>,
    pub not_used: bool,
}

impl ParamEntry {
    /// Returns a parameter with the range that `tune.py` gives a number of the source: between 0 and its
    /// double; 0 to 1 for 0.
    pub fn from_source(name: impl Into<String>, kind: ParamKind, value: f64) -> Self {
        let (min, max) = match value {
            v if v > 0.0 => (Number::ZERO, Number::new(2.0 * v)),
            v if v < 0.0 => (Number::new(2.0 * v), Number::ZERO),
            _ => (Number::whole(0), Number::whole(1)),
        };
        let step = (max.value - min.value) / 20.0;
        let step = if step >= 1.0 { Number::new(step) } else { Number::whole(1) };
        Self {
            name: name.into(),
            kind,
            v: Number::new(value),
            min,
            max,
            step,
            delta: Number::new(0.002),
            more: Vec::new(),
            comment: None,
            not_used: false,
        }
    }

    /// Describes a problem of the range or the value: `f_1 = 60 is outside of its range, 0.0 to 50.0`.
    pub fn range_problem(&self) -> Option<String> {
        let Self { v, min, max, .. } = self;
        let name = shown(&self.name);
        let (v, min, max) = (v.shown(), min.shown(), max.shown());
        if self.min.value > self.max.value {
            return Some(format!("{name}: its range from {min} to {max} is empty"));
        }
        let outside = self.v.value < self.min.value || self.v.value > self.max.value;
        outside.then(|| format!("{name} = {v} is outside of its range, {min} to {max}"))
    }

    fn line(&self) -> String {
        let mut line = format!("{}, {}", self.name, self.kind);
        for number in [&self.v, &self.min, &self.max, &self.step, &self.delta] {
            line += &format!(", {number}");
        }
        for column in &self.more {
            line += &format!(", {column}");
        }
        if let Some(comment) = &self.comment {
            line += &format!(" //{comment}");
        }
        if self.not_used {
            line.push_str(NOT_USED);
        }
        line
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Line {
    /// Blank or only a comment; kept unchanged.
    Other(String),
    Entry(Box<ParamEntry>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParamsFile {
    lines: Vec<Line>,
    windows: bool,
    mark: bool,
}

impl ParamsFile {
    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// [`Error::Input`] with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut file = Self { windows: text.contains("\r\n"), ..Self::default() };
        let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
        file.mark = plain.len() != text.len();
        let mut seen = std::collections::HashMap::new();
        for (number, line) in (1u64..).zip(plain.lines()) {
            let line = line.trim_end();
            let parsed = parse_line(line).map_err(|reason| Error::line(path, number, reason))?;
            if let Line::Entry(entry) = &parsed
                && let Some(before) = seen.insert(entry.name.clone(), number)
            {
                return Err(Error::line(
                    path,
                    number,
                    format!("{} is in line {before} already", shown(&entry.name)),
                ));
            }
            file.lines.push(parsed);
        }
        Ok(file)
    }

    /// Returns the text of the file, with its original line ends and byte order mark.
    pub fn text(&self) -> String {
        let newline = if self.windows { "\r\n" } else { "\n" };
        let mut text = if self.mark { "\u{feff}".to_string() } else { String::new() };
        for line in &self.lines {
            match line {
                Line::Other(line) => text.push_str(line),
                Line::Entry(entry) => text.push_str(&entry.line()),
            }
            text.push_str(newline);
        }
        text
    }

    pub fn entries(&self) -> impl Iterator<Item = &ParamEntry> {
        self.lines.iter().filter_map(|line| match line {
            Line::Entry(entry) => Some(&**entry),
            Line::Other(_) => None,
        })
    }

    /// Returns its parameters with their line numbers, from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &ParamEntry)> {
        (1..).zip(&self.lines).filter_map(|(number, line)| match line {
            Line::Entry(entry) => Some((number, &**entry)),
            Line::Other(_) => None,
        })
    }

    /// Returns its parameters, in order, for changes.
    pub fn entries_mut(&mut self) -> impl Iterator<Item = &mut ParamEntry> {
        self.lines.iter_mut().filter_map(|line| match line {
            Line::Entry(entry) => Some(&mut **entry),
            Line::Other(_) => None,
        })
    }

    pub fn get(&self, name: &str) -> Option<&ParamEntry> {
        self.entries().find(|entry| entry.name == name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut ParamEntry> {
        self.entries_mut().find(|entry| entry.name == name)
    }

    pub fn push(&mut self, entry: ParamEntry) {
        self.lines.push(Line::Entry(Box::new(entry)));
    }
}

fn parse_line(line: &str) -> Result<Line, String> {
    let not_used = line.contains(NOT_USED);
    let stripped = if not_used { line.replace(NOT_USED, "") } else { line.to_string() };
    let (row, comment) = match stripped.split_once("//") {
        Some((row, comment)) => (row, Some(comment)),
        None => (stripped.as_str(), None),
    };
    if row.trim().is_empty() {
        return Ok(Line::Other(line.to_string()));
    }
    let columns: Vec<&str> = row.split(',').map(str::trim).collect();
    let column = |i: usize| format!("column {} ({})", i + 1, COLUMNS[i]);
    if columns[0].is_empty() {
        return Err(format!("{} is empty", column(0)));
    }
    let kind = match columns.get(1) {
        Some(kind) => kind.parse().map_err(|reason| format!("{}: {reason}", column(1)))?,
        None => return Err(format!("{} is missing", column(1))),
    };
    let number = |i: usize| match columns.get(i) {
        Some(text) => {
            Number::parse(text).ok_or_else(|| format!("{}: '{}' is not a number", column(i), shown(text)))
        }
        None => Err(format!("{} is missing", column(i))),
    };
    Ok(Line::Entry(Box::new(ParamEntry {
        name: columns[0].to_string(),
        kind,
        v: number(2)?,
        min: number(3)?,
        max: number(4)?,
        step: number(5)?,
        delta: number(6)?,
        more: columns[7..].iter().map(ToString::to_string).collect(),
        comment: comment.filter(|comment| !comment.is_empty()).map(str::to_string),
        not_used,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ParamsFile> {
        ParamsFile::parse(text, Path::new("p.params"))
    }

    #[test]
    fn what_is_read_is_written_back() {
        let text = "// settings of may\r\na_1, int, 5, 0, 10, 1, 0.002, x, y // was here [[NOT USED]]\r\n\r\nb, float, -1e-05, -1.0, 1e3, 0.1, 2E-3\r\n";
        let file = parse(text).unwrap();
        assert_eq!(file.text(), text);
        let a = file.get("a_1").unwrap();
        assert!(a.not_used && a.kind == ParamKind::Int && a.more == ["x", "y"], "{a:?}");
        assert_eq!(a.comment.as_deref(), Some(" was here "));
        assert_eq!(file.get("b").unwrap().max.value, 1000.0);
    }

    #[test]
    fn numbers_are_written_as_python_does() {
        // From CPython's repr.
        for (value, expected) in [
            (100.0, "100.0"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e16, "1e+16"),
            (12345678901234567.0, "1.2345678901234568e+16"),
            (1.25e100, "1.25e+100"),
            (-0.0, "-0.0"),
            (0.0001, "0.0001"),
            (123456789012345.0, "123456789012345.0"),
        ] {
            assert_eq!(python(value), expected);
        }
    }

    #[test]
    fn malformed_lines_name_the_column() {
        for (text, line, reason) in [
            ("a, int, 1, 0, 2, 1, 0.002\nb, int, oops", 2, "column 3 (v): 'oops' is not a number"),
            ("a, int, 1, 0, 2, 1", 1, "column 7 (delta) is missing"),
            ("a, str, 1, 0, 2, 1, 0.002", 1, "column 2 (type): type 'str': expected int or float"),
            ("\n, int, 1, 0, 2, 1, 0.002", 2, "column 1 (name) is empty"),
            ("a, int, 1, 0, inf, 1, 0.002", 1, "column 5 (max): 'inf' is not a number"),
            ("a", 1, "column 2 (type) is missing"),
            ("a, int, 1, 0, 2, 1, 0\na, int, 1, 0, 2, 1, 0", 2, "a is in line 1 already"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("p.params:{line}: {reason}"));
        }
    }

    #[test]
    fn values_outside_of_their_range_are_told() {
        for (line, said) in [
            ("a, int, 0, 0, 10, 1, 0.002", None),
            ("a, int, 10, 0, 10, 1, 0.002", None),
            ("a, int, -1, 0, 10, 1, 0.002", Some("a = -1 is outside of its range, 0 to 10")),
            ("a, int, 10.5, 0, 10, 1, 0.002", Some("a = 10.5 is outside of its range, 0 to 10")),
            ("a, int, 5, 10, 0, 1, 0.002", Some("a: its range from 10 to 0 is empty")),
        ] {
            let file = ParamsFile::parse(line, Path::new("x")).unwrap();
            assert_eq!(file.get("a").unwrap().range_problem().as_deref(), said, "{line}");
        }
    }
}
