//! OpenBench's lists: what its form for an SPSA test takes.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, given, is_integer, number, read};
use super::{ListEntry, Setting};
use gputexel_io::Result;

pub(super) static SPEC: Spec = Spec {
    name: "openbench",
    form: "name, int|float, start, min, max, C_end, R_end",
    ending: None,
    columns: None,
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::REnd],
    takes: &[],
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path),
    write: |entries, writing| write(entries, &mut writing.notes),
};

const NAMES: [&str; 7] = ["name", "int|float", "start", "min", "max", "C_end", "R_end"];

/// OpenBench never moves whole numbers by less.
const MIN_INTEGER_C: f64 = 0.5;

fn parse(text: &str, path: &Path) -> Result<Vec<Numbered>> {
    read(text, path, &NAMES, |columns| {
        let value = |i: usize| number(columns[0], NAMES[i], columns[i]);
        Ok(ListEntry {
            integer: is_integer(columns[0], columns[1])?,
            min: Some(value(3)?),
            max: Some(value(4)?),
            c_end: Some(value(5)?),
            r_end: Some(value(6)?),
            ..ListEntry::new(columns[0], value(2)?)
        })
    })
}

fn write(entries: &[ListEntry], notes: &mut Vec<String>) -> Result<String> {
    check_names(entries)?;
    let mut text = String::new();
    for entry in entries {
        let [min, max, c_end, r_end] = [entry.min, entry.max, entry.c_end, entry.r_end].map(given);
        let kind = if entry.integer { "int" } else { "float" };
        if entry.integer && c_end < MIN_INTEGER_C {
            notes.push(format!("{}: OpenBench takes C_end {c_end} of an int for 0.5", entry.name));
        }
        let _ = writeln!(text, "{}, {kind}, {}, {min}, {max}, {c_end}, {r_end}", entry.name, entry.start);
    }
    Ok(text)
}
