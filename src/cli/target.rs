//! Output files named by flags, and the meaning of `-`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use gputexel::io::check_output;
use gputexel::{Error, Result};

const STDOUT: &str = "-";

/// Flags of commands that print what they make, or write it to a file.
#[derive(Debug, clap::Args)]
pub struct OutputArgs {
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

impl OutputArgs {
    /// Returns the file, unless output goes to standard output; checks that it can be written and is none of the
    /// inputs.
    pub fn file<P: AsRef<Path>>(&self, inputs: impl IntoIterator<Item = P>) -> Result<Option<&Path>> {
        let file = self.output.as_deref().filter(|_| !self.is_stdout());
        if self.force && file.is_none() {
            let reason = "--force needs a file to write to, and this goes to standard output";
            return Err(Error::Usage(reason.to_string()));
        }
        check_output(file, inputs, self.force)?;
        Ok(file)
    }

    /// Returns true if standard output is named as the file.
    pub fn is_stdout(&self) -> bool {
        self.output.as_deref().is_some_and(|file| file == Path::new(STDOUT))
    }
}

/// Parses the name of a file for output that cannot go to standard output, and refuses `-`.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name: OsString| match name == STDOUT {
        true => Err("this cannot be written to standard output; ./- would be a file of that name"),
        false => Ok(PathBuf::from(name)),
    })
}

/// Reads a share, which whoever uses it checks.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let advice = percent.map_or(String::new(), |number| format!(", such as {}", number / 100.0));
    text.parse().map_err(|_| format!("a share is a number from 0 to 1{advice}"))
}
