//! fishtest's lists, which Stockfish prints for what its `TUNE` macro names.

use std::fmt::Write as _; // to strings, which cannot fail
use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, given, number, read};
use super::{ListEntry, Setting};
use gputexel_io::Result;

pub(super) static SPEC: Spec = Spec {
    name: "fishtest",
    form: "name,start,min,max,c_end,r_end (also what Stockfish's TUNE prints)",
    ending: None,
    columns: Some(6),
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::REnd],
    takes: &[],
    has_fractions: false,
    parse: |text, reading| parse(text, reading.path),
    write: |entries, _| write(entries),
};

const NAMES: [&str; 6] = ["name", "start", "min", "max", "c_end", "r_end"];

/// All parameters are whole numbers to the engine: fishtest's workers round them.
fn parse(text: &str, path: &Path) -> Result<Vec<Numbered>> {
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
