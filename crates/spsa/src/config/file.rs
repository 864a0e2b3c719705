//! Reading the TOML file, with the line of whatever is wrong in it.

use std::path::Path;

use toml::de::{DeArray, DeTable, DeValue};

use super::RunConfig;
use crate::toml_text::{line_at, toml_error};
use gputexel_io::{Error, Result};

/// # Errors
/// [`Error::Io`]; [`Error::Input`] naming the first line that is not UTF-8.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    crate::lists::text_of(&bytes, path).map(str::to_string)
}

impl RunConfig {
    /// Reads and validates a TOML file; relative paths in it begin at its folder.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_text(path)?, path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|error| toml_error(text, path, &error))?;
        config.flaw().map_or(Ok(()), |flaw| {
            let place: Vec<&str> = flaw.place.iter().map(String::as_str).collect();
            Err(Error::line(path, line_of(text, &place), flaw.reason))
        })?;
        config.resolve_paths(path)?;
        Ok(config)
    }
}

/// The line of the value at a place, such as `run`, `alpha` or `parameter`, `0`, `c_end`; of the closest
/// thing around it where it is missing.
pub(super) fn line_of(text: &str, place: &[&str]) -> u64 {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let mut byte = 0;
    let mut table: Option<&DeTable<'_>> = Some(document.get_ref());
    let mut list: Option<&DeArray<'_>> = None;
    for key in place {
        let value = match (table, list) {
            (Some(table), _) => table.iter().find(|(name, _)| name.get_ref() == key).map(|(name, value)| {
                byte = name.span().start;
                value
            }),
            (None, Some(list)) => {
                key.parse().ok().and_then(|index: usize| list.get(index)).inspect(|value| {
                    byte = value.span().start;
                })
            }
            (None, None) => None,
        };
        let Some(value) = value else { break };
        (table, list) = match value.get_ref() {
            DeValue::Table(inner) => (Some(inner), None),
            DeValue::Array(inner) => (None, Some(inner)),
            _ => (None, None),
        };
    }
    line_at(text, byte)
}
