//! The formats by name: a table, of which each line is in the file of its format.

use std::path::Path;

use super::columns::Numbered;
use super::{
    ListEntry, ListOptions, fishtest, openbench, params, tables, uci, values, weather_factory, zamar,
};
use gputexel_io::{Error, Result};

/// A format of lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// `spsa.pl`: `name,start,min,max,c_end,r_end,simul_elo`.
    Spsa,
    /// `bspsa.pl`: `name,start,min,max,c_end,s,sigma,simul_elo`.
    Bspsa,
    /// OpenBench: `name, int|float, start, min, max, C_end, R_end`.
    OpenBench,
    /// fishtest, and the output of Stockfish's `TUNE`: `name,start,min,max,c_end,r_end`; tests as its API has them are read, too.
    Fishtest,
    /// weather-factory's `config.json`: `{"name": {"value", "min_value", "max_value", "step"}}`, and its `state.json`.
    WeatherFactory,
    /// YaneuraOu's `.params`: `name, int|float, v, min, max, step, delta //comment [[NOT USED]]`.
    Params,
    /// `setoption name N value V`.
    Uci,
    /// `name, value`, or columns under a header: OpenBench's digests, and tables of fishtest's pages.
    Values,
    /// `[[parameter]]` tables, alone or in the configuration of a run.
    Toml,
}

/// All formats.
pub(super) static SPECS: [&Spec; 9] = [
    &zamar::SPSA,
    &zamar::BSPSA,
    &openbench::SPEC,
    &fishtest::SPEC,
    &weather_factory::SPEC,
    &params::SPEC,
    &uci::SPEC,
    &values::SPEC,
    &tables::SPEC,
];

/// A format: how it is told from others, its settings, and how it is read and written.
pub(super) struct Spec {
    pub format: ListFormat,
    pub name: &'static str,
    /// A line of it, and its program, for help.
    pub form: &'static str,
    /// Ending of the names of files that are always of this format.
    pub ending: Option<&'static str>,
    /// Number of columns of lists that have neither a header nor types.
    pub columns: Option<usize>,
    /// Settings that a list cannot do without; of a list of mere values none.
    pub needs: &'static [Setting],
    /// Settings for which there is a place as well.
    pub takes: &'static [Setting],
    /// Engines may be said to take fractions of a parameter.
    pub has_fractions: bool,
    pub parse: fn(&str, &mut Reading<'_>) -> Result<Vec<Numbered>>,
    pub write: fn(&[ListEntry], &mut Writing) -> Result<String>,
}

/// Circumstances of reading a list.
pub(super) struct Reading<'a> {
    /// For messages.
    pub path: &'a Path,
    pub options: ListOptions,
    /// weather-factory's `spsa.json`.
    pub gains: Option<&'a Path>,
    /// Remarks on the reading, one line each.
    pub notes: Vec<String>,
}

/// Circumstances of writing a list.
pub(super) struct Writing {
    pub options: ListOptions,
    /// Text of weather-factory's `spsa.json`.
    pub gains: Option<String>,
    /// Remarks on the writing, one line each.
    pub notes: Vec<String>,
}

impl ListFormat {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        SPECS.iter().map(|spec| spec.format)
    }

    pub(super) fn spec(self) -> &'static Spec {
        SPECS.into_iter().find(|spec| spec.format == self).expect("every format is in the table")
    }

    /// Its name: `weather-factory`.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// A line of it, and its program, for help.
    pub fn form(self) -> &'static str {
        self.spec().form
    }

    /// Settings that a list of this format cannot do without.
    pub(super) fn needs(self) -> &'static [Setting] {
        self.spec().needs
    }

    /// Returns whether it has a place for a setting.
    pub(super) fn has(self, setting: Setting) -> bool {
        let Spec { needs, takes, .. } = self.spec();
        needs.contains(&setting) || takes.contains(&setting)
    }
}

impl std::fmt::Display for ListFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for ListFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::all().find(|format| format.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            Error::Usage(format!("format '{text}': expected one of {}", names.join(", ")))
        })
    }
}

/// A setting of a parameter that a list may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Smallest value.
    Min,
    /// Largest value.
    Max,
    /// Perturbation at the end.
    CEnd,
    /// Gain at the end.
    REnd,
    /// BSPSA's s.
    S,
    /// BSPSA's sigma.
    Sigma,
    /// Elo lost at a distance of 100.
    SimulElo,
    /// A remark.
    Comment,
}

impl Setting {
    pub(super) const ALL: [Self; 8] =
        [Self::Min, Self::Max, Self::CEnd, Self::REnd, Self::S, Self::Sigma, Self::SimulElo, Self::Comment];

    /// Its name in our own files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::CEnd => "c_end",
            Self::REnd => "r_end",
            Self::S => "s",
            Self::Sigma => "sigma",
            Self::SimulElo => "simul_elo",
            Self::Comment => "comments",
        }
    }
}
