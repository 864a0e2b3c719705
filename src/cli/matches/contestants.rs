//! Who plays: telling parameter files from commands, and making players of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gputexel::matches::{BuiltinPlayer, Player};
use gputexel::model::{TableEvaluation, named_parameters};
use gputexel::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::config::{Config, EngineConfig, EngineKind, same};

/// What an argument of the command line stands for. `cmd:` marks commands; without it, programs
/// and command lines that begin with one are UCI engines, everything else is parameters.
///
/// # Errors
/// [`Error::Usage`] for options that cannot be read or have no engine.
pub fn describe(text: &str, name: Option<&str>, options: &[String], flag: &str) -> Result<EngineConfig> {
    let options = options.iter().map(|option| read_option(option, flag)).collect::<Result<Vec<_>>>()?;
    let command = match text.strip_prefix("cmd:") {
        Some(command) => Some(command),
        None => is_command(text).then_some(text),
    };
    let (kind, source, default_name) = match command {
        Some(command) => {
            let program = command.split_whitespace().next().unwrap_or(command);
            (EngineKind::Uci, command.to_string(), stem(program))
        }
        None if is_prior(text) => (EngineKind::BuiltIn, text.to_string(), text.to_string()),
        None => {
            let path = std::path::absolute(text).unwrap_or_else(|_| PathBuf::from(text));
            (EngineKind::BuiltIn, path.display().to_string(), stem(text))
        }
    };
    if kind == EngineKind::BuiltIn && !options.is_empty() {
        return Err(Error::Usage(format!(
            "{flag}: '{text}' is played by the built-in engine; options are for UCI engines"
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

fn is_prior(text: &str) -> bool {
    text == "zero" || text == "material" || text.starts_with("material:")
}

/// The name of a file without folders and ending; `params` says little, its folder more.
fn stem(path: &str) -> String {
    let path = Path::new(path);
    let stem =
        path.file_stem().map_or_else(|| path.display().to_string(), |s| s.to_string_lossy().into_owned());
    match path.parent().and_then(Path::file_name) {
        Some(folder) if stem == "params" => folder.to_string_lossy().into_owned(),
        _ => stem,
    }
}

fn read_option(text: &str, flag: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_string(), value.to_string())),
        _ => Err(Error::Usage(format!("{flag} '{text}': expected NAME=VALUE"))),
    }
}

/// Whether the text, or its first word, is a program.
fn is_command(text: &str) -> bool {
    if is_prior(text) || Path::new(text).is_dir() {
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
    BuiltIn { name: String, evaluation: Box<TableEvaluation>, hash_mib: usize, stop: &'static AtomicBool },
}

impl Contestant {
    /// Reads parameters; notes the checksum of a file, or refuses one that has changed.
    ///
    /// # Errors
    /// Those of reading parameters, and [`Error::Input`] for a changed file.
    pub fn open(config: &mut Config, engine: usize, stop: &'static AtomicBool) -> Result<Self> {
        let hash_mib = config.hash_mib as usize;
        let config = &mut config.engines[engine];
        let (set, theta) = named_parameters(&config.source)?;
        if !is_prior(&config.source) {
            let path = Path::new(&config.source);
            let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
            same(path, &mut config.checksum, &format!("{:016x}", xxh3_64(&bytes)))?;
        }
        let evaluation = Box::new(TableEvaluation::try_new(&set, &theta)?);
        Ok(Self::BuiltIn { name: config.name.clone(), evaluation, hash_mib, stop })
    }

    /// A player of its own for one of the games at a time.
    ///
    /// # Errors
    /// None for the built-in engine.
    pub fn player(&self) -> Result<Box<dyn Player>> {
        match self {
            Self::BuiltIn { name, evaluation, hash_mib, stop } => {
                let evaluation = TableEvaluation::clone(evaluation);
                Ok(Box::new(BuiltinPlayer::new(name.clone(), evaluation, *hash_mib).with_stop(stop)))
            }
        }
    }
}
