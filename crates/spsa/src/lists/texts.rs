//! Lists that are not columns alone: weather-factory's JSON, `setoption` lines, YaneuraOu's `.params` and TOML tables.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::columns::{Numbered, check_ends, check_name, lines, number};
use super::entry::ListEntry;
use crate::toml_text::{comment, line_at, parameter_table, toml_error};
use gputexel_io::params::{Number, ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result, shown};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of value, min_value, max_value and step")]
struct Item {
    value: f64,
    min_value: f64,
    max_value: f64,
    step: f64,
}

/// weather-factory's `config.json`, whose steps are taken for `c_end`.
pub(super) fn parse_json(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    let refuse = |line: u64, error: &serde_json::Error| {
        let text = error.to_string();
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        Error::line(path, line, reason)
    };
    let items: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| refuse(error.line().max(1) as u64, &error))?;
    notes.push("step was used as c_end".to_string());
    let entry = |(name, item): (String, Value)| {
        let line = line_at(text, text.find(&json!(name).to_string()).unwrap_or(0));
        let item: Item = serde_json::from_value(item).map_err(|error| refuse(line, &error))?;
        let [min, max, c_end] = [item.min_value, item.max_value, item.step].map(Some);
        Ok((line, ListEntry { min, max, c_end, ..ListEntry::new(name, item.value) }))
    };
    items.into_iter().map(entry).collect()
}

pub(super) fn write_json(entries: &[ListEntry]) -> String {
    let number = |value: f64| match value.fract() == 0.0 && value.abs() < 1e15 {
        true => json!(value as i64),
        false => json!(value),
    };
    let item = |entry: &ListEntry| {
        let [min, max, step] = [entry.min, entry.max, entry.c_end].map(|value| value.map(number));
        let item = json!({ "value": number(entry.start), "min_value": min, "max_value": max, "step": step });
        (entry.name.clone(), item)
    };
    format!("{:#}\n", Value::Object(entries.iter().map(item).collect()))
}

pub(super) fn parse_setoptions(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    let one = |(line_number, line): (u64, &str)| {
        let refuse = |reason: String| Error::line(path, line_number, reason);
        let rest = line.trim().strip_prefix("setoption name ");
        let Some((name, value)) = rest.and_then(|rest| rest.rsplit_once(" value ")) else {
            return Err(refuse(format!("'{}' is not setoption name NAME value VALUE", shown(line))));
        };
        let (name, value) = (name.trim(), value.trim());
        let start = number(name, "value", value).map_err(refuse)?;
        Ok((line_number, ListEntry { integer: start.fract() == 0.0, ..ListEntry::new(name, start) }))
    };
    lines(text).map(one).collect()
}

pub(super) fn write_setoptions(entries: &[ListEntry]) -> Result<String> {
    let mut text = String::new();
    for entry in entries {
        check_ends(entry)?;
        let low = entry.min.map_or(f64::NEG_INFINITY, f64::ceil);
        let high = entry.max.map_or(f64::INFINITY, f64::floor);
        // Bounds that were read hold whole numbers; no others are let in.
        let value = if entry.integer { entry.start.round().max(low).min(high) } else { entry.start };
        // A zero without a sign.
        text += &format!("setoption name {} value {}\n", entry.name, value + 0.0);
    }
    Ok(text)
}

pub(super) fn parse_params(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    let file = ParamsFile::parse(text, path)?;
    let (unused, used): (Vec<_>, Vec<_>) = file.numbered().partition(|(_, param)| param.not_used);
    if used.is_empty() && !unused.is_empty() {
        return Err(Error::input(path, "lists only parameters that are marked as not used"));
    }
    if !unused.is_empty() {
        let names: Vec<&str> = unused.iter().map(|(_, param)| param.name.as_str()).collect();
        notes.push(format!("left out, being marked as not used: {}", names.join(", ")));
    }
    let entry = |(line, param): (u64, &ParamEntry)| {
        let numbers = [&param.min, &param.max, &param.step, &param.delta];
        let [min, max, c_end, r_end] = numbers.map(|number| Some(number.value));
        let integer = param.kind == ParamKind::Int;
        let comment = param.comment.as_deref().map(str::trim_end);
        let comment = comment.filter(|comment| !comment.trim().is_empty()).map(str::to_string);
        let bare = ListEntry::new(param.name.clone(), param.v.value);
        (line, ListEntry { min, max, integer, c_end, r_end, comment, ..bare })
    };
    Ok(used.into_iter().map(entry).collect())
}

pub(super) fn write_params(entries: &[ListEntry]) -> Result<String> {
    let mut file = ParamsFile::default();
    for entry in entries {
        check_name(entry)?;
        if entry.name.contains("//") || entry.name.contains("[[NOT USED]]") {
            let reason = format!("{}: params would take a part of this name for a comment", entry.name);
            return Err(Error::Usage(reason));
        }
        let kind = if entry.integer { ParamKind::Int } else { ParamKind::Float };
        let mut param = ParamEntry::from_source(entry.name.clone(), kind, entry.start);
        let numbers = [&mut param.min, &mut param.max, &mut param.step, &mut param.delta];
        for (number, value) in numbers.into_iter().zip([entry.min, entry.max, entry.c_end, entry.r_end]) {
            *number = Number::new(value.unwrap_or(0.0));
        }
        param.comment.clone_from(&entry.comment);
        file.push(param);
    }
    Ok(file.text())
}

#[derive(Deserialize)]
struct Document {
    parameter: Vec<Spanned<ListEntry>>,
}

/// True if a text has `[[parameter]]` tables, or begins as the configuration of a run.
pub(super) fn is_toml(text: &str) -> bool {
    let is_table = |line: &str| {
        let content = line.split_once('#').map_or(line, |(content, _)| content).trim();
        ["[[parameter]]", "[run]"].contains(&content)
    };
    text.lines().any(is_table)
}

pub(super) fn parse_toml(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    let document: Document = toml::from_str(text).map_err(|error| toml_error(text, path, &error))?;
    let entry = |entry: Spanned<ListEntry>| (line_at(text, entry.span().start), entry.into_inner());
    Ok(document.parameter.into_iter().map(entry).collect())
}

pub(super) fn write_toml(entries: &[ListEntry]) -> Result<String> {
    let table = |entry: &ListEntry| {
        let comment: String = entry.comment.iter().map(|text| comment(text)).collect();
        Ok(format!("{comment}{}", parameter_table(&entry.variable()?)))
    };
    Ok(entries.iter().map(table).collect::<Result<Vec<_>>>()?.join("\n"))
}
