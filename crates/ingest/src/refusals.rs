//! Refusals that extractions and imports share.

use gputexel_dataset::{DatasetWriter, SourceRecord};
use gputexel_files::{Error, Result};

/// Refuses more positions than a dataset can number.
pub(crate) fn check_room(writer: &DatasetWriter) -> Result<()> {
    if writer.len() > u32::MAX as usize - 1 {
        return Err(Error::Usage("more positions than one dataset can hold; write several".to_string()));
    }
    Ok(())
}

/// What is said of an input too many of whose lines cannot be used: `commonest` is the reason of
/// most of them, with their number, `share` theirs of all lines and `limit` the one allowed.
pub(crate) fn too_many_bad_lines(
    record: &SourceRecord,
    bad_lines: u64,
    (share, limit): (f64, f64),
    commonest: Option<(&str, u64)>,
    first: Option<&String>,
) -> Error {
    let commonest =
        commonest.map_or(String::new(), |(label, count)| format!(", most of them {label} ({count})"));
    let first = first.map_or(String::new(), |first| format!("; the first: {first}"));
    Error::input(
        &record.path,
        format!(
            "{bad_lines} of {} lines cannot be used ({:.1} %, the limit is {:.1} %){commonest}{first}",
            record.records,
            100.0 * share,
            100.0 * limit
        ),
    )
}
