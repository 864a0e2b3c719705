//! `gputexel export` and `gputexel import-params`: tuned values as text for engines, and back.

use std::path::{Path, PathBuf};

use gputexel::chess::PhaseSettings;
use gputexel::model::{Colors, FeatureKind, FeatureSet, ParameterFile, SquareOrder};
use gputexel::tables::sources::start_of;
use gputexel::tables::{
    self, ArrayCheck, CodeOptions, ExportOptions, Format, Like, NameStyle, Normalization, Rounding, Target,
};
use gputexel::{Error, Result, write_atomically};
use serde_json::json;

use super::table::grouped;
use super::targets::{check_apart, check_target};
use super::{Context, say};

/// Flags of `export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The top of each export, and docs/exports.md, explain which index is which square; \
`gputexel import-params` reads all formats back.")]
pub struct ExportArgs {
    /// A parameter file (params.json), or the folder of a run
    #[arg(value_name = "PARAMS|RUN")]
    source: PathBuf,
    /// c, cpp, rust, csharp, go, python, json, csv or uci [default: from the extension of --output]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// The file to write to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// The first square of tables: a1, h1, a8 or h8 [default: a1; for imported datasets, as in the schema]
    #[arg(long, value_name = "SQUARE", help_heading = "Piece-square tables")]
    orientation: Option<String>,
    /// One table for both colors (mirrored for Black), one for each color, or one for each with
    /// Black's values negated [default: one]
    #[arg(long, value_name = "one|both|negated", help_heading = "Piece-square tables")]
    colors: Option<String>,
    /// Files per rank: 8, or 4 for half tables of symmetric values [default: 8]
    #[arg(long, value_name = "N", help_heading = "Piece-square tables")]
    files: Option<String>,
    /// Write piece values (means of tables) separately; tables then contain the remainder
    #[arg(long, help_heading = "Piece-square tables")]
    split_material: bool,
    /// Decimal places: 0 to 12, or all [default: 0; json and csv: all]
    #[arg(long, value_name = "N", help_heading = "Numbers", conflicts_with = "fixed")]
    decimals: Option<String>,
    /// Integers in units of 1/PARTS centipawn: with 256, 1 is written as 256
    #[arg(long, value_name = "PARTS", help_heading = "Numbers", value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    fixed: Option<u32>,
    /// Scale all values, and K inversely, so that one of them has this value: pawn.eg=100
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Numbers")]
    normalize: Option<String>,
    /// Write pairs of middlegame and endgame values [default for cpp and rust]
    #[arg(long, help_heading = "Names", conflicts_with = "separate")]
    pairs: bool,
    /// Write one table for the middlegame and one for the endgame [default for other formats]
    #[arg(long, help_heading = "Names")]
    separate: bool,
    /// snake, pascal or screaming [default: the language's convention; uci: the parameters' own names]
    #[arg(long, value_name = "STYLE", help_heading = "Names")]
    style: Option<String>,
    /// Prefix for all names
    #[arg(long, value_name = "WORD", help_heading = "Names")]
    prefix: Option<String>,
    /// The class (csharp) or package (go) [default: Tables, tables]
    #[arg(long, value_name = "NAME", help_heading = "Names")]
    module: Option<String>,
    /// Omit the header that records where the values come from; K and phase weights are then lost
    #[arg(long)]
    no_header: bool,
}

impl ExportArgs {
    fn format(&self) -> Result<Format> {
        if let Some(name) = &self.to {
            return name.parse();
        }
        let ending =
            self.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
        ending
            .and_then(Format::of_ending)
            .ok_or_else(|| Error::Usage("cannot infer the format, use --to".to_string()))
    }

    /// The flags as a request.
    fn options(&self, format: Format) -> Result<ExportOptions> {
        self.check_use(format)?;
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
        let target = match format {
            Format::Json => Target::Json,
            Format::Csv => Target::Csv,
            Format::Uci => Target::Uci { style, prefix },
            Format::Code(language) => {
                let usual = CodeOptions::new(language);
                Target::Code(CodeOptions {
                    order: self.order()?,
                    oriented: self.orientation.is_some(),
                    pairs: (usual.pairs || self.pairs) && !self.separate,
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

    /// Flags that a format has no use for are mistakes.
    fn check_use(&self, format: Format) -> Result<()> {
        let code = matches!(format, Format::Code(_));
        let names = code || format == Format::Uci;
        let module = matches!(format, Format::Code(language) if language.module().is_some());
        for (given, used, flag) in [
            (self.orientation.is_some(), code, "orientation"),
            (self.colors.is_some(), code, "colors"),
            (self.files.is_some(), code, "files"),
            (self.split_material, code, "split-material"),
            (self.pairs, code, "pairs"),
            (self.separate, code, "separate"),
            (self.style.is_some(), names, "style"),
            (self.prefix.is_some(), names, "prefix"),
            (self.module.is_some(), module, "module"),
            (self.fixed.is_some(), format != Format::Json, "fixed"),
            (self.no_header, format != Format::Json, "no-header"),
        ] {
            if given && !used {
                return Err(Error::Usage(format!("--{flag} does not apply to {}", format.name())));
            }
        }
        if self.no_header && self.fixed.is_some() && !code {
            return Err(Error::Usage(format!(
                "--fixed needs the header: without it, {} does not record the scale of the numbers",
                format.name()
            )));
        }
        Ok(())
    }
}

/// The parameter file that a path stands for: itself, or that of a run's folder.
fn parameter_file(path: &Path) -> Result<ParameterFile> {
    let file = ParameterFile::locate(path)?;
    let read = ParameterFile::read(&file)?;
    read.phase.validate().map_err(|error| Error::input(&file, error.to_string()))?;
    Ok(read)
}

/// Runs `export`.
///
/// # Errors
/// Files that cannot be read or written, values that do not fit what is asked for.
pub fn run(args: &ExportArgs, context: &Context) -> anyhow::Result<()> {
    let format = args.format()?;
    let options = args.options(format)?;
    check_target(args.output.as_deref(), args.force)?;
    check_apart(&[args.output.as_deref()], &[&args.source])?;
    let file = parameter_file(&args.source)?;
    let exported = tables::export(&file, &options)?;
    let Some(path) = &args.output else {
        return Ok(say(&exported.text)?);
    };
    write_atomically(path, exported.text.as_bytes())?;
    let count = 2 * file.parameters.len();
    let text = if context.json {
        let told_apart: serde_json::Map<String, serde_json::Value> =
            exported.told_apart.iter().map(|(name, identifier)| (name.clone(), json!(identifier))).collect();
        let object = json!({
            "file": path, "format": format.name(), "parameters": count, "factor": exported.factor,
            "k": exported.k, "told_apart": told_apart,
        });
        format!("{object}\n")
    } else if context.quiet {
        String::new()
    } else {
        let mut text = format!(
            "written     {}: {} values as {}\n",
            path.display(),
            grouped(count as u64),
            format.name()
        );
        if let Some(factor) = exported.factor {
            let k = match (file.k, exported.k) {
                (Some(old), Some(new)) => format!("; K {old:.6} becomes {new:.6}"),
                _ => String::new(),
            };
            text += &format!("scaled      by {factor:.6}{k}\n");
        }
        for (name, identifier) in &exported.told_apart {
            text +=
                &format!("name        {name:?} becomes {identifier}: its name would collide with another\n");
        }
        text
    };
    Ok(say(&text)?)
}

/// Flags of `import-params`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads the output of `gputexel export`, arrays with markers as used by `gputexel patch tables`, CSV with \
the columns name, mg and eg, and setoption lines. Anything missing from the file is reported.")]
pub struct ImportParamsArgs {
    /// An export: source code, CSV, UCI options or JSON
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A parameter file with the same parameters, which supplies what FILE lacks
    #[arg(long, value_name = "PARAMS|RUN", conflicts_with = "model")]
    like: Option<PathBuf>,
    /// The feature set: pst or material [default: taken from the file]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Read arrays as their markers say even if the values of --like are in a different order
    #[arg(long)]
    trust_marker: bool,
    /// The parameter file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

/// Runs `import-params`.
///
/// # Errors
/// Files that are no exports or do not belong together, and those that cannot be read or written.
pub fn run_import(args: &ImportParamsArgs, context: &Context) -> anyhow::Result<()> {
    check_target(args.output.as_deref(), args.force)?;
    check_apart(&[args.output.as_deref()], &[&args.file])?;
    let like = match (&args.like, args.model.as_deref()) {
        (Some(path), _) => Some(Like::File(Box::new(parameter_file(path)?))),
        (None, Some(model)) => {
            Some(Like::Set(FeatureSet::new(FeatureKind::parse(model)?, PhaseSettings::default())))
        }
        (None, None) => None,
    };
    if args.file.is_dir() {
        return Err(Error::input(&args.file, "is a folder; expected an export").into());
    }
    let bytes = gputexel::read_whole(&args.file, gputexel::SETTINGS_BYTES)
        .map_err(|error| Error::io(&args.file, error))?;
    let start = args.like.as_deref().map(start_of).transpose()?.flatten();
    let check = ArrayCheck { start, trust: args.trust_marker };
    let imported = tables::import_as(&bytes, &args.file, like.as_ref(), &check)?;
    let Some(path) = &args.output else {
        if !context.quiet {
            for note in &imported.notes {
                let line = format!("{}: {note}", args.file.display());
                eprintln!("gputexel: {}", gputexel::printable(&line));
            }
        }
        return Ok(say(&imported.file.to_json())?);
    };
    write_atomically(path, imported.file.to_json().as_bytes())?;
    let count = 2 * imported.file.parameters.len();
    let text = if context.json {
        let object = json!({
            "file": path, "format": imported.format.name(), "feature_set": imported.file.feature_set,
            "parameters": count, "k": imported.file.k, "notes": imported.notes,
        });
        format!("{object}\n")
    } else if context.quiet {
        String::new()
    } else {
        let set = &imported.file.feature_set;
        let notes: String = imported.notes.iter().map(|note| format!("note        {note}\n")).collect();
        format!("written     {}: {} values ({set})\n{notes}", path.display(), grouped(count as u64))
    };
    Ok(say(&text)?)
}
