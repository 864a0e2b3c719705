//! Writing the new texts: all files or none.

use super::{Rewrite, TablesPlan};
use crate::error::{Error, Result};
use crate::files::write_atomically;

/// Writes the files of a plan. If one cannot be written, those before it get their old text back.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] for a file that was changed since it was read.
pub fn write(plan: &TablesPlan) -> Result<()> {
    for rewrite in &plan.rewrites {
        let now = std::fs::read(&rewrite.path).map_err(|e| Error::io(&rewrite.shown, e))?;
        if now != rewrite.before {
            return Err(Error::input(&rewrite.shown, "was changed by another program just now"));
        }
    }
    for (i, rewrite) in plan.rewrites.iter().enumerate() {
        if let Err(error) = replace(rewrite, &rewrite.after) {
            for written in &plan.rewrites[..i] {
                replace(written, &written.before)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

/// Replaces a file, keeping its rights.
fn replace(rewrite: &Rewrite, bytes: &[u8]) -> Result<()> {
    let error = |e| Error::io(&rewrite.shown, e);
    let permissions = std::fs::metadata(&rewrite.path).map_err(error)?.permissions();
    write_atomically(&rewrite.path, bytes)?;
    std::fs::set_permissions(&rewrite.path, permissions).map_err(error)
}
