//! Who plays: telling parameter files from commands, and making players of them.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use gputexel::matches::client::{EngineCommand, Setting, UciPlayer};
use gputexel::matches::{BuiltinPlayer, Player};
use gputexel::model::{ParameterFile, Prior, TableEvaluation, named_parameters};
use gputexel::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::super::games::same;
use super::config::{Config, EngineConfig, EngineKind};

/// What an argument of the command line stands for. `cmd:` marks commands; without it, programs
/// and command lines that begin with one are UCI engines, everything else is parameters.
///
/// # Errors
/// [`Error::Usage`] for options that cannot be read or have no engine.
pub fn describe(text: &str, name: Option<&str>, options: &[String], flag: &str) -> Result<EngineConfig> {
    let options = options
        .iter()
        .map(|option| match option.parse::<Setting>() {
            Ok(setting) => Ok((setting.name, setting.value)),
            Err(_) => Err(Error::Usage(format!("{flag} '{option}': expected NAME=VALUE"))),
        })
        .collect::<Result<Vec<_>>>()?;
    let command = match text.strip_prefix("cmd:") {
        Some(command) => Some(command),
        None => is_command(text).then_some(text),
    };
    let (kind, source, default_name) = match command {
        // Its own name is known when it runs.
        Some(command) => (EngineKind::Uci, absolute_command(command)?, String::new()),
        None if Prior::is_word(text) => (EngineKind::BuiltIn, text.to_string(), text.to_string()),
        None => {
            // The folder of a run stands for its parameters.
            let file = ParameterFile::locate(Path::new(text))?;
            let path = std::path::absolute(&file).unwrap_or(file);
            (EngineKind::BuiltIn, path.display().to_string(), stem(&path))
        }
    };
    if kind == EngineKind::BuiltIn && !options.is_empty() {
        return Err(Error::Usage(format!(
            "{flag}: '{text}' is played by the built-in engine; options only apply to UCI engines"
        )));
    }
    let name = name.map_or(default_name, str::to_string);
    Ok(EngineConfig { name, kind, source, checksum: None, options })
}

/// Gives engines with the same name different ones.
pub fn tell_apart(engines: &mut [EngineConfig; 2]) {
    if engines[0].name == engines[1].name {
        for (engine, letter) in engines.iter_mut().zip(["A", "B"]) {
            engine.name = format!("{} {letter}", engine.name);
        }
    }
}

/// The name of a file without folders and ending; `params` says little, its folder more.
fn stem(path: &Path) -> String {
    let stem =
        path.file_stem().map_or_else(|| path.display().to_string(), |s| s.to_string_lossy().into_owned());
    match path.parent().and_then(Path::file_name) {
        Some(folder) if stem == "params" => folder.to_string_lossy().into_owned(),
        _ => stem,
    }
}

/// A command line that means the same in another folder.
fn absolute_command(text: &str) -> Result<String> {
    // A path with blanks, not quoted.
    let quoted = if Path::new(text).is_file() { shlex::try_quote(text).ok() } else { None };
    let mut command: EngineCommand = quoted.as_deref().unwrap_or(text).parse()?;
    if command.program.components().count() > 1
        && let Ok(program) = std::path::absolute(&command.program)
    {
        command.program = program;
    }
    command.to_command_line()
}

/// Whether the text, or its first word, is a program.
fn is_command(text: &str) -> bool {
    if Prior::is_word(text) || Path::new(text).is_dir() {
        return false;
    }
    if Path::new(text).is_file() {
        return is_executable(Path::new(text));
    }
    let Some(program) = text.split_whitespace().next() else { return false };
    if program.contains(std::path::MAIN_SEPARATOR) {
        return is_executable(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        && path.extension().is_none_or(|extension| extension != "json")
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

/// An engine with what it needs to be made many times.
pub enum Contestant {
    BuiltIn { evaluation: Box<TableEvaluation>, hash_mib: usize, stop: &'static AtomicBool },
    Uci(EngineCommand, &'static AtomicBool),
}

impl Contestant {
    /// Reads parameters, or starts an engine to see that it works and learn its name; notes the
    /// checksum of a file, or refuses one that has changed.
    ///
    /// # Errors
    /// Those of reading parameters and of starting engines, and [`Error::Input`] for a changed file.
    pub fn open(config: &mut Config, engine: usize, stop: &'static AtomicBool) -> Result<Self> {
        let hash_mib = config.hash_mib as usize;
        let config = &mut config.engines[engine];
        if config.kind == EngineKind::Uci {
            let mut command: EngineCommand = config.source.parse()?;
            command.settings = config
                .options
                .iter()
                .map(|(name, value)| Setting { name: name.clone(), value: value.clone() })
                .collect();
            let player = UciPlayer::start_stoppable(command.clone(), stop)?;
            if config.name.is_empty() {
                config.name = player.name().to_string();
            }
            return Ok(Self::Uci(command, stop));
        }
        let (set, theta) = named_parameters(&config.source)?;
        if !Prior::is_word(&config.source) {
            let path = Path::new(&config.source);
            let bytes =
                gputexel::read_whole(path, gputexel::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
            same(path, &mut config.checksum, &format!("{:016x}", xxh3_64(&bytes)), "match")?;
        }
        let evaluation = Box::new(TableEvaluation::try_new(&set, &theta)?);
        Ok(Self::BuiltIn { evaluation, hash_mib, stop })
    }

    /// A player of its own for one of the games at a time.
    ///
    /// # Errors
    /// Those of [`UciPlayer::start_stoppable`].
    pub fn player(&self, name: &str) -> Result<Box<dyn Player>> {
        match self {
            Self::BuiltIn { evaluation, hash_mib, stop } => {
                let evaluation = TableEvaluation::clone(evaluation);
                Ok(Box::new(BuiltinPlayer::new(name, evaluation, *hash_mib).with_stop(stop)))
            }
            Self::Uci(command, stop) => {
                let command = EngineCommand { name: Some(name.to_string()), ..command.clone() };
                Ok(Box::new(UciPlayer::start_stoppable(command, stop)?))
            }
        }
    }
}
