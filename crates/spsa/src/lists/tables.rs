//! `[[parameter]]` tables of TOML, as the configuration of a run has them.

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::Spec;
use super::columns::Numbered;
use super::{ListEntry, Setting};
use crate::toml_text::{comment, line_at, parameter_table, toml_error};
use gputexel_io::Result;

#[derive(Deserialize)]
struct Document {
    parameter: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: String,
    start: f64,
    min: Option<f64>,
    max: Option<f64>,
    integer: Option<bool>,
    c_end: Option<f64>,
    r_end: Option<f64>,
    s: Option<f64>,
    sigma: Option<f64>,
    simul_elo: Option<f64>,
}

pub(super) static SPEC: Spec = Spec {
    name: "toml",
    form: "[[parameter]] tables, alone or in a configuration of 'spsa run'",
    ending: Some("toml"),
    columns: None,
    fits: Some(fits),
    needs: &[Setting::Min, Setting::Max, Setting::CEnd],
    takes: &Setting::ALL,
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path),
    write: |entries, _| write(entries),
};

fn fits(text: &str) -> bool {
    let is_table = |line: &str| {
        let content = line.split_once('#').map_or(line, |(content, _)| content).trim_end();
        ["[[parameter]]", "[run]"].contains(&content)
    };
    text.lines().any(|line| is_table(line.trim()))
}

fn parse(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    let document: Document = toml::from_str(text).map_err(|error| toml_error(text, path, &error))?;
    let entry = |spanned: Spanned<Table>| {
        let line = line_at(text, spanned.span().start);
        let Table { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo } =
            spanned.into_inner();
        let integer = integer.unwrap_or(true);
        let entry =
            ListEntry { min, max, integer, c_end, r_end, s, sigma, simul_elo, ..ListEntry::new(name, start) };
        (line, entry)
    };
    Ok(document.parameter.into_iter().map(entry).collect())
}

fn write(entries: &[ListEntry]) -> Result<String> {
    let mut tables = Vec::with_capacity(entries.len());
    for entry in entries {
        let comment: String = entry.comment.iter().map(|text| comment(text)).collect();
        tables.push(format!("{comment}{}", parameter_table(&entry.variable()?)));
    }
    Ok(tables.join("\n"))
}
