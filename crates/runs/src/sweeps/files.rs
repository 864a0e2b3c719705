use std::path::Path;

use gputexel_io::{Error, Result, write_atomically};
use gputexel_tune::ScaleCurve;

pub fn write_csv(path: &Path, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::io(path, std::io::Error::other(e));
    for row in rows {
        writer.write_record(&row).map_err(fail)?;
    }
    let bytes = writer.into_inner().map_err(|e| Error::io(path, std::io::Error::other(e.to_string())))?;
    write_atomically(path, &bytes)
}

/// Writes the loss as a function of K, with K in base 10 and base e.
pub fn write_scale_csv(path: &Path, curve: &ScaleCurve) -> Result<()> {
    let rows = curve
        .points
        .iter()
        .map(|(k, loss)| vec![k.to_string(), (k * std::f64::consts::LN_10).to_string(), loss.to_string()]);
    let header = ["k", "k_e", "loss"].map(str::to_string).to_vec();
    write_csv(path, std::iter::once(header).chain(rows))
}
