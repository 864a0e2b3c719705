//! Lists of parameters as other programs have them, read and written.
//!
//! Owns the formats, one file each, telling them apart, and what is lost between them. Each is read
//! into [`ListEntry`]s, which lack what the format has no place for; what a format needs and an entry
//! lacks is [named](missing) or [planned](fill). What the settings do is the methods' business.

mod columns;
mod conversion;
mod detection;
mod digest;
mod filling;
mod fishtest;
mod foreign;
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
pub use digest::{Digest, DigestEntry};
pub use filling::{FillingError, FillingPlan, fill};
pub use values::read_values;
pub use zamar::{Columns, parse_variables, read_variables};

/// Declares [`ListFormat`] from the formats of the library.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $spec:expr,)*) => {
        /// A format of lists.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ListFormat {
            $($(#[$doc])* $format,)*
        }

        impl ListFormat {
            /// All formats.
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
    /// `spsa.pl`: `name,start,min,max,c_end,r_end,simul_elo`.
    Spsa: zamar::SPSA,
    /// `bspsa.pl`: `name,start,min,max,c_end,s,sigma,simul_elo`.
    Bspsa: zamar::BSPSA,
    /// OpenBench: `name, int|float, start, min, max, C_end, R_end`.
    OpenBench: openbench::SPEC,
    /// fishtest, and the output of Stockfish's `TUNE`: `name,start,min,max,c_end,r_end`; tests as its API has them are read, too.
    Fishtest: fishtest::SPEC,
    /// weather-factory's `config.json`: `{"name": {"value", "min_value", "max_value", "step"}}`, and its `state.json`.
    WeatherFactory: weather_factory::SPEC,
    /// YaneuraOu's `.params`: `name, int|float, v, min, max, step, delta //comment [[NOT USED]]`.
    Params: params::SPEC,
    /// `setoption name N value V`.
    Uci: uci::SPEC,
    /// `name, value`, or columns under a header: OpenBench's digests, and tables of fishtest's pages.
    Values: values::SPEC,
    /// `[[parameter]]` tables, alone or in the configuration of a run.
    Toml: tables::SPEC,
}

/// A format: how it is told from others, its settings, and how it is read and written.
struct Spec {
    pub name: &'static str,
    /// A line of it, and its program, for help.
    pub form: &'static str,
    /// Ending of the names of files that are always of this format.
    pub ending: Option<&'static str>,
    /// Number of columns of lists that have neither a header nor types.
    pub columns: Option<usize>,
    /// Returns true for texts that have a mark of their own; JSON and lists of typed columns are told apart elsewhere.
    pub fits: Option<fn(&str) -> bool>,
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
struct Reading<'a> {
    /// For messages.
    pub path: &'a Path,
    pub options: ListOptions,
    /// weather-factory's `spsa.json`.
    pub gains: Option<&'a Path>,
    /// Remarks on the reading, one line each.
    pub notes: Vec<String>,
}

/// Circumstances of writing a list.
struct Writing {
    pub options: ListOptions,
    /// Text of weather-factory's `spsa.json`.
    pub gains: Option<String>,
    /// Remarks on the writing, one line each.
    pub notes: Vec<String>,
}

impl ListFormat {
    /// Its name: `weather-factory`.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// A line of it, and its program, for help.
    pub fn form(self) -> &'static str {
        self.spec().form
    }

    /// Settings that a list of this format cannot do without.
    fn needs(self) -> &'static [Setting] {
        self.spec().needs
    }

    /// Returns whether it has a place for a setting.
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
    const ALL: [Self; 8] =
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

/// A parameter in a list; the fields are those of [`Variable`], as far as the list has them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ListEntry {
    /// The engine's name for it.
    pub name: String,
    /// The value to start from.
    pub start: f64,
    /// Smallest value.
    pub min: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
    /// Engines are given whole numbers.
    pub integer: bool,
    /// Perturbation at the last iteration.
    pub c_end: Option<f64>,
    /// SPSA's gain at the last iteration.
    pub r_end: Option<f64>,
    /// BSPSA's s.
    pub s: Option<f64>,
    /// BSPSA's sigma.
    pub sigma: Option<f64>,
    /// Elo lost at a distance of 100 from the optimum.
    pub simul_elo: Option<f64>,
    /// A remark, on one line.
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

    /// The parameter as it is tuned.
    ///
    /// # Errors
    /// [`Error::Usage`] naming what is missing or wrong.
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

    /// Refuses what cannot be tuned, as far as it is known.
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

/// Contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The format that it was read as.
    pub format: ListFormat,
    /// Its parameters, in order.
    pub entries: Vec<ListEntry>,
    /// Remarks on the reading, one line each.
    pub notes: Vec<String>,
}

/// A list as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The text of the file.
    pub text: String,
    /// Text of weather-factory's `spsa.json`, which has to be in the same folder, where its settings are known.
    pub gains: Option<String>,
    /// Remarks on it, one line each.
    pub notes: Vec<String>,
}

/// Knowledge that reading and writing need besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListOptions {
    /// Number of games that will be played: weather-factory's settings are those of the first game,
    /// ours of the last.
    pub games: Option<u64>,
}

/// Reads a list. Without a `format` it is told by content and ending.
///
/// # Errors
/// [`Error::Io`]; [`Error::Input`] naming the line where there is one.
pub fn read_list(path: &Path, format: Option<ListFormat>, options: ListOptions) -> Result<List> {
    let bytes = gputexel_io::read_whole(path, gputexel_io::SETTINGS_BYTES).map_err(|e| Error::io(path, e))?;
    let beside = path.with_file_name("spsa.json");
    let gains = beside.is_file().then_some(beside);
    parse_list(&bytes, path, format, options, gains.as_deref())
}

/// As [`read_list`], from memory; `path` is for messages and its ending. `gains`: weather-factory's
/// `spsa.json`.
///
/// # Errors
/// [`Error::Input`] naming the line where there is one.
pub fn parse_list(
    bytes: &[u8],
    path: &Path,
    format: Option<ListFormat>,
    options: ListOptions,
    gains: Option<&Path>,
) -> Result<List> {
    foreign::check_bytes(bytes, path)?;
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

/// Writes a list.
///
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

/// Bytes as text, without a byte order mark.
///
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
