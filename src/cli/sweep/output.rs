//! Files that `sweep` writes, and checks that they can be written before any work is done.

use std::path::Path;

use gputexel::{Error, Result, write_atomically};

/// Refuses a file whose folder does not exist.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_target(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match folder.is_dir() && !path.is_dir() {
        true => Ok(()),
        false => {
            Err(Error::Usage(format!("{}: cannot be written: no such folder, or one itself", path.display())))
        }
    }
}

/// Writes rows as CSV.
///
/// # Errors
/// [`Error::Io`].
pub fn write_csv(path: &Path, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::io(path, std::io::Error::other(e));
    for row in rows {
        writer.write_record(&row).map_err(fail)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?;
    write_atomically(path, &bytes)
}
