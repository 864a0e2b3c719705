//! Lists of parameters as other programs have them, read and written.

mod columns;
mod conversion;
mod detection;
mod filling;
mod fishtest;
mod openbench;
mod params;
mod tables;
mod uci;
mod values;
mod weather_factory;
mod zamar;

use std::path::Path;

use super::variables::Variable;
use columns::Numbered;
use gputexel_io::{Error, Result};

pub use conversion::{ConversionError, Converted, convert};
pub use filling::{FillingError, FillingPlan, fill};
pub use values::read_values;
pub use zamar::{Columns, parse_variables, read_variables};

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $spec:expr,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ListFormat {
            $($(#[$doc])* $format,)*
        }

        impl ListFormat {
            pub const ALL: [Self; [$(stringify!($format)),*].len()] = [$(Self::$format),*];

            fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$format => &$spec,)*
                }
            }
        }
    };
}

formats! {
    /// `name,start,min,max,c_end,r_end,simul_elo`.
    Spsa: zamar::SPSA,
    /// `name,start,min,max,c_end,s,sigma,simul_elo`.
    Bspsa: zamar::BSPSA,
    /// `name, int|float, start, min, max, C_end, R_end`.
    OpenBench: openbench::SPEC,
    /// `name,start,min,max,c_end,r_end`.
    Fishtest: fishtest::SPEC,
    /// `{"name": {"value", "min_value", "max_value", "step"}}`.
    WeatherFactory: weather_factory::SPEC,
    /// YaneuraOu's `.params`: `name, int|float, v, min, max, step, delta //comment [[NOT USED]]`.
    Params: params::SPEC,
    /// `setoption name N value V`.
    Uci: uci::SPEC,
    Values: values::SPEC,
    Toml: tables::SPEC,
}

struct Spec {
    pub name: &'static str,
    pub form: &'static str,
    pub ending: Option<&'static str>,
    /// Number of columns of lists that have neither a header nor types.
    pub columns: Option<usize>,
    /// JSON and lists of typed columns are told apart elsewhere.
    pub fits: Option<fn(&str) -> bool>,
    /// Settings that a list cannot do without; of a list of mere values none.
    pub needs: &'static [Setting],
    pub takes: &'static [Setting],
    pub has_fractions: bool,
    pub parse: fn(&str, &mut Reading<'_>) -> Result<Vec<Numbered>>,
    pub write: fn(&[ListEntry], &mut Writing) -> Result<String>,
}

struct Reading<'a> {
    pub path: &'a Path,
    pub options: ListOptions,
    /// weather-factory's `spsa.json`.
    pub gains: Option<&'a Path>,
    pub notes: Vec<String>,
}

struct Writing {
    pub options: ListOptions,
    /// Text of weather-factory's `spsa.json`.
    pub gains: Option<String>,
    pub notes: Vec<String>,
}

impl ListFormat {
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    pub fn form(self) -> &'static str {
        self.spec().form
    }

    fn needs(self) -> &'static [Setting] {
        self.spec().needs
    }

    fn has(self, setting: Setting) -> bool {
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
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            Error::Usage(format!("format '{text}': expected one of {}", names.join(", ")))
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Min,
    Max,
    CEnd,
    REnd,
    S,
    Sigma,
    /// Elo lost at a distance of 100.
    SimulElo,
    Comment,
}

impl Setting {
    const ALL: [Self; 8] =
        [Self::Min, Self::Max, Self::CEnd, Self::REnd, Self::S, Self::Sigma, Self::SimulElo, Self::Comment];

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

/// A parameter in a list; the fields are those of [`Variable`], as far as the list has them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ListEntry {
    pub name: String,
    pub start: f64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub integer: bool,
    pub c_end: Option<f64>,
    /// SPSA's gain at the last iteration.
    pub r_end: Option<f64>,
    pub s: Option<f64>,
    pub sigma: Option<f64>,
    /// Elo lost at a distance of 100 from the optimum.
    pub simul_elo: Option<f64>,
    pub comment: Option<String>,
}

impl ListEntry {
    /// A name with a value, which engines take as a whole number.
    pub fn new(name: impl Into<String>, start: f64) -> Self {
        Self {
            name: name.into(),
            start,
            min: None,
            max: None,
            integer: true,
            c_end: None,
            r_end: None,
            s: None,
            sigma: None,
            simul_elo: None,
            comment: None,
        }
    }

    fn lacks(&self, setting: Setting) -> bool {
        match setting {
            Setting::Min => self.min.is_none(),
            Setting::Max => self.max.is_none(),
            Setting::CEnd => self.c_end.is_none(),
            Setting::REnd => self.r_end.is_none(),
            Setting::S => self.s.is_none(),
            Setting::Sigma => self.sigma.is_none(),
            // A 0 is as good as none.
            Setting::SimulElo => self.simul_elo.is_none_or(|elo| elo == 0.0),
            Setting::Comment => self.comment.is_none(),
        }
    }

    pub fn variable(&self) -> Result<Variable> {
        let needed = |value: Option<f64>, setting: Setting| {
            value.ok_or_else(|| Error::Usage(format!("{}: {} is missing", self.name, setting.name())))
        };
        let variable = Variable {
            name: self.name.clone(),
            start: self.start,
            min: needed(self.min, Setting::Min)?,
            max: needed(self.max, Setting::Max)?,
            integer: self.integer,
            c_end: needed(self.c_end, Setting::CEnd)?,
            r_end: self.r_end,
            s: self.s,
            sigma: self.sigma,
            simul_elo: self.simul_elo.unwrap_or(0.0),
        };
        variable.validate()?;
        Ok(variable)
    }

    fn check(&self) -> std::result::Result<(), String> {
        if self.name.is_empty() || self.name.contains(char::is_control) {
            return Err("the name of the parameter is empty or has control characters".to_string());
        }
        // What is missing is taken to be fine.
        let min = self.min.unwrap_or_else(|| self.max.unwrap_or(self.start).min(self.start).floor() - 1.0);
        let max = self.max.unwrap_or_else(|| min.max(self.start).ceil() + 1.0);
        let c_end = self.c_end.unwrap_or_else(|| min.abs().max(max.abs()).max(1.0));
        let whole = Self { min: Some(min), max: Some(max), c_end: Some(c_end), ..self.clone() };
        whole.variable().map(|_| ()).map_err(|error| error.to_string())
    }
}

impl From<&Variable> for ListEntry {
    fn from(variable: &Variable) -> Self {
        let Variable { name, start, min, max, integer, c_end, r_end, s, sigma, simul_elo } = variable.clone();
        Self {
            min: Some(min),
            max: Some(max),
            integer,
            c_end: Some(c_end),
            r_end,
            s,
            sigma,
            simul_elo: Some(simul_elo),
            ..Self::new(name, start)
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct List {
    pub format: ListFormat,
    pub entries: Vec<ListEntry>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub text: String,
    /// Text of weather-factory's `spsa.json`, which has to be in the same folder, where its settings are known.
    pub gains: Option<String>,
    pub notes: Vec<String>,
}

/// Knowledge that reading and writing need besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListOptions {
    /// Number of games that will be played: weather-factory's settings are those of the first game, ours of the
    /// last.
    pub games: Option<u64>,
}

/// Without a `format` it is told by content and ending.
pub fn read_list(path: &Path, format: Option<ListFormat>, options: ListOptions) -> Result<List> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    let beside = path.with_file_name("spsa.json");
    let gains = beside.is_file().then_some(beside);
    parse_list(&bytes, path, format, options, gains.as_deref())
}

/// `gains`: weather-factory's `spsa.json`.
pub fn parse_list(
    bytes: &[u8],
    path: &Path,
    format: Option<ListFormat>,
    options: ListOptions,
    gains: Option<&Path>,
) -> Result<List> {
    let text = text_of(bytes, path)?;
    if text.trim().is_empty() {
        return Err(Error::input(path, "is empty"));
    }
    let mut reading = Reading { path, options, gains, notes: Vec::new() };
    let format = match format {
        Some(format) => format,
        None => detection::detect(text, path, &mut reading.notes)?,
    };
    let lines = (format.spec().parse)(text, &mut reading)?;
    let mut first = std::collections::HashMap::new();
    for (line, entry) in &lines {
        entry.check().map_err(|reason| Error::line(path, *line, reason))?;
        if let Some(other) = first.insert(entry.name.clone(), line) {
            let reason = format!("{}: is listed twice, first in line {other}", entry.name);
            return Err(Error::line(path, *line, reason));
        }
    }
    if lines.is_empty() {
        return Err(Error::input(path, "lists no parameter"));
    }
    let entries = lines.into_iter().map(|(_, entry)| entry).collect();
    Ok(List { format, entries, notes: reading.notes })
}

/// The first parameter that lacks something which lists of a format need, and what that is.
pub fn missing(entries: &[ListEntry], format: ListFormat) -> Option<(&ListEntry, Setting)> {
    entries.iter().find_map(|entry| {
        format.needs().iter().find(|setting| entry.lacks(**setting)).map(|setting| (entry, *setting))
    })
}

/// # Errors
/// [`Error::Usage`] naming a parameter that lacks something, or cannot be told in that format.
pub fn write_list(entries: &[ListEntry], format: ListFormat, options: ListOptions) -> Result<Written> {
    if let Some((entry, setting)) = missing(entries, format) {
        let name = setting.name();
        return Err(Error::Usage(format!(
            "{}: a list of {format} needs {name}, which is missing",
            entry.name
        )));
    }
    for entry in entries {
        entry.check().map_err(Error::Usage)?;
        if !entry.integer && !format.spec().has_fractions {
            let reason =
                format!("{}: has fractional values, but {format} only supports integers", entry.name);
            return Err(Error::Usage(reason));
        }
    }
    let mut writing = Writing { options, gains: None, notes: Vec::new() };
    let lost = |setting: &&Setting| !format.has(**setting) && entries.iter().any(|e| !e.lacks(**setting));
    let lost: Vec<&str> = Setting::ALL.iter().filter(lost).map(|setting| setting.name()).collect();
    let has_settings = !format.needs().is_empty();
    if has_settings && !lost.is_empty() {
        writing.notes.push(format!("{format} has no place for {}", lost.join(", ")));
    }
    let text = (format.spec().write)(entries, &mut writing)?;
    Ok(Written { text, gains: writing.gains, notes: writing.notes })
}

/// # Errors
/// [`Error::Input`] naming the first line that is not UTF-8.
pub(super) fn text_of<'a>(bytes: &'a [u8], path: &Path) -> Result<&'a str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        Error::line(path, line as u64, "is not UTF-8 text")
    })
}

#[cfg(test)]
mod tests;
