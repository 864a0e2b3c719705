//! The sides of a match: distinguishes parameter files from commands, and creates players.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use xxhash_rust::xxh3::xxh3_64;

use super::builtin::BuiltinPlayer;
use super::client::{EngineCommand, PARAMETERS_WORD, Setting, UciPlayer, find_program};
use super::config::{EngineConfig, EngineKind, check_checksum};
use super::hash::check_tables;
use super::player::Player;
use super::replay::other_engine;
use super::scheduler::Players;
use gputexel_io::{Error, Result, StopFlag, absolute};
use gputexel_model::{ParameterFile, Prior, TableEvaluation, named_parameters};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    source: String,
    name: Option<String>,
    options: Vec<Setting>,
}

impl Side {
    /// `source`: a parameter file, the folder of a run, or piece values such as `material`, for the built-in engine;
    /// or a UCI engine: a program or a command line that begins with one. `cmd:` forces a command line.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// Its name in games and reports.
    #[must_use]
    pub fn name(self, name: Option<String>) -> Self {
        Self { name, ..self }
    }

    #[must_use]
    pub fn options(self, options: Vec<Setting>) -> Self {
        Self { options, ..self }
    }

    pub fn describe(&self) -> Result<EngineConfig> {
        let Self { source: text, name, options } = self;
        if text.trim().is_empty() {
            let expected = "expected a parameter file, the folder of a run, piece values or an engine";
            return Err(Error::Usage(format!("one side of the match has no name: {expected}")));
        }
        let command = match text.strip_prefix("cmd:") {
            Some(command) => Some(command),
            None => is_command(text).then_some(text.as_str()),
        };
        let (kind, source, default_name) = match command {
            // Its own name is known when it runs.
            Some(command) => (EngineKind::Uci, fixed_command(command)?, String::new()),
            None if Prior::is_word(text) => (EngineKind::BuiltIn, text.clone(), text.clone()),
            None => {
                // The folder of a run stands for its parameters.
                let file = ParameterFile::locate(Path::new(text))?;
                let path = absolute(file);
                (EngineKind::BuiltIn, path.display().to_string(), stem(&path))
            }
        };
        if kind == EngineKind::BuiltIn && !options.is_empty() {
            return Err(Error::Usage(format!(
                "'{text}' is played by the built-in engine; options only apply to UCI engines"
            )));
        }
        let name = name.clone().unwrap_or(default_name);
        let options = options.iter().map(|option| (option.name.clone(), option.value.clone())).collect();
        Ok(EngineConfig { name, kind, source, checksum: None, options, id_name: None })
    }
}

pub(crate) fn make_names_differ(engines: &mut [EngineConfig; 2]) {
    if engines[0].name == engines[1].name {
        for (engine, letter) in engines.iter_mut().zip(["A", "B"]) {
            engine.name = format!("{} {letter}", engine.name);
        }
    }
}

/// The name without folders and extension; that of the folder for the generic name `params`.
fn stem(path: &Path) -> String {
    let stem =
        path.file_stem().map_or_else(|| path.display().to_string(), |s| s.to_string_lossy().into_owned());
    match path.parent().and_then(Path::file_name) {
        Some(folder) if stem == "params" => folder.to_string_lossy().into_owned(),
        _ => stem,
    }
}

/// Makes an engine's command line independent of the current folder.
pub fn absolute_command(text: &str) -> Result<String> {
    // An unquoted path with blanks.
    let quoted = if Path::new(text).is_file() { shlex::try_quote(text).ok() } else { None };
    let mut command: EngineCommand = quoted.as_deref().unwrap_or(text).parse()?;
    command.make_absolute();
    command.to_command_line()
}

/// Refuses engines that [read values](EngineCommand::reads_values): there are none.
fn fixed_command(text: &str) -> Result<String> {
    let line = absolute_command(text)?;
    if line.parse::<EngineCommand>()?.reads_values() {
        return Err(Error::Usage(format!(
            "'{text}': only probe, improve and spsa have values for {PARAMETERS_WORD}; name a file of them instead"
        )));
    }
    Ok(line)
}

fn is_command(text: &str) -> bool {
    let path = Path::new(text);
    if Prior::is_word(text) || path.is_dir() {
        return false;
    }
    if path.is_file() {
        // File systems without permissions report every file as executable.
        return path.extension().is_none_or(|extension| extension != "json")
            && std::path::absolute(path).is_ok_and(|path| find_program(&path).is_some());
    }
    text.split_whitespace().next().is_some_and(|program| find_program(Path::new(program)).is_some())
}

/// An engine with everything needed to create players repeatedly.
pub struct Contestant {
    source: Source,
    /// One in this many evaluated positions is drawn; 0 draws none.
    leaves: u64,
    /// Some player of a UCI engine has shown leaves.
    pub(crate) shows_leaves: Arc<AtomicBool>,
}

enum Source {
    BuiltIn { evaluation: Box<TableEvaluation>, hash_mib: usize, stop: StopFlag },
    Uci(EngineCommand, StopFlag),
}

impl Contestant {
    /// Reads parameters, or starts an engine to test it and get its name; records that or the checksum of a file, or
    /// refuses one that has changed since the `what` (such as a match) began.
    pub fn open(config: &mut EngineConfig, hash_mib: u32, stop: &StopFlag, what: &str) -> Result<Self> {
        let hash_mib = hash_mib as usize;
        if config.kind != EngineKind::BuiltIn {
            let mut command: EngineCommand = config.source.parse()?;
            command.settings = config
                .options
                .iter()
                .map(|(name, value)| Setting { name: name.clone(), value: value.clone() })
                .collect();
            let player = UciPlayer::start_stoppable(command.clone(), stop)?;
            let id_name = player.name().to_string();
            if let Some(noted) = config.id_name.as_ref().filter(|noted| **noted != id_name) {
                return Err(other_engine(
                    &config.source,
                    &format!("is {id_name} now, and was {noted}"),
                    what,
                ));
            }
            if config.name.is_empty() {
                config.name.clone_from(&id_name);
            }
            config.id_name = Some(id_name);
            return Ok(Self::new(Source::Uci(command, stop.clone())));
        }
        let (set, theta) = named_parameters(&config.source)?;
        if !Prior::is_word(&config.source) {
            let path = Path::new(&config.source);
            let bytes =
                gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
            check_checksum(path, &mut config.checksum, &format!("{:016x}", xxh3_64(&bytes)), what)?;
        }
        let evaluation = Box::new(TableEvaluation::try_new(&set, &theta)?);
        Ok(Self::new(Source::BuiltIn { evaluation, hash_mib, stop: stop.clone() }))
    }

    fn new(source: Source) -> Self {
        Self { source, leaves: 0, shows_leaves: Arc::default() }
    }

    /// One in `one_in` of the positions evaluated in quiescence, by their keys.
    pub fn draw_leaves(&mut self, one_in: u64) {
        self.leaves = one_in;
    }

    pub fn player(&self, name: &str) -> Result<Box<dyn Player>> {
        match &self.source {
            Source::BuiltIn { evaluation, hash_mib, stop, .. } => {
                let evaluation = TableEvaluation::clone(evaluation);
                let player = BuiltinPlayer::try_new(name, evaluation, *hash_mib)?.with_stop(stop);
                Ok(Box::new(player.draw_leaves(self.leaves)))
            }
            Source::Uci(command, stop) => {
                let command =
                    EngineCommand { name: Some(name.to_string()), leaves: self.leaves, ..command.clone() };
                let player = UciPlayer::start_stoppable(command, stop)?;
                Ok(Box::new(player.tell_of_leaves(&self.shows_leaves)))
            }
        }
    }

    pub fn table_mib(&self) -> Option<usize> {
        match &self.source {
            Source::BuiltIn { hash_mib, .. } => Some(*hash_mib),
            Source::Uci(..) => None,
        }
    }

    pub(crate) fn players<'a, P>(
        contestants: [&'a Self; 2],
        names: [&'a str; 2],
        threads: u64,
    ) -> Result<Players<'a, P>> {
        check_tables(contestants.into_iter().filter_map(Self::table_mib), threads)?;
        Ok(Players::new(move |side| contestants[side].player(names[side])))
    }
}
