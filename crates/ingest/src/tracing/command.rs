//! Command that traces positions, as a user writes it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gputexel_io::processes::split_command;
use gputexel_io::{Error, Result};

/// Default time without activity after which a command counts as hung.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

const MAX_DEADLINE_S: f64 = 1e6;

/// Command that reads positions and prints a line of a trace for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceCommand {
    text: String,
    program: String,
    arguments: Vec<String>,
    deadline: Duration,
}

impl TraceCommand {
    /// Parses a command line with the quotes of a POSIX shell, such as `'my engine' trace`. No shell
    /// runs it.
    pub fn try_new(text: &str, deadline: f64) -> Result<Self> {
        let usage = |reason: &str| Error::Usage(format!("trace command '{text}': {reason}"));
        let mut words = split_command(text).map_err(|reason| usage(&reason))?.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        let program = program.ok_or_else(|| usage("no program is named"))?;
        if !(deadline > 0.0 && deadline <= MAX_DEADLINE_S) {
            return Err(Error::setting(
                "trace-deadline",
                deadline,
                "must be from above 0 to 1000000 seconds",
            ));
        }
        let deadline = Duration::from_secs_f64(deadline);
        Ok(Self { text: text.to_string(), program, arguments: words.collect(), deadline })
    }

    /// Returns the command that runs a program without arguments.
    pub fn of_program(path: &Path) -> Self {
        let program =
            if path.components().count() == 1 { Path::new(".").join(path) } else { path.to_path_buf() };
        let program = program.to_string_lossy().into_owned();
        Self { text: program.clone(), program, arguments: Vec::new(), deadline: DEFAULT_DEADLINE }
    }

    /// Returns the time for which it may neither read nor write.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(super) fn fails(&self, what: &str) -> Error {
        Error::Usage(format!("trace command '{self}': {what}"))
    }

    /// Returns the folder of its program, if it is there or in `PATH`.
    pub fn folder(&self) -> Option<PathBuf> {
        which::which(&self.program).ok()?.parent().map(Path::to_path_buf)
    }

    pub(super) fn program(&self) -> PathBuf {
        PathBuf::from(&self.program)
    }

    pub(super) fn arguments(&self, schema: Option<&Path>) -> Vec<String> {
        let asked = schema.map(|path| ["--schema".to_string(), path.display().to_string()]);
        self.arguments.iter().cloned().chain(asked.into_iter().flatten()).collect()
    }
}

impl fmt::Display for TraceCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let command = TraceCommand::try_new("'my engine' trace --depth=3 ''", 60.0).unwrap();
        assert_eq!(command.program(), Path::new("my engine"));
        assert_eq!(command.arguments(None), ["trace", "--depth=3", ""]);
        assert_eq!(command.arguments(Some(Path::new("/tmp/a b")))[3..], ["--schema", "/tmp/a b"]);
        assert_eq!(command.to_string(), "'my engine' trace --depth=3 ''");
        for (text, reason) in [("", "no program"), ("''", "no program"), ("engine 'a", "not closed")] {
            let error = TraceCommand::try_new(text, 60.0).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        for deadline in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(TraceCommand::try_new("engine", deadline).is_err());
        }
    }
}
