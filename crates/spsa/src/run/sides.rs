//! The engines of a run as players whose values can change between games.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::Directions;
use crate::config::EngineSection;
use crate::variables::Variable;
use gputexel_io::{Error, Result, StopFlag};
use gputexel_model::{FeatureSet, ParameterFile, ParameterGroups, Prior, TableEvaluation, named_parameters};
use gputexel_play::client::{EngineCommand, OptionKind, Setting, UciPlayer, find_program};
use gputexel_play::{BuiltinPlayer, Player, deadline_from_seconds};

/// Transposition table of a built-in engine, unless said otherwise.
const HASH_MIB: u32 = 1;
/// Where in its range a value is when an engine is tried: hardly ever a whole number, unless it has to be.
const TRIAL: f64 = 0.618_034;

/// An engine that has the parameters to be tuned, with what it needs to be made many times.
pub struct TunedEngine {
    pub name: String,
    /// xxh3 of the parameter file, or of the program, where there is one.
    pub checksum: Option<String>,
    pub chess960: bool,
    kind: Kind,
}

enum Kind {
    BuiltIn(Box<Tables>),
    Uci { command: Box<EngineCommand>, along: Option<Directions>, stop: StopFlag },
}

#[derive(Clone)]
enum Values {
    Groups(ParameterGroups),
    Along(Directions),
}

impl Values {
    fn theta(&self, values: &[f64]) -> Vec<f64> {
        match self {
            Self::Groups(groups) => groups.theta(values),
            Self::Along(directions) => directions.values(values),
        }
    }
}

/// Components of evaluations of the built-in engine.
#[derive(Clone)]
pub struct Tables {
    set: FeatureSet,
    values: Values,
    hash_mib: usize,
    stop: StopFlag,
}

impl Tables {
    fn evaluation(&self, values: &[f64]) -> Result<TableEvaluation> {
        TableEvaluation::try_new(&self.set, &self.values.theta(values))
    }
}

impl TunedEngine {
    /// Makes sure that an engine can be started and has all variables within its own bounds. `stop` ends
    /// searches, and all waiting for engines that are other programs.
    ///
    /// # Errors
    /// Errors of starting engines and of reading parameters; [`Error::Usage`] naming the engine and the parameter
    /// that it does not have, or not like that.
    pub fn open(section: &EngineSection, variables: &[Variable], stop: impl Into<StopFlag>) -> Result<Self> {
        let stop = stop.into();
        match (&section.command, &section.params) {
            (Some(command), None) => Self::open_uci(command, section, variables, stop),
            (None, Some(params)) => Self::open_built_in(params, section, variables, stop),
            _ => Err(Error::Usage("an engine needs either 'command' or 'params'".to_string())),
        }
    }

    fn open_uci(
        command: &str,
        section: &EngineSection,
        variables: &[Variable],
        stop: StopFlag,
    ) -> Result<Self> {
        let mut command: EngineCommand = command.parse()?;
        if let Some(seconds) = section.start_deadline {
            command.start_deadline = deadline_from_seconds(seconds)?;
        }
        let setting =
            |(name, value): (&String, &_)| Setting { name: name.clone(), value: format!("{value}") };
        command.settings = section.options.iter().map(setting).collect();
        let along = open_directions(section, variables)?;
        let options = match &along {
            // The program itself says which values it does not know, or does not read.
            _ if command.reads_values() => Vec::new(),
            None => variables.to_vec(),
            Some(directions) => option_ranges(directions, variables),
        };
        let mut tried = command.clone();
        if command.reads_values() {
            let inside = variables.iter().map(|v| v.rounded(v.min + TRIAL * (v.max - v.min)));
            tried = with_values(&command, along.as_ref(), variables, &inside.collect::<Vec<_>>());
        }
        let player = UciPlayer::start_stoppable(tried, &stop)?;
        let name = section.name.clone().unwrap_or_else(|| player.name().to_string());
        for option in &options {
            check_option(&player, option)
                .map_err(|reason| Error::Usage(format!("{}: {}: {reason}", player.name(), option.name)))?;
        }
        let chess960 = player.options().iter().any(|option| option.name.eq_ignore_ascii_case("UCI_Chess960"));
        let checksum = find_program(command.engine())
            .and_then(|path| gputexel_io::read_whole(&path, gputexel_io::RECORD_BYTES).ok())
            .map(|bytes| checksum(&bytes));
        Ok(Self { name, checksum, chess960, kind: Kind::Uci { command: Box::new(command), along, stop } })
    }

    fn open_built_in(
        params: &str,
        section: &EngineSection,
        variables: &[Variable],
        stop: StopFlag,
    ) -> Result<Self> {
        if !section.options.is_empty() {
            return Err(Error::Usage(format!(
                "'{params}' is played by the built-in engine; options are for UCI engines"
            )));
        }
        let (set, theta) = named_parameters(params)?;
        let checksum = match params.parse::<Prior>()? {
            Prior::File(path) => {
                let path = ParameterFile::locate(&path)?;
                let bytes = gputexel_io::read_whole(&path, gputexel_io::SETTINGS_BYTES)
                    .map_err(|e| Error::io(&path, e))?;
                Some(checksum(&bytes))
            }
            _ => None,
        };
        let values = match open_directions(section, variables)? {
            None => {
                let names: Vec<&str> = variables.iter().map(|v| v.name.as_str()).collect();
                Values::Groups(ParameterGroups::try_new(&set, &theta, &names)?)
            }
            Some(directions) if directions.start == theta => Values::Along(directions),
            Some(_) => {
                return Err(Error::Usage(format!(
                    "'{params}' does not have the values at which directions start"
                )));
            }
        };
        let hash_mib = section.hash_mib.unwrap_or(HASH_MIB) as usize;
        let tables = Tables { set, values, hash_mib, stop };
        for end in [|v: &Variable| v.min, |v: &Variable| v.max] {
            // What is out of reach is found before the first game.
            tables.evaluation(&variables.iter().map(end).collect::<Vec<_>>())?;
        }
        let stem = Path::new(params).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = section.name.clone().or(stem).unwrap_or_else(|| params.to_string());
        Ok(Self { name, checksum, chess960: true, kind: Kind::BuiltIn(Box::new(tables)) })
    }

    pub fn table_mib(&self) -> Option<usize> {
        match &self.kind {
            Kind::BuiltIn(tables) => Some(tables.hash_mib),
            Kind::Uci { .. } => None,
        }
    }

    pub fn reads_values(&self) -> bool {
        matches!(&self.kind, Kind::Uci { command, .. } if command.reads_values())
    }

    /// `None` for engines that are other programs.
    pub fn parameter_file(&self, values: &[f64]) -> Option<ParameterFile> {
        let Kind::BuiltIn(tables) = &self.kind else { return None };
        Some(ParameterFile::new(&tables.set, &tables.values.theta(values), None, None))
    }

    pub fn options(&self, variables: &[Variable], values: &[f64]) -> Vec<(String, f64)> {
        let tables = match &self.kind {
            Kind::Uci { along, .. } => return settings(along.as_ref(), variables, values),
            Kind::BuiltIn(tables) => tables,
        };
        let groups = match &tables.values {
            Values::Along(directions) => return directions.settings(values),
            Values::Groups(groups) => groups,
        };
        let theta = groups.theta(values);
        groups.indices().iter().flatten().map(|&i| (tables.set.parameter_name(i), theta[i])).collect()
    }

    pub fn player(&self, name: &str, variables: &[Variable], values: &[f64]) -> Result<TunedPlayer> {
        Ok(match &self.kind {
            Kind::BuiltIn(tables) => {
                let evaluation = tables.evaluation(values)?;
                let player =
                    BuiltinPlayer::try_new(name, evaluation, tables.hash_mib)?.with_stop(&tables.stop);
                TunedPlayer::BuiltIn { player: Box::new(player), tables: tables.clone() }
            }
            Kind::Uci { command, along, stop } => {
                let command = EngineCommand { name: Some(name.to_string()), ..(**command).clone() };
                let command = with_values(&command, along.as_ref(), variables, values);
                let player = Box::new(UciPlayer::start_stoppable(command, stop)?);
                TunedPlayer::Uci { player, along: along.clone() }
            }
        })
    }
}

fn checksum(bytes: &[u8]) -> String {
    format!("{:016x}", xxh3_64(bytes))
}

fn check_option(player: &UciPlayer, variable: &Variable) -> Result<(), String> {
    let option = player.options().iter().find(|option| option.name.eq_ignore_ascii_case(&variable.name));
    let Some(option) = option else { return Err("the engine has no such option".to_string()) };
    match &option.kind {
        OptionKind::Spin { min, max, .. } => {
            if !variable.integer {
                return Err("the option only accepts integers: set integer = true".to_string());
            }
            let (low, high) = (*min as f64, *max as f64);
            if variable.min.ceil() < low || variable.max.floor() > high {
                let (wanted_low, wanted_high) = (variable.min, variable.max);
                return Err(format!(
                    "bounds {wanted_low} to {wanted_high} are wider than the engine's own, {min} to {max}"
                ));
            }
            Ok(())
        }
        // Engines take fractions as text.
        OptionKind::String { .. } => Ok(()),
        OptionKind::Check { .. } | OptionKind::Combo { .. } | OptionKind::Button => {
            Err("is not an option with a number".to_string())
        }
    }
}

pub(super) fn tuned_setting((name, value): (String, f64)) -> Setting {
    // A zero without a sign.
    Setting { name, value: format!("{}", value + 0.0) }
}

fn with_values(
    command: &EngineCommand,
    along: Option<&Directions>,
    variables: &[Variable],
    values: &[f64],
) -> EngineCommand {
    let mut command = command.clone();
    let settings = settings(along, variables, values).into_iter().map(tuned_setting);
    match command.reads_values() {
        true => command.values = settings.collect(),
        false => command.settings.extend(settings),
    }
    command
}

fn settings(along: Option<&Directions>, variables: &[Variable], values: &[f64]) -> Vec<(String, f64)> {
    match along {
        Some(directions) => directions.settings(values),
        None => variables.iter().map(|variable| variable.name.clone()).zip(values.iter().copied()).collect(),
    }
}

fn open_directions(section: &EngineSection, variables: &[Variable]) -> Result<Option<Directions>> {
    let directions = section.directions.as_deref().map(Directions::read).transpose()?;
    directions.as_ref().map_or(Ok(()), |directions| directions.check_variables(variables))?;
    Ok(directions)
}

fn option_ranges(directions: &Directions, variables: &[Variable]) -> Vec<Variable> {
    let option = |(i, name): (usize, &String)| {
        let (mut min, mut max) = (directions.start[i], directions.start[i]);
        for (direction, variable) in directions.directions.iter().zip(variables) {
            let ends = [variable.min, variable.max].map(|factor| factor * direction.step[i]);
            min += ends[0].min(ends[1]);
            max += ends[0].max(ends[1]);
        }
        if let Some([least, greatest]) = directions.bounds.as_ref().map(|bounds| bounds[i]) {
            (min, max) = (min.max(least), max.min(greatest));
        }
        let (name, start, integer) = (name.clone(), directions.start[i], directions.integer);
        let (min, max) = if integer { (min.round(), max.round()) } else { (min, max) };
        Variable { name, start, min, max, integer, ..variables[0].clone() }
    };
    directions.parameters.iter().enumerate().map(option).collect()
}

/// A player whose values can be changed between games.
pub enum TunedPlayer {
    BuiltIn { player: Box<BuiltinPlayer>, tables: Box<Tables> },
    Uci { player: Box<UciPlayer>, along: Option<Directions> },
}

impl TunedPlayer {
    /// Plays with other values from the next game on, also when the engine is restarted.
    ///
    /// # Errors
    /// [`Error::Usage`] when the engine does not take a value.
    pub fn set_values(&mut self, variables: &[Variable], values: &[f64]) -> Result<()> {
        match self {
            Self::BuiltIn { player, tables } => player.set_evaluation(tables.evaluation(values)?),
            Self::Uci { player, along } => {
                let settings = settings(along.as_ref(), variables, values).into_iter().map(tuned_setting);
                if player.reads_values() {
                    player.set_values(settings.collect());
                } else {
                    settings.into_iter().try_for_each(|setting| player.set(setting))?;
                }
            }
        }
        Ok(())
    }

    pub fn into_player(self) -> Box<dyn Player> {
        match self {
            Self::BuiltIn { player, .. } => player,
            Self::Uci { player, .. } => player,
        }
    }
}

impl AsMut<dyn Player> for TunedPlayer {
    fn as_mut(&mut self) -> &mut (dyn Player + 'static) {
        match self {
            Self::BuiltIn { player, .. } => &mut **player,
            Self::Uci { player, .. } => &mut **player,
        }
    }
}
