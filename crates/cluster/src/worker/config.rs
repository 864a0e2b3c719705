//! Engines that a worker offers, according to its own file: nothing else is ever run.

use std::collections::BTreeMap;
use std::path::Path;

use gputexel_io::{Error, Result};
use gputexel_play::client::{EngineCommand, EngineOption, OptionKind, Setting, UciPlayer};
use gputexel_play::cores;
use serde::Deserialize;

use crate::address::read_text;
use crate::fingerprint::fingerprint;

/// Maximum length of a worker's name, bytes.
const MAX_NAME: usize = 60;

/// Maximum number of games in parallel.
const MAX_CONCURRENCY: usize = 1024;

/// The configuration of a worker.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerConfig {
    /// Its name; that of the machine by default.
    pub name: Option<String>,
    /// Number of pairs in parallel; the number of cores by default.
    pub concurrency: Option<usize>,
    /// True if it also plays with the built-in engine [default: true].
    pub built_in: Option<bool>,
    /// Engines.
    #[serde(default, rename = "engine")]
    pub engines: Vec<OfferedEngine>,
}

/// An engine that a worker offers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedEngine {
    /// The program with its arguments; a relative path refers to the folder of the file.
    pub command: String,
    /// Options that this machine sets, such as paths. Options of a run override them.
    #[serde(default)]
    pub options: BTreeMap<String, OptionText>,
    /// Options with arbitrary text values that runs may set. Engines may use such texts as paths.
    #[serde(default)]
    pub text_options: Vec<String>,
}

/// The value of an option, as a word or a number.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum OptionText {
    /// `true`
    Flag(bool),
    /// `16`
    Integer(i64),
    /// `"/tables"`
    Text(String),
}

impl std::fmt::Display for OptionText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl WorkerConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Input`] naming the line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let mut config: Self = toml::from_str(&text).map_err(|error| {
            let line =
                error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count() as u64);
            Error::line(path, line.unwrap_or(1), error.message())
        })?;
        config.check().map_err(|error| Error::input(path, error.to_string()))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        for engine in &mut config.engines {
            let mut command: EngineCommand =
                engine.command.parse().map_err(|e: Error| Error::input(path, e.to_string()))?;
            if command.program.components().count() > 1 {
                command.program = folder.join(&command.program);
                command.make_absolute();
            }
            engine.command = command.to_command_line()?;
        }
        Ok(config)
    }

    /// Refuses invalid settings.
    ///
    /// # Errors
    /// [`Error::Setting`], named as the key; [`Error::Usage`] for no engines at all.
    pub fn check(&self) -> Result<()> {
        let bad = |name: &&str| name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control);
        if let Some(name) = self.name.as_deref().filter(bad) {
            let reason = format!("expected one line of 1 to {MAX_NAME} bytes");
            return Err(Error::setting("name", gputexel_io::shown(name), reason));
        }
        if let Some(games) = self.concurrency.filter(|games| !(1..=MAX_CONCURRENCY).contains(games)) {
            return Err(Error::setting("concurrency", games, format!("expected 1 to {MAX_CONCURRENCY}")));
        }
        if self.built_in == Some(false) && self.engines.is_empty() {
            let reason = "offers no engine: built_in is false, and there is no [[engine]]";
            return Err(Error::Usage(reason.to_string()));
        }
        Ok(())
    }

    /// Returns the name of the worker.
    pub(super) fn name(&self) -> String {
        let host = || sysinfo::System::host_name().ok().filter(|name| !name.is_empty());
        self.name.clone().or_else(host).unwrap_or_else(|| format!("process {}", std::process::id()))
    }

    /// Returns the number of pairs in parallel.
    pub(super) fn concurrency(&self) -> usize {
        self.concurrency.unwrap_or_else(cores)
    }
}

/// An engine that was tested.
pub(super) struct TriedEngine {
    /// Its command, with the options of this machine.
    pub command: EngineCommand,
    /// Its fingerprint.
    pub fingerprint: String,
    options: Vec<EngineOption>,
    text_options: Vec<String>,
}

impl TriedEngine {
    /// Starts an engine to test that it works and which options it has.
    ///
    /// # Errors
    /// Errors of starting it, and for options that it lacks.
    pub fn try_out(offered: &OfferedEngine) -> Result<Self> {
        let mut command: EngineCommand = offered.command.parse()?;
        let setting =
            |(name, value): (&String, &OptionText)| Setting { name: name.clone(), value: value.to_string() };
        command.settings = offered.options.iter().map(setting).collect();
        let fingerprint = fingerprint(&command)?;
        let player = UciPlayer::start(command.clone())?;
        let options = player.options().to_vec();
        let unknown = |name: &&String| !options.iter().any(|option| option.name.eq_ignore_ascii_case(name));
        if let Some(name) = offered.text_options.iter().find(unknown) {
            let reason = format!("text_options: the engine has no option '{name}'");
            return Err(Error::Engine { engine: command.to_string(), reason });
        }
        Ok(Self { command, fingerprint, options, text_options: offered.text_options.clone() })
    }

    /// Checks that a run may set an option: the engine has it, and its value cannot be used as a path unless this
    /// machine allows it.
    ///
    /// # Errors
    /// The reason why not.
    pub fn allows(&self, setting: &Setting) -> std::result::Result<(), String> {
        let name = gputexel_io::shown(&setting.name);
        let option = self.options.iter().find(|option| option.name.eq_ignore_ascii_case(&setting.name));
        match option.map(|option| &option.kind) {
            None => Err(format!("the engine has no option '{name}'")),
            Some(OptionKind::Button) => Err(format!("'{name}' is a button")),
            Some(OptionKind::String { .. }) => {
                match self.text_options.iter().any(|allowed| allowed.eq_ignore_ascii_case(&setting.name)) {
                    true => Ok(()),
                    false => Err(format!("'{name}' takes any text and is not in text_options")),
                }
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns the command with the options of a run, which come after those of this machine.
    pub fn with_options(&self, options: &[Setting]) -> EngineCommand {
        let mut command = self.command.clone();
        let is_set = |name: &str| options.iter().any(|option| option.name.eq_ignore_ascii_case(name));
        command.settings.retain(|setting| !is_set(&setting.name));
        command.settings.extend(options.iter().cloned());
        command
    }

    /// Returns the program, for messages.
    pub fn program(&self) -> String {
        self.command.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WorkerConfig> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker.toml");
        std::fs::write(&path, text).unwrap();
        WorkerConfig::read(&path)
    }

    #[test]
    fn files_are_read_and_refused_with_a_reason() {
        let config = read(
            "name = 'den'\nconcurrency = 3\n[[engine]]\ncommand = './bin/fish -x'\ntext_options = ['Style']\n\
             [engine.options]\nSyzygyPath = '/tables'\nHash = 8\nPonder = false\n",
        )
        .unwrap();
        assert_eq!((config.name(), config.concurrency()), ("den".to_string(), 3));
        let engine = &config.engines[0];
        assert!(engine.command.starts_with('/') || cfg!(windows), "{}", engine.command);
        assert!(engine.command.ends_with("fish -x"), "{}", engine.command);
        let values: Vec<String> = engine.options.values().map(ToString::to_string).collect();
        assert_eq!(values, ["8", "false", "/tables"]);
        assert!(read("").unwrap().engines.is_empty());
        for (text, reason) in [
            ("concurrency = 0", "concurrency 0: expected 1 to 1024"),
            ("name = \"a\\nb\"", "expected one line of 1 to 60 bytes"),
            ("built_in = false", "offers no engine"),
            ("\n\nengines = 1", "worker.toml:3: unknown field"),
            ("[[engine]]\ncommand = \"'x\"", "a quote is not closed"),
        ] {
            let found = read(text).unwrap_err().to_string();
            assert!(found.contains(reason), "{text}: {found}");
        }
    }

    #[test]
    fn runs_set_no_texts_unless_the_machine_allows_it() {
        let line = |text: &str| EngineOption::parse(text).unwrap();
        let engine = TriedEngine {
            command: EngineCommand {
                settings: vec![Setting { name: "Hash".into(), value: "8".into() }],
                ..EngineCommand::new("fish")
            },
            fingerprint: String::new(),
            options: vec![
                line("option name Hash type spin default 16 min 1 max 64"),
                line("option name Debug Log File type string default"),
                line("option name Style type string default 1.5"),
                line("option name Clear Hash type button"),
                line("option name Ponder type check default false"),
            ],
            text_options: vec!["style".to_string()],
        };
        let set = |name: &str| engine.allows(&Setting { name: name.into(), value: "1".into() });
        for allowed in ["hash", "Style", "Ponder"] {
            assert_eq!(set(allowed), Ok(()), "{allowed}");
        }
        for refused in ["Debug Log File", "debug log file", "Clear Hash", "Threads", ""] {
            assert!(set(refused).is_err(), "{refused}");
        }
        let command = engine.with_options(&[Setting { name: "HASH".into(), value: "4".into() }]);
        assert_eq!(command.settings, [Setting { name: "HASH".into(), value: "4".into() }]);
    }
}
