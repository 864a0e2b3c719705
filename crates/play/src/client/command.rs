use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use gputexel_io::processes::{Call, split_command};
use gputexel_io::{Error, Result};
use tempfile::TempPath;

/// Stands in a command for a file of values.
pub const PARAMETERS_WORD: &str = "{params}";

/// Written `Hash=16`; `Clear Hash=` for a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Case-insensitive.
    pub name: String,
    pub value: String,
}

impl FromStr for Setting {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok(Self { name: name.trim().to_string(), value: value.trim().to_string() })
            }
            _ => Err(Error::Usage(format!("'{text}': not of the form Option=value"))),
        }
    }
}

/// A file of values for a program that reads one.
pub fn values_text(values: &[Setting]) -> String {
    values.iter().map(|Setting { name, value }| format!("{name} {value}\n")).collect()
}

/// A program that speaks UCI, with the options set at every start, and the values that it reads then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCommand {
    /// A path, or a name that is looked up in `PATH`.
    pub program: PathBuf,
    /// Not interpreted by a shell.
    pub arguments: Vec<String>,
    pub name: Option<String>,
    pub settings: Vec<Setting>,
    /// In the file that [`PARAMETERS_WORD`] in the arguments stands for.
    pub values: Vec<Setting>,
    /// One in this many of the leaves that it shows is drawn, and by engines with the header shown; 0 draws none.
    pub leaves: u64,
    /// To answer `uci`, and again to become ready before each game.
    pub start_deadline: Duration,
}

impl EngineCommand {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            name: None,
            settings: Vec::new(),
            values: Vec::new(),
            leaves: 0,
            start_deadline: Duration::from_secs(30),
        }
    }

    /// Independent of the current folder, also in `env NAME=FILE PROGRAM`; names that are looked up in `PATH` stay.
    pub fn make_absolute(&mut self) {
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let is_path = |path: &Path| path.components().count() > 1;
        if is_path(&self.program) {
            self.program = whole(&self.program);
        }
        let Some(at) = self.behind_env() else { return };
        for word in &mut self.arguments[..at] {
            if let Some((name, file)) = word.split_once('=').filter(|(_, file)| Path::new(file).is_file()) {
                *word = format!("{name}={}", whole(Path::new(file)).display());
            }
        }
        let program = &mut self.arguments[at];
        if is_path(Path::new(program)) {
            *program = whole(Path::new(program)).display().to_string();
        }
    }

    pub fn engine(&self) -> &Path {
        self.behind_env().map_or(&self.program, |at| Path::new(&self.arguments[at]))
    }

    /// Index among the arguments of the program that `env` starts.
    fn behind_env(&self) -> Option<usize> {
        let at = self.arguments.iter().position(|word| !word.contains('='))?;
        (self.program.file_name()? == "env" && !self.arguments[at].starts_with('-')).then_some(at)
    }

    /// Reads a file of values, so that other values need a restart.
    pub fn reads_values(&self) -> bool {
        self.arguments.iter().any(|argument| argument.contains(PARAMETERS_WORD))
    }

    /// The [file of values](values_text), if any, is removed when it is dropped.
    pub(super) fn arguments_of_process(&self) -> io::Result<(Vec<String>, Option<TempPath>)> {
        if !self.reads_values() {
            return Ok((self.arguments.clone(), None));
        }
        let mut file = tempfile::Builder::new().prefix("gputexel-").suffix(".txt").tempfile()?;
        file.write_all(values_text(&self.values).as_bytes())?;
        let path = file.into_temp_path();
        let name = path.display().to_string();
        let arguments = self.arguments.iter().map(|argument| argument.replace(PARAMETERS_WORD, &name));
        Ok((arguments.collect(), Some(path)))
    }

    pub(super) fn call<'a>(&'a self, arguments: &'a [String]) -> Call<'a> {
        let environment = (self.leaves > 0).then_some(("GPUTEXEL_LEAVES", self.leaves));
        Call { program: &self.program, arguments, environment }
    }

    pub(super) fn stem(&self) -> String {
        self.program.file_stem().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }

    /// Quoted so that parsing restores it.
    pub fn to_command_line(&self) -> Result<String> {
        let program = self.program.display().to_string();
        let words = std::iter::once(program.as_str()).chain(self.arguments.iter().map(String::as_str));
        shlex::try_join(words).map_err(|e| Error::Usage(format!("engine '{self}': {e}")))
    }
}

/// As the system finds it: at its path, or by its name in `PATH`.
pub fn find_program(program: &Path) -> Option<PathBuf> {
    which::which(program).ok()
}

/// With the quotes of a POSIX shell, such as `'my engine' --threads 1`.
impl FromStr for EngineCommand {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let words =
            split_command(text).map_err(|reason| Error::Usage(format!("engine '{text}': {reason}")))?;
        let mut words = words.into_iter();
        match words.next() {
            Some(program) if !program.is_empty() => {
                Ok(Self { arguments: words.collect(), ..Self::new(program) })
            }
            _ => Err(Error::Usage(format!("engine '{text}': no program is named"))),
        }
    }
}

impl fmt::Display for EngineCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program.display())?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn paths_behind_env_do_not_depend_on_the_folder() {
        let whole = |text: &str| {
            let mut command: EngineCommand = text.parse().unwrap();
            command.make_absolute();
            (command.to_string(), command.engine().display().to_string())
        };
        let here = std::env::current_dir().unwrap().display().to_string();
        // `Cargo.toml` is a file of this crate, which tests run in.
        assert_eq!(
            whole("env VALUES=Cargo.toml LEVEL=3 P={params} bin/engine ./eval"),
            (
                format!("env VALUES={here}/Cargo.toml LEVEL=3 P={{params}} {here}/bin/engine ./eval"),
                format!("{here}/bin/engine")
            )
        );
        assert_eq!(whole("bin/engine A=Cargo.toml x/y").0, format!("{here}/bin/engine A=Cargo.toml x/y"));
        for text in ["env A=1 engine", "env -i bin/engine", "env", "engine x/y"] {
            assert_eq!(whole(text).0, text);
        }
        assert_eq!(whole("env A=1 engine").1, "engine");
    }
}
