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
    #[error("{}: {}", place(path), printable(&source.to_string()))]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}{}: {}", place(path), line.map(|n| format!(":{n}")).unwrap_or_default(), printable(reason))]
    Input { path: PathBuf, line: Option<u64>, reason: String },
    /// The request contradicts itself or the data: call again with a valid one. Exit code 2.
    #[error("{}", printable(.0))]
    Usage(String),
    #[error("{}{}: {}", printable(setting), value.iter().map(|v| format!(" {}", printable(v))).collect::<String>(), printable(reason))]
    Setting {
        /// Name of the setting, words joined by hyphens: `draw-plies`.
        setting: &'static str,
        value: Option<String>,
        reason: String,
    },
    #[error("{}: exists", place(.0))]
    Exists(PathBuf),
    /// A folder is being written by another process, and has one writer at a time: wait, or write elsewhere.
    #[error("{}: is being written by {}", place(folder), writer(*process))]
    Busy { folder: PathBuf, process: Option<u32> },
    #[error("{error}{}{}", advice.joint(), printable(&advice.to_string()))]
    Advised { error: Box<Error>, advice: Advice },
    #[error("GPU: {}", printable(.0))]
    Gpu(String),
    #[error("{}", printable(.0))]
    Numeric(String),
    #[error("{}: {}", printable(engine), printable(reason))]
    Engine { engine: String, reason: String },
    #[error("rank {rank}: {}", printable(reason))]
    Rank { rank: usize, reason: String },
    /// The work was stopped before its end, by a signal or by the program.
    #[error("interrupted: {}", printable(.0))]
    Interrupted(String),
}

fn place(path: &Path) -> String {
    escaped(&path.display().to_string()).into_owned()
}

fn writer(process: Option<u32>) -> String {
    match process {
        Some(process) if process == std::process::id() => "this process already".to_string(),
        Some(process) => format!("another gputexel (process {process})"),
        None => "another gputexel".to_string(),
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

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

    pub fn setting(setting: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Setting { setting, value: Some(value.to_string()), reason: reason.into() }
    }

    #[must_use]
    pub fn advise(self, advice: impl Into<Advice>) -> Self {
        Self::Advised { error: Box::new(self), advice: advice.into() }
    }

    pub fn advice(&self) -> Option<&Advice> {
        match self {
            Self::Advised { advice, .. } => Some(advice),
            _ => None,
        }
    }

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
