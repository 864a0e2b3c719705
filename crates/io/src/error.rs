//! The library's one error type: variants by what the user can do about it.

use std::path::{Path, PathBuf};

use crate::advice::Advice;
use crate::messages::{escaped, printable};

/// Error worded for one line on standard error: the thing first, then the reason.
///
/// Whatever files, engines or users put into the reason, it is [printable](crate::printable()).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read or write a file: mend the path, rights or disk.
    #[error("{}: {}", place(path), printable(&source.to_string()))]
    Io {
        /// The file or folder that was being read or written.
        path: PathBuf,
        /// The refusal itself.
        source: std::io::Error,
    },
    /// An input file says something that cannot be used: mend the file.
    #[error("{}{}: {}", place(path), line.map(|n| format!(":{n}")).unwrap_or_default(), printable(reason))]
    Input {
        /// The offending file.
        path: PathBuf,
        /// The 1-based line, where the file has lines.
        line: Option<u64>,
        /// Why it cannot be used.
        reason: String,
    },
    /// The request contradicts itself or the data: call again, corrected. Exit code 2.
    #[error("{}", printable(.0))]
    Usage(String),
    /// A setting has a value that makes no sense: call again with another. Exit code 2.
    #[error("{}{}: {}", printable(setting), value.iter().map(|v| format!(" {}", printable(v))).collect::<String>(), printable(reason))]
    Setting {
        /// The setting's name, in words joined by hyphens: `draw-plies`.
        setting: &'static str,
        /// Its value, where that can be shown.
        value: Option<String>,
        /// Why the value makes no sense.
        reason: String,
    },
    /// The output is there already, and replacing it was not allowed. Exit code 2.
    #[error("{}: exists", place(.0))]
    Exists(PathBuf),
    /// A folder is being written, and has one writer at a time: wait, or write elsewhere.
    #[error("{}: is being written by {}", place(folder), writer(*process))]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// Who writes there, where that is known.
        process: Option<u32>,
    },
    /// An error with a hint on what would mend it, mostly other settings.
    #[error("{error}{}{}", advice.joint(), printable(&advice.to_string()))]
    Advised {
        /// The error itself.
        error: Box<Error>,
        /// The way out.
        advice: Advice,
    },
    /// A GPU that is missing, lost, too small, or that rejected a shader.
    #[error("GPU: {}", printable(.0))]
    Gpu(String),
    /// The arithmetic left the finite numbers or a linear system could not be solved.
    #[error("{}", printable(.0))]
    Numeric(String),
    /// Another program that plays as an engine does not do its part: mend its command.
    #[error("{}: {}", printable(engine), printable(reason))]
    Engine {
        /// The command line by which it is started.
        engine: String,
        /// The failure.
        reason: String,
    },
    /// Another process of the same run fails: what it says is about its machine.
    #[error("rank {rank}: {}", printable(reason))]
    Rank {
        /// Its number.
        rank: usize,
        /// The failure of that process.
        reason: String,
    },
    /// The work was stopped before its end, by a signal or by the program. What is worth keeping of it is in its
    /// folder, if it has one.
    #[error("interrupted: {}", printable(.0))]
    Interrupted(String),
}

/// A path in full: whoever reads of it is to find it.
fn place(path: &Path) -> String {
    escaped(&path.display().to_string()).into_owned()
}

/// Who writes to a folder that is busy.
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
    /// An I/O refusal about `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// An unusable file as a whole.
    pub fn input(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Input { path: path.as_ref().to_path_buf(), line: None, reason: reason.into() }
    }

    /// An unusable line of a file, counted from 1.
    pub fn line(path: impl AsRef<Path>, line: u64, reason: impl Into<String>) -> Self {
        Self::Input { path: path.as_ref().to_path_buf(), line: Some(line), reason: reason.into() }
    }

    /// A file whose JSON is not `what` it should be, at the line where that shows.
    pub fn json(path: impl AsRef<Path>, what: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The line stands before the reason.
        let reason = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        let column = if column > 0 { format!(" (column {column})") } else { String::new() };
        Self::line(path, line.max(1) as u64, format!("not {what}: {reason}{column}"))
    }

    /// A setting with a value that makes no sense.
    pub fn setting(setting: &'static str, value: impl ToString, reason: impl Into<String>) -> Self {
        Self::Setting { setting, value: Some(value.to_string()), reason: reason.into() }
    }

    /// The same error, with a way out.
    #[must_use]
    pub fn advise(self, advice: impl Into<Advice>) -> Self {
        Self::Advised { error: Box::new(self), advice: advice.into() }
    }

    /// The way out of the error, where one is known.
    pub fn advice(&self) -> Option<&Advice> {
        match self {
            Self::Advised { advice, .. } => Some(advice),
            _ => None,
        }
    }

    /// The error without its advice.
    #[must_use]
    pub fn without_advice(self) -> Self {
        match self {
            Self::Advised { error, .. } => error.without_advice(),
            other => other,
        }
    }

    /// A file or folder that was removed, moved or replaced while it was being written.
    pub fn lost(path: impl AsRef<Path>) -> Self {
        Self::input(path, "was removed, moved or replaced while it was being written")
    }

    /// The exit code that the command line gives for this error: 2 for bad usage, else 1.
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
