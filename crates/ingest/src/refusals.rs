//! Errors common to extractions and imports.

use gputexel_dataset::{DatasetWriter, SourceRecord};
use gputexel_io::{Error, Result};

/// Rejects more positions than a dataset can hold.
pub(crate) fn check_room(writer: &DatasetWriter) -> Result<()> {
    if writer.len() > u32::MAX as usize - 1 {
        return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
    }
    Ok(())
}

/// Returns the error for an input with too many unusable lines: `commonest` is the most frequent reason, with
/// its count, `unit` the unit of the input, `share` the share of unusable lines and `limit` the maximum
/// allowed.
pub(crate) fn too_many_bad_lines(
    (record, unit): (&SourceRecord, &str),
    bad_lines: u64,
    (share, limit): (f64, f64),
    commonest: Option<(&str, u64)>,
    first: Option<&String>,
) -> Error {
    let commonest =
        commonest.map_or(String::new(), |(label, count)| format!(", most of them {label} ({count})"));
    let first = first.map_or(String::new(), |first| format!("; the first of them: {first}"));
    Error::input(
        &record.path,
        format!(
            "{bad_lines} of {} {unit} cannot be used ({:.1} %, the limit is {:.1} %){commonest}{first}",
            record.records,
            100.0 * share,
            100.0 * limit
        ),
    )
}
