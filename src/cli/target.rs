//! Files to write, as they are named by flags: what `-` means for them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use gputexel::{Error, Result};

const STDOUT: &str = "-";

/// The file that a flag names whose default is standard output; `-` says so, too.
pub fn or_stdout(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| *path != Path::new(STDOUT))
}

/// Refuses flags that say what becomes of a file that exists, each with whether it was given, where there is none
/// because [`or_stdout`] says that standard output is meant.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_file_flags(output: &Option<PathBuf>, flags: &[(&str, bool)]) -> Result<()> {
    match flags.iter().find(|(_, given)| *given && or_stdout(output).is_none()) {
        Some((flag, _)) => {
            Err(Error::Usage(format!("{flag} needs a file to write to, and this goes to standard output")))
        }
        None => Ok(()),
    }
}

/// Returns true if `-` was given.
pub fn is_stdout(output: &Path) -> bool {
    output == Path::new(STDOUT)
}

/// Reads the name of what cannot go to standard output, so that `-` makes no file of that name.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name: OsString| match name == STDOUT {
        true => Err("this cannot be written to standard output; ./- would be a file of that name"),
        false => Ok(PathBuf::from(name)),
    })
}
