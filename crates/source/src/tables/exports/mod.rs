//! Tuned values as source code of six languages, JSON, CSV, UCI options and `.params` files.

mod code;
mod evaluation;
mod header;
mod import;
mod lists;
mod naming;
mod rounding;

use std::path::Path;
use std::str::FromStr;

pub use crate::languages::{Language, NameStyle};
use code::{Overflow, Writer};
pub use evaluation::export_evaluation;
use gputexel_io::{Error, Result};
use gputexel_model::{ParameterFile, SquareOrder};
use header::Header;
pub use import::{Imported, Like, import, import_file};
pub use lists::option_names;
pub use rounding::Rounding;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Code(Language),
    Json,
    Csv,
    Uci,
    Params,
}

impl Format {
    /// Formats other than source code, by their names, which also are the endings of their files.
    const LISTS: [(&'static str, Self); 4] =
        [("json", Self::Json), ("csv", Self::Csv), ("uci", Self::Uci), ("params", Self::Params)];

    pub fn all() -> impl Iterator<Item = Self> {
        Language::ALL.into_iter().map(Self::Code).chain(Self::LISTS.map(|(_, format)| format))
    }

    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Code(language) => language.name,
            list => Self::LISTS.iter().find(|(_, format)| *format == list).map_or("", |(name, _)| name),
        }
    }

    pub fn of_ending(ending: &str) -> Option<Self> {
        let list = || Self::LISTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(ending));
        Language::of_ending(ending).map(Self::Code).or_else(|| list().map(|(_, format)| *format))
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::Usage(format!("format '{text}': expected one of {}", Self::names()));
        Self::all().find(|format| format.name() == text).ok_or_else(unknown)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeOptions {
    pub language: Language,
    /// The first square, if it was requested. Otherwise imported tables have the order of the schema, if that is one
    /// of the four.
    pub order: Option<SquareOrder>,
    /// True for one number for both phases, which are equal.
    pub untapered: bool,
    pub split: bool,
    pub style: NameStyle,
}

impl CodeOptions {
    pub fn new(language: Language) -> Self {
        Self { language, order: None, untapered: false, split: false, style: language.style }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    Code(CodeOptions),
    Json,
    Csv,
    /// `setoption` lines; names in a style or as they are, one or two for each parameter.
    Uci {
        style: Option<NameStyle>,
        untapered: bool,
    },
    /// Lines of a `.params` file, one or two for each parameter.
    Params {
        style: NameStyle,
        untapered: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    pub text: String,
    pub values: usize,
    pub k: Option<f64>,
}

/// Writes the values of a parameter file, or of the one in a run's folder.
pub fn export_file(source: &Path, target: Target, rounding: Rounding) -> Result<Exported> {
    export(&import::located(source)?, target, rounding)
}

/// Writes the values of a parameter file.
pub fn export(file: &ParameterFile, target: Target, rounding: Rounding) -> Result<Exported> {
    let mut file = file.clone();
    check_names(&file).map_err(Error::Usage)?;
    for record in &file.parameters {
        if !record.mg.is_finite() || !record.eg.is_finite() {
            return Err(Error::Usage(format!("parameter '{}' is not a finite number", record.name)));
        }
    }
    let changes: Vec<String> =
        file.provenance.changed.take().into_iter().chain(rounded(&file, rounding)).collect();
    file.provenance.changed = (!changes.is_empty()).then(|| changes.join(", "));
    let header = |format: Format| Header::new(&file, format.name());
    let text = match target {
        Target::Code(code) => {
            let header = header(Format::Code(code.language));
            Writer::new(&file, code, rounding, Overflow::Refuse).text(&header)?
        }
        Target::Json => {
            for record in &mut file.parameters {
                (record.mg, record.eg) = (rounding.round(record.mg), rounding.round(record.eg));
            }
            file.to_json()
        }
        Target::Csv => lists::csv(&file, rounding, &header(Format::Csv))?,
        Target::Uci { style, untapered } => {
            let names = if untapered {
                check_untapered(&file)?;
                lists::untapered_names(&file, style)
            } else {
                let names: Vec<&str> = file.parameters.iter().map(|record| record.name.as_str()).collect();
                lists::option_names(&names, style)?.into_iter().map(Vec::from).collect()
            };
            lists::uci(&file, rounding, &names, &Header { style, ..header(Format::Uci) })?
        }
        Target::Params { style, untapered } => {
            let header = Header { style: Some(style), ..header(Format::Params) };
            lists::params(&file, rounding, style, untapered, &header)?
        }
    };
    Ok(Exported { text, values: 2 * file.parameters.len(), k: file.k })
}

fn check_names(file: &ParameterFile) -> Result<(), String> {
    let mut names = std::collections::HashSet::new();
    match file.parameters.iter().find(|record| !names.insert(record.name.as_str())) {
        Some(record) => Err(format!("parameter '{}' is listed twice", record.name)),
        None => Ok(()),
    }
}

fn check_untapered(file: &ParameterFile) -> Result<()> {
    let Some(record) = file.parameters.iter().find(|record| record.mg != record.eg) else { return Ok(()) };
    Err(Error::Usage(format!(
        "'{}' is {} in the middlegame and {} in the endgame: one number for both is for untapered values (tune with \
         --basis tied)",
        record.name, record.mg, record.eg
    )))
}

fn rounded(file: &ParameterFile, rounding: Rounding) -> Option<String> {
    let changes = |value: f64| rounding.round(value) != value;
    file.parameters.iter().any(|record| changes(record.mg) || changes(record.eg)).then(|| rounding.describe())
}

/// The tables in the folder of a run: whole centipawns, half away from zero, in the usual form of the language.
/// Values that do not fit 32 bits become the nearest that do.
pub fn tables(file: &ParameterFile, language: Language) -> String {
    let mut file = file.clone();
    for record in &mut file.parameters {
        // Integers cannot hold them.
        for value in [&mut record.mg, &mut record.eg].into_iter().filter(|value| !value.is_finite()) {
            *value = if value.is_nan() { 0.0 } else { f64::from(i32::MAX).copysign(*value) };
        }
    }
    file.provenance.changed = rounded(&file, Rounding::Whole);
    let header = Header::new(&file, Format::Code(language).name());
    Writer::new(&file, CodeOptions::new(language), Rounding::Whole, Overflow::Saturate)
        .text(&header)
        .expect("whole numbers that are cut to 32 bits can be written, and full tables need no symmetry")
}

#[cfg(test)]
mod tests;
