//! Export requests, setting by setting. Missing settings default to those usual for the format.

use std::path::Path;

use super::{
    CodeOptions, ExportOptions, Exported, Format, NameStyle, Normalization, PhaseValues, Rounding, Target,
    check_names, export,
};
use gputexel_io::{Error, Result};
use gputexel_model::{Colors, ParameterFile, Prior, SquareOrder, named_parameters};

/// Request of an export; [`options`](Self::options) completes it for a format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportRequest {
    /// The first square of tables: a1, h1, a8 or h8; by default a1, or that of the schema for imported datasets.
    pub orientation: Option<String>,
    /// Colors of the tables: `one`, `both` or `negated`.
    pub colors: Option<String>,
    /// Squares per rank: `8`, or `4` for half tables of symmetric values.
    pub files: Option<String>,
    /// True for piece values separate from tables of squares.
    pub split_material: bool,
    /// Number of decimals: `0` to `12`, or `all`.
    pub decimals: Option<String>,
    /// Denominator of fixed-point numbers in centipawns, instead of `decimals`.
    pub fixed: Option<u32>,
    /// Normalization: `NAME=VALUE`.
    pub normalize: Option<String>,
    /// Pairs of middlegame and endgame values, a table for each, or one for both; by default as usual in the language.
    pub phases: Option<PhaseValues>,
    /// Style of names: `snake`, `pascal` or `screaming`.
    pub style: Option<String>,
    /// Prefix of all names.
    pub prefix: Option<String>,
    /// The class (C#) or package (Go).
    pub module: Option<String>,
    /// True for a text without a header.
    pub no_header: bool,
}

impl ExportRequest {
    /// Returns the name of a setting that does not apply to the format, such as `split material`; requesting it is a
    /// mistake.
    pub fn unused(&self, format: Format) -> Option<&'static str> {
        let code = matches!(format, Format::Code(_));
        let params = format == Format::Params;
        let names = code || params || format == Format::Uci;
        let module = matches!(format, Format::Code(language) if language.module.is_some());
        let settings = [
            (self.orientation.is_some(), code, "orientation"),
            (self.colors.is_some(), code, "colors"),
            (self.files.is_some(), code, "files"),
            (self.split_material, code, "split material"),
            (self.phases == Some(PhaseValues::Pairs), code, "pairs"),
            (self.phases == Some(PhaseValues::Separate), code || params, "separate"),
            (self.phases == Some(PhaseValues::Untapered), names, "untapered"),
            (self.style.is_some(), names, "style"),
            (self.prefix.is_some(), names, "prefix"),
            (self.module.is_some(), module, "module"),
            (self.fixed.is_some(), format != Format::Json, "fixed"),
            (self.no_header, format != Format::Json, "no header"),
        ];
        settings.into_iter().find(|(given, used, _)| *given && !used).map(|(.., name)| name)
    }

    /// Returns true if fixed-point numbers would be written without a record of their scale.
    pub fn lacks_scale(&self, format: Format) -> bool {
        self.no_header && self.fixed.is_some() && !matches!(format, Format::Code(_))
    }

    /// Returns the complete options for a format, without settings that do not apply to it.
    ///
    /// # Errors
    /// [`Error::Usage`] for invalid words.
    pub fn options(&self, format: Format) -> Result<ExportOptions> {
        let rounding = match (&self.decimals, self.fixed, format) {
            (Some(decimals), ..) => decimals.parse()?,
            (None, Some(parts), _) => Rounding::Fixed(parts),
            (None, None, Format::Json | Format::Csv) => Rounding::All,
            (None, None, _) => Rounding::Whole,
        };
        let style = self.style.as_deref().map(|name| {
            NameStyle::parse(name)
                .ok_or_else(|| Error::Usage(format!("style '{name}': expected snake, pascal or screaming")))
        });
        let style = style.transpose()?;
        let prefix = self.prefix.clone().unwrap_or_default();
        let untapered = self.phases == Some(PhaseValues::Untapered);
        let target = match format {
            Format::Json => Target::Json,
            Format::Csv => Target::Csv,
            Format::Uci => Target::Uci { style, prefix, untapered },
            Format::Params => Target::Params { style: style.unwrap_or(NameStyle::Snake), prefix, untapered },
            Format::Code(language) => {
                let usual = CodeOptions::new(language);
                Target::Code(CodeOptions {
                    order: self.order()?,
                    oriented: self.orientation.is_some(),
                    phases: self.phases.unwrap_or(usual.phases),
                    split: self.split_material,
                    style: style.unwrap_or(usual.style),
                    prefix,
                    module: self.module.clone(),
                    language,
                })
            }
        };
        let normalization = self.normalize.as_deref().map(str::parse::<Normalization>).transpose()?;
        Ok(ExportOptions { target, rounding, normalization, header: !self.no_header })
    }

    fn order(&self) -> Result<SquareOrder> {
        let mut order: SquareOrder = self.orientation.as_deref().unwrap_or("a1").parse()?;
        order.files = match self.files.as_deref() {
            None | Some("8") => 8,
            Some("4") => 4,
            Some(other) => return Err(Error::Usage(format!("files '{other}': expected 8 or 4"))),
        };
        order.colors = match self.colors.as_deref() {
            None | Some("one") => Colors::One,
            Some("both") => Colors::Both,
            Some("negated") => Colors::Negated,
            Some(other) => {
                return Err(Error::Usage(format!("colors '{other}': expected one, both or negated")));
            }
        };
        Ok(order)
    }
}

/// Writes the values of a parameter file, or of the one in a run's folder.
///
/// # Errors
/// Errors of [`ParameterFile::locate`], [`ParameterFile::read`] and [`export`]; [`Error::Input`] for invalid phase
/// weights.
pub fn export_file(source: &Path, options: &ExportOptions) -> Result<Exported> {
    export(&parameter_file(source)?, options)
}

/// Reads a parameter file, that of a run's folder, or values named by a word, such as `pesto`.
pub(super) fn parameter_file(path: &Path) -> Result<ParameterFile> {
    if let Some(word) = path.to_str().filter(|text| Prior::is_word(text)) {
        let (set, theta) = named_parameters(word)?;
        return Ok(ParameterFile::new(&set, &theta, None, None));
    }
    let file = ParameterFile::locate(path)?;
    let read = ParameterFile::read(&file)?;
    read.phase.validate().map_err(|error| Error::input(&file, error.to_string()))?;
    check_names(&read).map_err(|reason| Error::input(&file, reason))?;
    Ok(read)
}
