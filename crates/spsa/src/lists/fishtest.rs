//! fishtest's lists, which Stockfish prints for what its `TUNE` macro names, and where a test stands as its API
//! (`/api/get_run/ID`) has it.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::Spec;
use super::columns::{Numbered, check_names, given, number, read};
use super::weather_factory::json_error;
use super::{ListEntry, Setting};
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "fishtest",
    form: "name,start,min,max,c_end,r_end (also what Stockfish's TUNE prints)",
    ending: None,
    columns: Some(6),
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::REnd],
    takes: &[],
    has_fractions: false,
    parse: |text, reading| parse(text, reading.path, &mut reading.notes),
    write: |entries, _| write(entries),
};

const NAMES: [&str; 6] = ["name", "start", "min", "max", "c_end", "r_end"];

/// A parameter of a test; it has further fields.
#[derive(Deserialize)]
struct Tuned {
    name: String,
    theta: f64,
    min: f64,
    max: f64,
    c_end: f64,
    r_end: f64,
}

/// The part of a test that is about SPSA, which may come alone.
fn spsa_of(test: &Value) -> Option<&Value> {
    [&test["args"]["spsa"], &test["spsa"], test].into_iter().find(|spsa| {
        spsa["params"].as_array().is_some_and(|params| params.iter().any(|own| own["theta"].is_number()))
    })
}

/// Returns true if a text is what the API says of a test.
pub(super) fn is_test(text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|test: Value| spsa_of(&test).is_some())
}

/// All parameters are whole numbers to the engine: fishtest's workers round them.
fn parse(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    if text.trim_start().starts_with('{') {
        let test: Value = serde_json::from_str(text).map_err(|error| json_error(path, &error))?;
        let spsa = spsa_of(&test).ok_or_else(|| Error::input(path, "has no SPSA parameters with a theta"))?;
        let tuned = Vec::<Tuned>::deserialize(&spsa["params"])
            .map_err(|error| Error::input(path, format!("of its params, {error}")))?;
        notes.push("read as a test of fishtest: values are where it stands".to_string());
        let entry = |Tuned { name, theta, min, max, c_end, r_end }: Tuned| {
            let known = ListEntry {
                min: Some(min),
                max: Some(max),
                c_end: Some(c_end),
                ..ListEntry::new(name, theta)
            };
            (1, ListEntry { r_end: Some(r_end), ..known })
        };
        return Ok(tuned.into_iter().map(entry).collect());
    }
    read(text, path, &NAMES, |columns| {
        let value = |i: usize| number(columns[0], NAMES[i], columns[i]);
        Ok(ListEntry {
            min: Some(value(2)?),
            max: Some(value(3)?),
            c_end: Some(value(4)?),
            r_end: Some(value(5)?),
            ..ListEntry::new(columns[0], value(1)?)
        })
    })
}

fn write(entries: &[ListEntry]) -> Result<String> {
    check_names(entries)?;
    let mut text = String::new();
    for entry in entries {
        let [min, max, c_end, r_end] = [entry.min, entry.max, entry.c_end, entry.r_end].map(given);
        let _ = writeln!(text, "{},{},{min},{max},{c_end},{r_end}", entry.name, entry.start);
    }
    Ok(text)
}
