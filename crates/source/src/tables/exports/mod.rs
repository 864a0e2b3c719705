//! Tuned values as source code of six languages, JSON, CSV, UCI options and `.params` files.

mod code;
mod evaluation;
mod header;
mod import;
mod like;
mod lists;
mod missing;
mod naming;
mod normalize;
mod params;
mod rounding;

use std::path::Path;
use std::str::FromStr;

pub use crate::languages::{Language, NameStyle};
use crate::tables::Remedy;
use code::{Overflow, Writer};
pub use evaluation::EvaluationRequest;
use gputexel_io::{Error, Result};
use gputexel_model::{ParameterFile, SquareOrder};
use header::Header;
pub use import::{ImportRequest, Imported, import, import_files};
pub use like::{Like, LikeSource};
pub use lists::option_names;
pub use normalize::Normalization;
pub use rounding::Rounding;

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Source code.
    Code(Language),
    /// A parameter file.
    Json,
    /// Rows of name, group, mg, eg.
    Csv,
    /// `setoption` lines.
    Uci,
    /// Lines of a `.params` file, as read by `patch apply` and SPSA tuning.
    Params,
}

impl Format {
    /// Formats other than source code, by their names, which also are the endings of their files.
    const LISTS: [(&'static str, Self); 4] =
        [("json", Self::Json), ("csv", Self::Csv), ("uci", Self::Uci), ("params", Self::Params)];

    /// Returns all formats.
    pub fn all() -> impl Iterator<Item = Self> {
        Language::ALL.into_iter().map(Self::Code).chain(Self::LISTS.map(|(_, format)| format))
    }

    /// Returns the names of all formats, with commas.
    pub fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Code(language) => language.name,
            list => Self::LISTS.iter().find(|(_, format)| *format == list).map_or("", |(name, _)| name),
        }
    }

    /// Returns the format of a file name's ending, if it determines one.
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

/// Output of the two values of a parameter, middlegame and endgame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseValues {
    /// They form a pair.
    Pairs,
    /// Each has an array, or a name, of its own.
    Separate,
    /// There is one number, which both are equal to.
    Untapered,
}

/// Options of source code.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeOptions {
    /// The language.
    pub language: Language,
    /// Square of each index, and colors of the tables.
    pub order: SquareOrder,
    /// True if the first square was requested. Otherwise imported tables have the order of the schema, if that is one
    /// of the four.
    pub oriented: bool,
    /// Output of middlegame and endgame values.
    pub phases: PhaseValues,
    /// True for piece values separate from tables of squares.
    pub split: bool,
    /// Style of names.
    pub style: NameStyle,
    /// Prefix of names.
    pub prefix: String,
    /// Name of the class (C#) or package (Go).
    pub module: Option<String>,
}

impl CodeOptions {
    /// Returns the usual options for a language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            order: SquareOrder::default(),
            oriented: false,
            phases: if language.pairs { PhaseValues::Pairs } else { PhaseValues::Separate },
            split: false,
            style: language.style,
            prefix: String::new(),
            module: None,
        }
    }

    /// Returns true if the language has classes or packages for [`module`](Self::module).
    pub fn has_module(&self) -> bool {
        self.language.module.is_some()
    }
}

/// Output format with its options.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// Source code.
    Code(CodeOptions),
    /// A parameter file.
    Json,
    /// Rows of name, group, mg, eg.
    Csv,
    /// `setoption` lines.
    Uci {
        /// Style of names; `None` for those of the parameters.
        style: Option<NameStyle>,
        /// Prefix of names.
        prefix: String,
        /// True for one option for both phases.
        untapered: bool,
    },
    /// Lines of a `.params` file.
    Params {
        /// Style of names.
        style: NameStyle,
        /// Prefix of names.
        prefix: String,
        /// True for one line for both phases, false for one each.
        untapered: bool,
    },
}

/// Options of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// The format with its options.
    pub target: Target,
    /// Rounding of values.
    pub rounding: Rounding,
    /// Normalization of values, if any.
    pub normalization: Option<Normalization>,
    /// True to begin the text with a header.
    pub header: bool,
}

/// An export.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// Number of values: two for each parameter.
    pub values: usize,
    /// Factor by which all values were multiplied.
    pub factor: Option<f64>,
    /// K of the original values.
    pub old_k: Option<f64>,
    /// K of the written values.
    pub k: Option<f64>,
    /// Names with colliding identifiers, with the numbered identifiers that they got.
    pub told_apart: Vec<(String, String)>,
}

/// Writes the values of a parameter file, or of the one in a run's folder.
///
/// # Errors
/// Errors of [`ParameterFile::locate`], [`ParameterFile::read`] and [`export`]; [`Error::Input`] for invalid phase
/// weights.
pub fn export_file(source: &Path, options: &ExportOptions) -> Result<Exported> {
    export(&like::parameter_file(source)?, options)
}

/// Writes the values of a parameter file.
///
/// # Errors
/// [`Error::Usage`] with the parameter for values that do not fit the options, and for names that are listed twice.
pub fn export(file: &ParameterFile, options: &ExportOptions) -> Result<Exported> {
    let mut file = file.clone();
    check_names(&file).map_err(Error::Usage)?;
    for record in &file.parameters {
        if !record.mg.is_finite() || !record.eg.is_finite() {
            return Err(Error::Usage(format!("parameter '{}' is not a finite number", record.name)));
        }
    }
    let rounding = options.rounding;
    if file.program.is_some() {
        let multiplied = [
            (options.normalization.is_some(), "normalized"),
            (matches!(rounding, Rounding::Fixed(_)), "written in parts of a centipawn"),
        ];
        if let Some((_, what)) = multiplied.into_iter().find(|(asked, _)| *asked) {
            return Err(Error::Usage(format!(
                "the evaluation is not linear, so its values cannot be {what}: a multiple of them is another evaluation"
            )));
        }
    }
    let (values, old_k) = (2 * file.parameters.len(), file.k);
    let mut factor = None;
    let mut changes: Vec<String> = file.provenance.changed.take().into_iter().collect();
    if let Some(normalization) = &options.normalization {
        let applied = normalization.apply(&mut file)?;
        changes.push(format!("scaled by {applied} to {normalization}"));
        factor = Some(applied);
    }
    if let Target::Code(CodeOptions { prefix, module, .. }) = &options.target {
        check_word("prefix", prefix)?;
        check_word("module", module.as_deref().unwrap_or_default())?;
    }
    changes.extend(rounded(&file, rounding));
    file.provenance.changed = (!changes.is_empty()).then(|| changes.join(", "));
    let header = |format: Format| Header::new(&file, format.name());
    let mut told_apart = Vec::new();
    let text = match &options.target {
        Target::Code(code) => {
            let header = header(Format::Code(code.language));
            let mut writer = Writer::new(&file, code, rounding, Overflow::Refuse);
            let text = writer.text(options.header.then_some(&header))?;
            told_apart = writer.told_apart;
            text
        }
        Target::Json => {
            let k = file.k;
            for record in &mut file.parameters {
                record.mg = rounding.round(record.mg);
                record.eg = rounding.round(record.eg);
            }
            let text = file.to_json();
            return Ok(Exported { text, values, factor, old_k, k, told_apart });
        }
        Target::Csv => {
            let header = Header { scale: rounding.scale(), ..header(Format::Csv) };
            lists::csv(&file, rounding, options.header.then_some(&header))?
        }
        Target::Uci { style, prefix, untapered } => {
            let (style, scale) = (*style, rounding.scale());
            let header = Header { scale, style, prefix: prefix.clone(), ..header(Format::Uci) };
            let names = if *untapered {
                check_untapered(&file)?;
                lists::untapered_names(&file, style, prefix)
            } else {
                let names: Vec<&str> = file.parameters.iter().map(|record| record.name.as_str()).collect();
                lists::option_names(&names, style, prefix)?.into_iter().map(Vec::from).collect()
            };
            lists::uci(&file, rounding, &names, options.header.then_some(&header))?
        }
        Target::Params { style, prefix, untapered } => {
            let (scale, prefix_used) = (rounding.scale(), prefix.clone());
            let header = Header { scale, style: Some(*style), prefix: prefix_used, ..header(Format::Params) };
            params::write(&file, rounding, (*style, prefix, *untapered), options.header.then_some(&header))?
        }
    };
    Ok(Exported { text, values, factor, old_k, k: file.k, told_apart })
}

fn check_names(file: &ParameterFile) -> std::result::Result<(), String> {
    let mut names = std::collections::HashSet::new();
    match file.parameters.iter().find(|record| !names.insert(record.name.as_str())) {
        Some(record) => Err(format!("parameter '{}' is listed twice", record.name)),
        None => Ok(()),
    }
}

fn check_untapered(file: &ParameterFile) -> Result<()> {
    let Some(record) = file.parameters.iter().find(|record| record.mg != record.eg) else { return Ok(()) };
    Err(Error::Usage(format!(
        "'{}' is {} in the middlegame and {} in the endgame: one number for both is for untapered values",
        record.name, record.mg, record.eg
    ))
    .advise(Remedy::TiedBasis))
}

fn rounded(file: &ParameterFile, rounding: Rounding) -> Option<String> {
    let changes = |value: f64| rounding.round(value * rounding.scale()) / rounding.scale() != value;
    file.parameters.iter().any(|record| changes(record.mg) || changes(record.eg)).then(|| rounding.describe())
}

fn check_word(what: &str, word: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if word.chars().all(fits) && !word.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{what} '{word}': expected letters, digits and underscores, and no digit first"
    )))
}

/// The tables in the folder of a run: whole centipawns, half away from zero, in the usual form of the language.
/// Values that do not fit 32 bits become the nearest that do.
pub fn tables(file: &ParameterFile, language: Language) -> String {
    let options = CodeOptions::new(language);
    let mut file = file.clone();
    for record in &mut file.parameters {
        // Integers cannot hold them.
        for value in [&mut record.mg, &mut record.eg].into_iter().filter(|value| !value.is_finite()) {
            *value = if value.is_nan() { 0.0 } else { f64::from(i32::MAX).copysign(*value) };
        }
    }
    file.provenance.changed = rounded(&file, Rounding::Whole);
    let header = Header::new(&file, Format::Code(language).name());
    Writer::new(&file, &options, Rounding::Whole, Overflow::Saturate)
        .text(Some(&header))
        .expect("whole numbers that are cut to 32 bits can be written, and full tables need no symmetry")
}

#[cfg(test)]
mod tests;
