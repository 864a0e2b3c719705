//! The error type of the library: variants by the possible reaction of the user.

use std::path::{Path, PathBuf};

use crate::advice::Advice;
use crate::messages::{escaped, printable};

/// Error formatted for one line on standard error: the object first, then the reason.
///
/// Texts of files, engines or users in the reason are made [printable](crate::printable()).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system failed to read or write a file: fix the path, rights or disk.
    #[error("{}: {}", place(path), printable(&source.to_string()))]
    Io {
        /// The file or folder that was read or written.
        path: PathBuf,
        /// The system error.
        source: std::io::Error,
    },
    /// An input file has unusable contents: fix the file.
    #[error("{}{}: {}", place(path), line.map(|n| format!(":{n}")).unwrap_or_default(), printable(reason))]
    Input {
        /// The file.
        path: PathBuf,
        /// The 1-based line, if the file has lines.
        line: Option<u64>,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// The request contradicts itself or the data: call again with a valid one. Exit code 2.
    #[error("{}", printable(.0))]
    Usage(String),
    /// A setting has an invalid value: call again with another. Exit code 2.
    #[error("{}{}: {}", printable(setting), value.iter().map(|v| format!(" {}", printable(v))).collect::<String>(), printable(reason))]
    Setting {
        /// Name of the setting, words joined by hyphens: `draw-plies`.
        setting: &'static str,
        /// Its value, if it can be shown.
        value: Option<String>,
        /// Reason why the value is invalid.
        reason: String,
    },
    /// The output exists, and replacing it was not allowed. Exit code 2.
    #[error("{}: exists", place(.0))]
    Exists(PathBuf),
    /// A folder is being written by another process, and has one writer at a time: wait, or write elsewhere.
    #[error("{}: is being written by {}", place(folder), writer(*process))]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The id of the writing process, if known.
        process: Option<u32>,
    },
    /// An error with a hint on how to fix it, mostly by other settings.
    #[error("{error}{}{}", advice.joint(), printable(&advice.to_string()))]
    Advised {
        /// The error itself.
        error: Box<Error>,
        /// The hint.
        advice: Advice,
    },
    /// A GPU is missing, lost, or too small, or rejected a shader.
    #[error("GPU: {}", printable(.0))]
    Gpu(String),
    /// A result is not finite, or a linear system could not be solved.
    #[error("{}", printable(.0))]
    Numeric(String),
    /// Another program that plays as an engine fails: fix its command.
    #[error("{}: {}", printable(engine), printable(reason))]
    Engine {
        /// The command line that starts it.
        engine: String,
        /// The failure.
        reason: String,
    },
    /// Another process of the same run failed, on its own machine.
    #[error("rank {rank}: {}", printable(reason))]
    Rank {
        /// Its number.
        rank: usize,
        /// The failure in that process.
        reason: String,
    },
    /// The work was stopped before its end, by a signal or by the program. Results worth keeping are in its folder, if
    /// it has one.
    #[error("interrupted: {}", printable(.0))]
    Interrupted(String),
}

/// Returns the absolute path, so that the reader can find it.
fn place(path: &Path) -> String {
    escaped(&path.display().to_string()).into_owned()
}

/// Describes the writer of a busy folder.
fn writer(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => "this process already".to_string(),
        Some(process) => format!("another gputexel (process {process})"),
        None => "another gputexel".to_string(),
    }
}

/// Shorthand for results of this library.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns an I/O error about `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// Returns an error about a file as a whole.
    pub fn input(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Input { path: path.as_ref().to_path_buf(), line: None, reason: reason.into() }
    }

    /// Returns an error about a line of a file, counted from 1.
    pub fn line(path: impl AsRef<Path>, line: u64, reason: impl Into<String>) -> Self {
        Self::Input { path: path.as_ref().to_path_buf(), line: Some(line), reason: reason.into() }
    }

    /// Returns an error about a file whose JSON is not the expected `what`, at the line of the fault.
    pub fn json(path: impl AsRef<Path>, what: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The line precedes the reason.
        let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let column = if column > 0 { format!(" (column {column})") } else { String::new() };
        Self::line(path, line.max(1) as u64, format!("not {what}: {reason}{column}"))
    }

    /// Returns an error about a setting with an invalid value.
    pub fn setting(setting: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Setting { setting, value: Some(value.to_string()), reason: reason.into() }
    }

    /// Returns the same error with a hint.
    #[must_use]
    pub fn advise(self, advice: impl Into<Advice>) -> Self {
        Self::Advised { error: Box::new(self), advice: advice.into() }
    }

    /// Returns the hint of the error, if there is one.
    pub fn advice(&self) -> Option<&Advice> {
        match self {
            Self::Advised { advice, .. } => Some(advice),
            _ => None,
        }
    }

    /// Returns the error without its hint.
    #[must_use]
    pub fn without_advice(self) -> Self {
        match self {
            Self::Advised { error, .. } => error.without_advice(),
            other => other,
        }
    }

    /// Returns an error about a file or folder that was removed, moved or replaced while it was being written.
    pub fn lost(path: impl AsRef<Path>) -> Self {
        Self::input(path, "was removed, moved or replaced while it was being written")
    }

    /// Returns the exit code of the command line for this error: 2 for bad usage, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Setting { .. } | Self::Exists(_) => 2,
            Self::Advised { error, .. } => error.exit_code(),
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_json_are_told_once() {
        let told = |text: &str| {
            let error = serde_json::from_str::<[f64; 1]>(text).unwrap_err();
            Error::json("s.json", "a schema", &error).to_string()
        };
        assert_eq!(told("[\n\n  1,]"), "s.json:3: not a schema: trailing comma (column 5)");
        assert_eq!(told("[1\n"), "s.json:2: not a schema: EOF while parsing a list");
        assert!(!told("[\"x\"]").contains("at line"), "{}", told("[\"x\"]"));
    }

    #[test]
    fn advice_stands_behind_the_error() {
        let error = Error::Usage("exists".into())
            .advise(Advice::default().setting("force", "").text(" overwrites it"));
        assert_eq!((error.to_string(), error.exit_code()), ("exists; `force` overwrites it".to_string(), 2));
        assert_eq!(error.without_advice().to_string(), "exists");
        let error =
            Error::line("a.c", 3, "is odd").advise(Advice::behind(", or use ").setting("style", "snake"));
        assert_eq!(error.to_string(), "a.c:3: is odd, or use `style=snake`");
    }
}
