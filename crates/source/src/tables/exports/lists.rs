//! Names with values: CSV and UCI options, which are also read, and `.params` files.

use std::collections::HashMap;
use std::path::Path;

use super::code::{Overflow, fit};
use super::header::Header;
use super::{NameStyle, Rounding, check_untapered};
use crate::tables::sources::quote;
use gputexel_io::params::{ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result};
use gputexel_model::{Feature, ParameterFile, ParameterRecord};

pub const PHASES: [&str; 2] = ["mg", "eg"];

pub struct Listed {
    pub line: u64,
    /// Name of the feature and its phase; for UCI options, both in one.
    pub name: String,
    pub value: f64,
}

fn units(record: &ParameterRecord, phase: usize, rounding: Rounding) -> Result<f64> {
    let value = if phase == 0 { record.mg } else { record.eg };
    let name = || format!("{}.{}", record.name, PHASES[phase]);
    fit(rounding.round(value), rounding, Overflow::Refuse, name)
}

pub fn csv(file: &ParameterFile, rounding: Rounding, header: &Header) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let counted = file.parameters.iter().any(|record| record.occurrences.is_some());
    let errors = file.parameters.iter().any(|record| record.errors.is_some());
    let mut titles = vec!["name", "group", "mg", "eg"];
    titles.extend(counted.then_some("occurrences"));
    titles.extend(errors.then_some(["error_mg", "error_eg"]).into_iter().flatten());
    let failed = |error: csv::Error| Error::Usage(format!("CSV: {error}"));
    writer.write_record(&titles).map_err(failed)?;
    for record in &file.parameters {
        let shown = |name: &str| if is_formula(name) { format!("'{name}") } else { name.to_string() };
        let mut row = vec![shown(&record.name), shown(&record.group)];
        for phase in 0..2 {
            row.push(short(rounding, units(record, phase, rounding)?));
        }
        let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value}"));
        row.extend(counted.then(|| record.occurrences.map_or(String::new(), |count| count.to_string())));
        if errors {
            row.push(text(record.errors.and_then(|errors| errors.mg)));
            row.push(text(record.errors.and_then(|errors| errors.eg)));
        }
        writer.write_record(&row).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| Error::Usage(format!("CSV: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(format!("# {}\n{text}", header.machine()))
}

/// True for what a spreadsheet takes for a formula, or for such a text with apostrophes before it.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
}

fn without_apostrophe(text: &str) -> String {
    text.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(text).to_string()
}

/// Formats a number; lists are not compiled, so whole numbers among others have no point.
fn short(rounding: Rounding, units: f64) -> String {
    match rounding {
        Rounding::All => format!("{units}"),
        _ => rounding.text(units),
    }
}

/// Reads the output of [`csv()`], columns in any order.
pub fn read_csv(text: &str, path: &Path) -> Result<Vec<(u64, Feature, [f64; 2])>> {
    let mut reader =
        csv::ReaderBuilder::new().comment(None).trim(csv::Trim::None).from_reader(body(text).1.as_bytes());
    let skipped = body(text).0;
    let failed = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        Error::line(path, skipped + line, format!("no CSV: {error}"))
    };
    let titles = reader.headers().map_err(failed)?.clone();
    let find = |name: &str| titles.iter().position(|title| title.trim().eq_ignore_ascii_case(name));
    let need = |name: &str| {
        find(name).ok_or_else(|| Error::line(path, skipped + 1, format!("has no column '{name}'")))
    };
    let (name, mg, eg) = (need("name")?, need("mg")?, need("eg")?);
    let group = find("group");
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(failed)?;
        let line = skipped + row.position().map_or(1, csv::Position::line);
        let value = |column: usize, what: &str| -> Result<f64> {
            let text = row.get(column).unwrap_or_default().trim();
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            value.ok_or_else(|| {
                let name = &row[name];
                Error::line(path, line, format!("{what} of '{name}' is '{text}', not a number"))
            })
        };
        let group = group.map_or(String::new(), |group| without_apostrophe(&row[group]));
        let feature = Feature { name: without_apostrophe(&row[name]), group };
        records.push((line, feature, [value(mg, "mg")?, value(eg, "eg")?]));
    }
    Ok(records)
}

/// Returns the text after comments at the top, and the number of lines of these.
fn body(text: &str) -> (u64, &str) {
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut lines = 0;
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        lines += 1;
    }
    (lines, rest)
}

pub fn option_names(names: &[&str], style: Option<NameStyle>) -> Result<Vec<[String; 2]>> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut options = Vec::with_capacity(names.len());
    for name in names {
        let pair = PHASES.map(|phase| match style {
            Some(style) => style.identifier(name) + &style.ending(phase),
            None => format!("{name}.{phase}"),
        });
        for option in &pair {
            let words: Vec<&str> = option.split_whitespace().collect();
            let reserved =
                |word: &&str| word.eq_ignore_ascii_case("value") || word.eq_ignore_ascii_case("name");
            let why = if words.join(" ") != *option || option.chars().any(char::is_control) {
                "contains spaces that UCI does not preserve"
            } else if words.iter().any(reserved) {
                "contains the word 'value' or 'name', which UCI reserves"
            } else if let Some(other) = seen.insert(option.to_lowercase(), name) {
                // UCI does not distinguish upper and lower case.
                let (one, two) = (quote(other), quote(name));
                let reason =
                    format!("parameters {one} and {two} are both option '{option}'; try another --style");
                return Err(Error::Usage(reason));
            } else {
                continue;
            };
            return Err(Error::Usage(format!("option {} {why}; try --style snake", quote(option))));
        }
        options.push(pair);
    }
    Ok(options)
}

pub fn untapered_names(file: &ParameterFile, style: Option<NameStyle>) -> Vec<Vec<String>> {
    let own = |name: &str| style.map_or_else(|| name.to_string(), |style| style.identifier(name));
    file.parameters.iter().map(|record| vec![own(&record.name)]).collect()
}

pub fn uci(
    file: &ParameterFile,
    rounding: Rounding,
    options: &[Vec<String>],
    header: &Header,
) -> Result<String> {
    let mut text = format!("# {}\n", header.machine());
    for phase in 0..2 {
        for (record, option) in file.parameters.iter().zip(options).filter(|(_, option)| phase < option.len())
        {
            let value = short(rounding, units(record, phase, rounding)?);
            text += &format!("setoption name {} value {value}\n", option[phase]);
        }
    }
    Ok(text)
}

/// Reads `setoption` lines; skips empty ones and comments.
pub fn read_uci(text: &str, path: &Path) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.trim_start_matches('\u{feff}').trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let is = |at: usize, word: &str| words.get(at).is_some_and(|own| own.eq_ignore_ascii_case(word));
        let at = words.len().checked_sub(2).filter(|&at| at >= 3 && is(at, "value"));
        let (Some(at), true, true) = (at, is(0, "setoption"), is(1, "name")) else {
            let shown: String = content.chars().take(60).collect();
            return Err(Error::line(
                path,
                line,
                format!("'{shown}' is not 'setoption name NAME value VALUE'"),
            ));
        };
        let name = words[2..at].join(" ");
        let value = words[at + 1].parse::<f64>().ok().filter(|value| value.is_finite());
        let wrong =
            || Error::line(path, line, format!("the value of '{name}' is '{}', not a number", words[at + 1]));
        listed.push(Listed { line, value: value.ok_or_else(wrong)?, name });
    }
    Ok(listed)
}

/// Lines of name, type, value, and the range, step and delta of [`ParamEntry::from_source`].
pub fn params(
    file: &ParameterFile,
    rounding: Rounding,
    style: NameStyle,
    untapered: bool,
    header: &Header,
) -> Result<String> {
    if untapered {
        check_untapered(file)?;
    }
    let kind = if rounding.is_whole() { ParamKind::Int } else { ParamKind::Float };
    let mut params = ParamsFile::default();
    let mut seen = std::collections::HashMap::new();
    for record in &file.parameters {
        let own = style.identifier(&record.name);
        let names = match untapered {
            true => vec![own],
            false => PHASES.map(|phase| format!("{own}{}", style.ending(phase))).to_vec(),
        };
        for (phase, name) in names.into_iter().enumerate() {
            if let Some(other) = seen.insert(name.clone(), &record.name) {
                let (one, other) = (quote(other), quote(&record.name));
                let reason =
                    format!("parameters {one} and {other} are both called {name}; try another --style");
                return Err(Error::Usage(reason));
            }
            let value = rounding.round([record.mg, record.eg][phase]);
            let value = fit(value, rounding, Overflow::Refuse, || name.clone())?;
            let entry = ParamEntry::from_source(name, kind, value);
            if ![entry.min.value, entry.max.value].into_iter().all(f64::is_finite) {
                let reason =
                    format!("{} is {value}: too large for a range of twice that", quote(&entry.name));
                return Err(Error::Usage(reason));
            }
            params.push(entry);
        }
    }
    Ok(format!("// {}\n", header.machine()) + &params.text())
}
