//! Lists of parameters from one program to another.

use std::path::Path;

use super::filling::{FillingError, FillingPlan, fill};
use super::{List, ListFormat, ListOptions, Setting, Written, missing, read_values, write_list};
use gputexel_io::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    pub list: List,
    pub text: String,
    /// weather-factory's second file, see [`Written::gains`].
    pub gains: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// The new format needs a setting that the list does not have.
    #[error("{parameter}: format {format} requires {}, which the input lacks", setting.name())]
    Missing { parameter: String, format: ListFormat, setting: Setting },
    #[error(transparent)]
    Filling(FillingError),
    #[error(transparent)]
    Other(#[from] Error),
}

/// Turns a list into another format: parameters start from the values in the file `values`, if there is one,
/// and with a `plan` settings are planned that the new format needs and the list does not have.
pub fn convert(
    mut list: List,
    format: ListFormat,
    options: ListOptions,
    values: Option<&Path>,
    plan: Option<&FillingPlan>,
) -> Result<Converted, ConversionError> {
    let mut notes = std::mem::take(&mut list.notes);
    if let Some(path) = values {
        let kept = read_values(path, &mut list.entries)?;
        if !kept.is_empty() {
            notes.push(format!("{} has no value for {}", path.display(), kept.join(", ")));
        }
    }
    if let Some(plan) = plan {
        notes.extend(fill(&mut list.entries, format, plan).map_err(|error| match error {
            FillingError::Other(error) => ConversionError::Other(error),
            unknown => ConversionError::Filling(unknown),
        })?);
    } else if let Some((entry, setting)) = missing(&list.entries, format) {
        return Err(ConversionError::Missing { parameter: entry.name.clone(), format, setting });
    }
    let Written { text, gains, notes: more } = write_list(&list.entries, format, options)?;
    notes.extend(more);
    Ok(Converted { list, text, gains, notes })
}
