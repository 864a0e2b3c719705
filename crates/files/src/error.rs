//! The library's one error type: variants by what the user can do about it.

use std::any::Any;
use std::path::{Path, PathBuf};

use crate::advice::Advice;
use crate::messages::{escaped, printable};

/// What went wrong, worded for one line on standard error: the thing first, then the reason.
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
        /// What it was set to, where that can be shown.
        value: Option<String>,
        /// What is wrong with it.
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
    /// A refusal that other settings would mend.
    #[error("{error}; {}", printable(&advice.to_string()))]
    Advised {
        /// What went wrong.
        error: Box<Error>,
        /// Which settings would mend it.
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
        /// What it failed to do.
        reason: String,
    },
    /// Another process of the same run fails: what it says is about its machine.
    #[error("rank {rank}: {}", printable(reason))]
    Rank {
        /// Its number.
        rank: usize,
        /// What is wrong.
        reason: String,
    },
    /// The work was stopped before its end, by a signal or by the program. What is worth keeping of it is in its
    /// folder, if it has one.
    #[error("interrupted: {}", printable(.0))]
    Interrupted(String),
    /// Another error that its caller can mend by asking differently; see [`Error::remedy`].
    #[error("{error}")]
    Mendable {
        /// What went wrong.
        error: Box<Error>,
        /// What would mend it.
        remedy: Box<dyn Remedy>,
    },
}

/// What would mend an error, in terms of the part of the library that raised it: a type of that part, by
/// which programs offer their users a way out without reading messages.
pub trait Remedy: Any + std::fmt::Debug + Send + Sync {}

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

    /// The same error, with the settings that would mend it.
    #[must_use]
    pub fn advise(self, advice: Advice) -> Self {
        Self::Advised { error: Box::new(self), advice }
    }

    /// A file or folder that was removed, moved or replaced while it was being written.
    pub fn lost(path: impl AsRef<Path>) -> Self {
        Self::input(path, "was removed, moved or replaced while it was being written")
    }

    /// The exit code that the command line gives for this error: 2 for bad usage, else 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Setting { .. } | Self::Exists(_) => 2,
            Self::Advised { error, .. } | Self::Mendable { error, .. } => error.exit_code(),
            _ => 1,
        }
    }

    /// The error with what would mend it.
    #[must_use]
    pub fn mended_by(self, remedy: impl Remedy) -> Self {
        Self::Mendable { error: Box::new(self), remedy: Box::new(remedy) }
    }

    /// What would mend the error, if it is one of a part of the library with remedies of type `R`.
    pub fn remedy<R: Remedy>(&self) -> Option<&R> {
        match self {
            Self::Mendable { remedy, .. } => (remedy.as_ref() as &dyn Any).downcast_ref(),
            _ => None,
        }
    }

    /// The error with a hint at the end of its reason, such as the flag that mends it.
    #[must_use]
    pub fn with_hint(self, hint: &str) -> Self {
        match self {
            Self::Mendable { error, .. } => error.with_hint(hint),
            Self::Input { path, line, reason } => Self::Input { path, line, reason: reason + hint },
            Self::Usage(reason) => Self::Usage(reason + hint),
            Self::Gpu(reason) => Self::Gpu(reason + hint),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Force;
    impl Remedy for Force {}

    #[derive(Debug, PartialEq)]
    struct Other;
    impl Remedy for Other {}

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
    fn remedies_are_found_by_their_type() {
        let error = Error::Usage("exists".into()).mended_by(Force);
        assert_eq!((error.remedy::<Force>(), error.remedy::<Other>()), (Some(&Force), None));
        assert_eq!((error.to_string(), error.exit_code()), ("exists".to_string(), 2));
        let error = error.with_hint("; --force overwrites it");
        assert_eq!((error.to_string(), error.exit_code()), ("exists; --force overwrites it".to_string(), 2));
        assert!(error.remedy::<Force>().is_none());
        let error = Error::line("a.c", 3, "is odd").mended_by(Other).with_hint("; try again");
        assert_eq!(error.to_string(), "a.c:3: is odd; try again");
    }
}
