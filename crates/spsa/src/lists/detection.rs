//! Telling formats apart.

use std::path::Path;

use super::columns::{columns, rows};
use super::{ListFormat, Spec};
use gputexel_io::{Error, Result};

pub(super) fn detect(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<ListFormat> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let find = |fits: &dyn Fn(&Spec) -> bool| ListFormat::ALL.into_iter().find(|format| fits(format.spec()));
    if let Some(format) = find(&|spec| spec.ending.is_some() && spec.ending == ending.as_deref()) {
        return Ok(format);
    }
    if ending.as_deref() == Some("json") || text.trim_start().starts_with('{') {
        return Ok(ListFormat::WeatherFactory);
    }
    if let Some(format) = find(&|spec| spec.fits.is_some_and(|fits| fits(text))) {
        return Ok(format);
    }
    let Some((line, first)) = rows(text).next() else { return Err(Error::input(path, "is empty")) };
    let marked = |line: &str| line.contains("//") || line.contains("[[NOT USED]]");
    if text.lines().any(|line| marked(line) && columns(line).len() >= 7) {
        return Ok(ListFormat::Params);
    }
    let count = first.len();
    let is_typed = first.get(1).is_some_and(|word| ["int", "float"].contains(word));
    if count == 7 && is_typed {
        notes.push(
            "read as openbench; a list of params looks the same and would be read the same".to_string(),
        );
        return Ok(ListFormat::OpenBench);
    }
    if let Some(format) = find(&|spec| spec.columns == Some(count)) {
        return Ok(format);
    }
    let columns = if count == 1 { "column" } else { "columns" };
    let reason = format!(
        "{count} {columns}: none of the lists that are known (2 name,value; 6 fishtest; 7 spsa or \
         openbench; 8 bspsa; also .params, JSON, TOML, setoption)"
    );
    Err(Error::line(path, line, reason))
}
