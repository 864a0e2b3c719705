//! Output files named by flags, and the meaning of `-`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use gputexel::{Error, Result};

const STDOUT: &str = "-";

/// Returns the file of a flag whose default is standard output, which `-` also selects.
pub fn or_stdout(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| *path != Path::new(STDOUT))
}

/// Refuses flags about existing files (each with true if it was given) if the output is standard output, see
/// [`or_stdout`].
pub fn check_file_flags(output: &Option<PathBuf>, flags: &[(&str, bool)]) -> Result<()> {
    match flags.iter().find(|(_, given)| *given && or_stdout(output).is_none()) {
        Some((flag, _)) => {
            Err(Error::Usage(format!("{flag} needs a file to write to, and this goes to standard output")))
        }
        None => Ok(()),
    }
}

pub fn is_stdout(output: &Path) -> bool {
    output == Path::new(STDOUT)
}

/// Parses the name of a file for output that cannot go to standard output, and refuses `-`.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name: OsString| match name == STDOUT {
        true => Err("this cannot be written to standard output; ./- would be a file of that name"),
        false => Ok(PathBuf::from(name)),
    })
}
