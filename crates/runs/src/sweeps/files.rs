use std::path::Path;

use gputexel_io::{Error, Result, write_atomically};

pub fn write_csv(path: &Path, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::io(path, std::io::Error::other(e));
    for row in rows {
        writer.write_record(&row).map_err(fail)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?;
    write_atomically(path, &bytes)
}
