//! The configuration of a run of games, in one file: method, engines, games and parameters.

mod ini;
mod paths;
mod text;
mod validation;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::lists::text_of;
use super::method_kind::MethodKind;
use super::schedule::Schedule;
use super::settings::{Noise, Settings};
use super::simulator::Scenario;
use super::toml_text::toml_error;
use super::variables::{Rounding, Variable};
use gputexel_io::{Error, Result};
use gputexel_play::{DrawRule, WinRule};

pub(crate) use paths::existing_games;

#[derive(Clone, Debug, PartialEq)]
pub enum Conf {
    Games(Box<RunConfig>),
    /// `Simulate = 1` of `spsa.pl` and `bspsa.pl`, whose optima are at 0. Draws are none with `spsa.pl`, whose
    /// simulated games are won or lost, and 1 - tau² / 2 with `bspsa.pl`, which is what its tau says of them.
    Simulation(Box<Scenario>),
}

impl Conf {
    /// TOML, or the INI of `spsa.pl` and `bspsa.pl`. Endings tell them apart (`.toml`; `.conf`, `.ini`); with any
    /// other, sections `[Main]` or `[Engine]` make it an INI.
    pub fn open(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let is_ini = match ending.as_deref() {
            Some("toml") => false,
            Some("conf" | "ini") => true,
            _ => text.lines().any(|line| ["[Main]", "[Engine]"].contains(&line.trim())),
        };
        if is_ini {
            ini::parse(&text, path)
        } else {
            Ok(Self::Games(Box::new(RunConfig::parse(&text, path)?)))
        }
    }
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    text_of(&bytes, path).map(str::to_string)
}

/// Everything that decides what a run of games does. Paths are absolute or relative to the current folder
/// once the file is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    pub run: RunSection,
    pub engine: EngineSection,
    /// The engine that plays the minus side; the same where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opponent: Option<EngineSection>,
    pub games: GamesSection,
    #[serde(rename = "parameter")]
    pub parameters: Vec<Variable>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    pub method: MethodKind,
    pub iterations: u64,
    /// A, iterations that hold SPSA's gain back; N / 10 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<f64>,
    #[serde(default = "default_alpha")]
    pub alpha: f64,
    #[serde(default = "default_gamma")]
    pub gamma: f64,
    /// τ of the Bayesian methods; measured on the way where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tau: Option<f64>,
    /// First guess of the share of draws, for a τ that is measured; 0.5 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw_rate: Option<f64>,
    #[serde(default)]
    pub rounding: Rounding,
    /// Update with the perturbation that was meant, as the ancestors do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_published: bool,
    #[serde(default = "default_seed")]
    pub seed: u64,
}

/// An engine: a command that speaks UCI, or parameters for the built-in one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSection {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Parameters of the built-in engine: a file, or `material[:P,N,B,R,Q]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<String>,
    /// File of [`Directions`](crate::run::Directions), whose factors the parameters of the run then are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// MiB of the built-in engine's transposition table; 1 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash_mib: Option<u32>,
    /// Seconds to become ready; 10 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_deadline: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, OptionValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OptionValue {
    Flag(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GamesSection {
    /// `nodes=5000`, `depth=8`, `move-time=100` (milliseconds) or `time=10+0.1` (seconds).
    pub limit: String,
    /// How far a limit of time may be overstepped, ms; 0, or 100 where each move has its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_margin_ms: Option<u64>,
    /// Seconds after which an engine without a clock counts as hung; 60 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// Pairs at a time; as many as there are cores where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<usize>,
    /// EPD, FEN or PGN; the bundled one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<PathBuf>,
    /// Plies of each game of a PGN book; 16 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book_plies: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<DrawRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub win: Option<WinRule>,
    /// Plies after which a game is a draw; no limit where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_plies: Option<u32>,
    /// Pairs that failing engines may spoil in a row before the run is given up; 20 where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_failures: Option<u64>,
    /// `$THREAD` stands for the number of the game's thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgn: Option<PathBuf>,
    /// A second place for the log of values, besides the one in the folder of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
}

fn default_alpha() -> f64 {
    Schedule::new(1).alpha
}

fn default_gamma() -> f64 {
    Schedule::new(1).gamma
}

fn default_seed() -> u64 {
    1
}

impl RunConfig {
    /// Reads and validates a TOML file; relative paths in it begin at its folder.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&read_text(path)?, path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let mut config: Self = toml::from_str(text).map_err(|error| toml_error(text, path, &error))?;
        config.validate().map_err(|error| Error::input(path, error.to_string()))?;
        config.resolve_paths(path);
        Ok(config)
    }

    /// Reads the configuration of games, of any kind that [`Conf::open`] knows.
    pub fn open(path: &Path) -> Result<Self> {
        match Conf::open(path)? {
            Conf::Games(config) => Ok(*config),
            Conf::Simulation(_) => {
                Err(Error::input(path, "Simulate = 1 asks for a simulation, not for games"))
            }
        }
    }

    pub fn settings(&self) -> Settings {
        self.run.settings()
    }
}

impl RunSection {
    pub fn settings(&self) -> Settings {
        let &Self { method, iterations, a, alpha, gamma, tau, draw_rate, rounding, as_published, .. } = self;
        let usual = Schedule::new(iterations);
        let schedule = Schedule { iterations, stability: a.unwrap_or(usual.stability), alpha, gamma };
        let noise = tau.map_or(Noise::Measured(draw_rate.unwrap_or(0.5)), Noise::Tau);
        Settings { method, schedule, noise, rounding, as_published }
    }
}

#[cfg(test)]
mod tests;
