//! The `.params` files of YaneuraOu's `tune.py` as lists; [`gputexel_io::params`] reads and writes their text.

use std::path::Path;

use super::Spec;
use super::columns::{Numbered, check_names, given};
use super::{ListEntry, Setting};
use gputexel_io::params::{Number, ParamEntry, ParamKind, ParamsFile};
use gputexel_io::{Error, Result};

pub(super) static SPEC: Spec = Spec {
    name: "params",
    form: "name, int|float, v, min, max, step, delta //comment (YaneuraOu's tune.py)",
    ending: Some("params"),
    columns: None,
    fits: None,
    needs: &[Setting::Min, Setting::Max, Setting::CEnd, Setting::REnd],
    takes: &[Setting::Comment],
    has_fractions: true,
    parse: |text, reading| parse(text, reading.path, &mut reading.notes),
    write: |entries, _| write(entries),
};

fn parse(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<Vec<Numbered>> {
    let file = ParamsFile::parse(text, path)?;
    let mut entries = Vec::new();
    let mut unused = Vec::new();
    for (line, param) in file.numbered() {
        if param.not_used {
            unused.push(param.name.clone());
            continue;
        }
        let mut entry = ListEntry {
            integer: param.kind == ParamKind::Int,
            min: Some(param.min.value),
            max: Some(param.max.value),
            c_end: Some(param.step.value),
            r_end: Some(param.delta.value),
            ..ListEntry::new(param.name.clone(), param.v.value)
        };
        let comment = param.comment.as_deref().map(str::trim_end);
        entry.comment = comment.filter(|comment| !comment.trim().is_empty()).map(str::to_string);
        entries.push((line, entry));
    }
    if entries.is_empty() && !unused.is_empty() {
        return Err(Error::input(path, "lists only parameters that are marked as not used"));
    }
    if !unused.is_empty() {
        notes.push(format!("left out, being marked as not used: {}", unused.join(", ")));
    }
    Ok(entries)
}

fn write(entries: &[ListEntry]) -> Result<String> {
    check_names(entries)?;
    let mut file = ParamsFile::default();
    for entry in entries {
        if entry.name.contains("//") || entry.name.contains("[[NOT USED]]") {
            let reason = format!("{}: params would take a part of this name for a comment", entry.name);
            return Err(Error::Usage(reason));
        }
        let kind = if entry.integer { ParamKind::Int } else { ParamKind::Float };
        let mut param = ParamEntry::from_source(entry.name.clone(), kind, entry.start);
        let numbers = [&mut param.min, &mut param.max, &mut param.step, &mut param.delta];
        for (number, value) in numbers.into_iter().zip([entry.min, entry.max, entry.c_end, entry.r_end]) {
            *number = Number::new(given(value));
        }
        param.comment.clone_from(&entry.comment);
        file.push(param);
    }
    Ok(file.text())
}
