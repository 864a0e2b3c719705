//! How an engine is started and set up.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use gputexel_io::processes::Call;
use gputexel_io::{Error, Result};

/// The value of one of an engine's options, written `Hash=16`; `Clear Hash=` for a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option's name, in any case.
    pub name: String,
    /// What it is set to, as UCI writes it.
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

/// A program that speaks UCI, with what it is told at every start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineCommand {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: PathBuf,
    /// Its arguments. No shell sees them.
    pub arguments: Vec<String>,
    /// Its name in reports; `None` takes the name that it gives itself.
    pub name: Option<String>,
    /// Options set before the first game, in this order.
    pub settings: Vec<Setting>,
    /// Time to answer `uci`, and again to become ready before each game.
    pub start_deadline: Duration,
}

impl EngineCommand {
    /// A program without arguments and settings, and 10 s to become ready.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            name: None,
            settings: Vec::new(),
            start_deadline: Duration::from_secs(10),
        }
    }

    /// Makes a program that is named by a path the same in every folder; one that is looked for in
    /// `PATH` stays as it is.
    pub fn make_absolute(&mut self) {
        if self.program.components().count() > 1
            && let Ok(program) = std::path::absolute(&self.program)
        {
            self.program = program;
        }
    }

    /// How its process is started.
    pub(super) fn call(&self) -> Call<'_> {
        Call { program: &self.program, arguments: &self.arguments, start_deadline: self.start_deadline }
    }

    /// The name of the program's file without its extension.
    pub(super) fn stem(&self) -> String {
        self.program.file_stem().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }
}

impl EngineCommand {
    /// Program and arguments as one line, quoted so that it is read back as the same.
    ///
    /// # Errors
    /// [`Error::Usage`] for what no quotes can hold.
    pub fn to_command_line(&self) -> Result<String> {
        let program = self.program.display().to_string();
        let words = std::iter::once(program.as_str()).chain(self.arguments.iter().map(String::as_str));
        shlex::try_join(words).map_err(|e| Error::Usage(format!("engine '{self}': {e}")))
    }
}

/// The file of a program as the system finds it: at its path, or by its name in `PATH`. `None` where
/// there is none that may be executed.
pub fn find_program(program: &Path) -> Option<PathBuf> {
    which::which(program).ok()
}

/// A command line with the quotes of a POSIX shell, such as `'my engine' --threads 1`.
impl FromStr for EngineCommand {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let words = shlex::split(text)
            .ok_or_else(|| Error::Usage(format!("engine '{text}': a quote is not closed")))?;
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
