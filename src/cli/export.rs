//! `gputexel export` and `gputexel import-params`: write tuned values as text for engines, and read values.

use std::path::PathBuf;

use gputexel::dataset;
use gputexel::io::{check_outputs, check_present, write_atomically};
use gputexel::model::{Colors, SquareOrder};
use gputexel::run::are_datasets;
use gputexel::tables::{
    self, CodeOptions, EvaluationRequest, ExportOptions, Format, ImportRequest, LikeSource, NameStyle,
    Normalization, PhaseValues, Rounding, Target,
};
use gputexel::{Error, Result};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::output::{print_result, write_stdout};
use super::subcommand::{Subcommand, short_help};
use super::table::counted;
use super::target::{check_file_flags, or_stdout};

/// Flags of `export`.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "to", "output", "decimals", "evaluation", "normalize", "style", "prefix", "orientation",
    ])),
    after_help = "\
The top of each export, and docs/exports.md, explain which index is which square.\n\n\
Examples:\n  \
gputexel export runs/first --to cpp -o src/psqt.hpp\n  \
gputexel export params.json --to c --orientation a8 --split-material\n  \
gputexel export params.json --to rust --fixed 256 --normalize pawn.eg=100\n  \
gputexel export params.json --to csharp --colors both --module Psqt\n  \
gputexel export params.json --files 4 -o tables.go --force\n  \
gputexel export runs/full --evaluation -o evaluation.c\n  \
gputexel export params.json --to uci --style pascal --prefix Tune\n  \
gputexel export params.json --to csv --decimals 2 --no-header")]
pub struct ExportArgs {
    /// Parameter file (params.json), the folder of a run, or pesto
    #[arg(value_name = "PARAMS|RUN")]
    source: PathBuf,
    #[arg(long, value_name = "FORMAT", help = format!("Output format: {}; params is for 'gputexel patch apply' \
        [default: from the extension of --output]", Format::names()))]
    to: Option<String>,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
    /// Write a whole evaluation, values and code, in c, cpp or rust, of pst, king-pst, classical or full
    #[arg(long, conflicts_with_all = ["orientation", "colors", "files", "split_material", "decimals", "fixed",
        "normalize", "pairs", "separate", "untapered", "style", "prefix", "no_header"])]
    evaluation: bool,
    /// First square of tables: a1, h1, a8 or h8 [default: a1; for imported datasets, as in the schema]
    #[arg(long, value_name = "SQUARE", help_heading = "Piece-square tables")]
    orientation: Option<SquareOrder>,
    /// One table for both colors (mirrored for Black), one for each color, or one for each with
    /// Black's values negated [default: one]
    #[arg(long, value_name = "one|both|negated", help_heading = "Piece-square tables",
        value_parser = ["one", "both", "negated"], hide_possible_values = true)]
    colors: Option<String>,
    /// Files per rank: 8, or 4 for half tables of symmetric values [default: 8]
    #[arg(long, value_name = "N", help_heading = "Piece-square tables", value_parser = ["8", "4"],
        hide_possible_values = true)]
    files: Option<String>,
    /// Write piece values (means of tables) separately; tables then contain the remainder
    #[arg(long, help_heading = "Piece-square tables")]
    split_material: bool,
    /// Decimal places: 0 to 12, or all [default: 0; json and csv: all]
    #[arg(long, value_name = "N", help_heading = "Numbers", conflicts_with = "fixed")]
    decimals: Option<Rounding>,
    /// Integers in units of 1/PARTS centipawn: with 256, 1 is written as 256
    #[arg(long, value_name = "PARTS", help_heading = "Numbers", value_parser = clap::value_parser!(u32).range(2..=1 << 20))]
    fixed: Option<u32>,
    /// Scale all values, and K inversely, so that one of them has this value (pawn.eg=100)
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Numbers")]
    normalize: Option<Normalization>,
    /// Write pairs of middlegame and endgame values [default for cpp and rust]
    #[arg(long, help_heading = "Names", conflicts_with_all = ["separate", "untapered"])]
    pairs: bool,
    /// Write one table for the middlegame and one for the endgame [default for other formats]
    #[arg(long, help_heading = "Names", conflicts_with = "untapered")]
    separate: bool,
    /// Write one number for both phases, for engines without phases (after 'tune --basis tied')
    #[arg(long, help_heading = "Names")]
    untapered: bool,
    /// Naming convention: snake, pascal or screaming [default: the language's convention; uci: the parameters' own
    /// names; params: snake]
    #[arg(long, value_name = "STYLE", help_heading = "Names", value_parser = ["snake", "pascal", "screaming"],
        hide_possible_values = true)]
    style: Option<String>,
    /// Prefix for all names
    #[arg(long, value_name = "WORD", help_heading = "Names")]
    prefix: Option<String>,
    /// Name of the class (csharp), package (go) or namespace (cpp, with --evaluation) [default: Tables, tables,
    /// evaluation]
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
        if let Some(format) = ending.and_then(Format::of_ending) {
            return Ok(format);
        }
        // No format helps if the source is missing.
        check_present(&[&self.source])?;
        Err(Error::Usage("cannot infer the format, use --to".to_string()))
    }

    fn phases(&self) -> Option<PhaseValues> {
        let flags = [
            (self.pairs, PhaseValues::Pairs),
            (self.separate, PhaseValues::Separate),
            (self.untapered, PhaseValues::Untapered),
        ];
        flags.into_iter().find_map(|(given, phases)| given.then_some(phases))
    }

    /// Returns a flag that is given and does not apply to the format.
    fn unused(&self, format: Format) -> Option<&'static str> {
        let code = matches!(format, Format::Code(_));
        let params = format == Format::Params;
        let names = code || params || format == Format::Uci;
        let module = matches!(format, Format::Code(language) if CodeOptions::new(language).has_module());
        let flags = [
            (self.orientation.is_some(), code, "orientation"),
            (self.colors.is_some(), code, "colors"),
            (self.files.is_some(), code, "files"),
            (self.split_material, code, "split-material"),
            (self.pairs, code, "pairs"),
            (self.separate, code || params, "separate"),
            (self.untapered, names, "untapered"),
            (self.style.is_some(), names, "style"),
            (self.prefix.is_some(), names, "prefix"),
            (self.module.is_some(), module, "module"),
            (self.fixed.is_some(), format != Format::Json, "fixed"),
            (self.no_header, format != Format::Json, "no-header"),
        ];
        flags.into_iter().find(|(given, used, _)| *given && !used).map(|(.., name)| name)
    }

    fn options(&self, format: Format) -> Result<ExportOptions> {
        let name = format.name();
        if let Some(flag) = self.unused(format) {
            return Err(Error::Usage(format!("--{flag} does not apply to {name}")));
        }
        if self.no_header && self.fixed.is_some() && !matches!(format, Format::Code(_)) {
            let reason = "--fixed needs the header: without it,";
            return Err(Error::Usage(format!("{reason} {name} does not record the scale of the numbers")));
        }
        let rounding = match (self.decimals, self.fixed, format) {
            (Some(decimals), ..) => decimals,
            (None, Some(parts), _) => Rounding::Fixed(parts),
            (None, None, Format::Json | Format::Csv) => Rounding::All,
            (None, None, _) => Rounding::Whole,
        };
        Ok(ExportOptions {
            target: self.target(format),
            rounding,
            normalization: self.normalize.clone(),
            header: !self.no_header,
        })
    }

    fn target(&self, format: Format) -> Target {
        let style = self.style.as_deref().and_then(NameStyle::parse);
        let prefix = self.prefix.clone().unwrap_or_default();
        let untapered = self.untapered;
        match format {
            Format::Json => Target::Json,
            Format::Csv => Target::Csv,
            Format::Uci => Target::Uci { style, prefix, untapered },
            Format::Params => Target::Params { style: style.unwrap_or(NameStyle::Snake), prefix, untapered },
            Format::Code(language) => {
                let usual = CodeOptions::new(language);
                let order = SquareOrder {
                    files: if self.files.as_deref() == Some("4") { 4 } else { 8 },
                    colors: match self.colors.as_deref() {
                        Some("both") => Colors::Both,
                        Some("negated") => Colors::Negated,
                        _ => Colors::One,
                    },
                    ..self.orientation.unwrap_or_default()
                };
                Target::Code(CodeOptions {
                    order,
                    oriented: self.orientation.is_some(),
                    phases: self.phases().unwrap_or(usual.phases),
                    split: self.split_material,
                    style: style.unwrap_or(usual.style),
                    prefix,
                    module: self.module.clone(),
                    language,
                })
            }
        }
    }
}

impl Subcommand for ExportArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        check_file_flags(&self.output, &[("--force", self.force)])?;
        let format = self.format()?;
        let options = if self.evaluation { None } else { Some(self.options(format)?) };
        check_outputs(&[or_stdout(&self.output)], [&self.source], self.force)?;
        let exported = match &options {
            Some(options) => tables::export_file(&self.source, options)?,
            None => EvaluationRequest { format, namespace: self.module.clone() }.export(&self.source)?,
        };
        let Some(path) = or_stdout(&self.output) else {
            let text = match context.json {
                // Output that is JSON already is printed as the object itself.
                true if format.name() != "json" => {
                    let object = json!({ "format": format.name(), "parameters": exported.values, "text": exported.text });
                    format!("{object}\n")
                }
                _ => exported.text,
            };
            return Ok(write_stdout(&text)?);
        };
        write_atomically(path, exported.text.as_bytes())?;
        let count = exported.values;
        let told_apart: Map<String, Value> =
            exported.told_apart.iter().map(|(name, identifier)| (name.clone(), json!(identifier))).collect();
        let object = json!({
            "file": path, "format": format.name(), "parameters": count, "factor": exported.factor,
            "k": exported.k, "told_apart": told_apart,
        });
        print_result(context, &object, || {
            let mut text = format!(
                "written     {}: {} as {}\n",
                path.display(),
                counted(count as u64, "value"),
                format.name()
            );
            if let Some(factor) = exported.factor {
                let k = match (exported.old_k, exported.k) {
                    (Some(old), Some(new)) => format!("; K {old:.6} becomes {new:.6}"),
                    _ => String::new(),
                };
                text += &format!("scaled      by {factor:.6}{k}\n");
            }
            for (name, identifier) in &exported.told_apart {
                text += &format!(
                    "name        {name:?} becomes {identifier}: its name would collide with another\n"
                );
            }
            text
        })
    }
}

/// Flags of `import-params`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads parameter files, CSV with the columns name, mg and eg, setoption lines, and arrays with markers as used by \
`gputexel patch tables`. Anything missing from the file is reported.\n\n\
Examples:\n  \
gputexel import-params values.csv -o params.json\n  \
gputexel import-params src/psqt.cpp --model pst -o psqt.json\n  \
gputexel import-params options.txt --like runs/first -o changed.json")]
pub struct ImportParamsArgs {
    /// File to read: JSON, CSV, UCI options or a source with markers; or several sources that together contain the
    /// values, with --like or --model
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Parameter file with the same parameters, which supplies the values that FILE lacks; or a dataset that defines
    /// the parameters
    #[arg(long, value_name = "PARAMS|RUN|DATASET", conflicts_with = "model")]
    like: Option<PathBuf>,
    /// Feature set: pst or material [default: taken from the file]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Parameter file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

impl Subcommand for ImportParamsArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        check_file_flags(&self.output, &[("--force", self.force)])?;
        check_outputs(&[or_stdout(&self.output)], self.like.iter().chain(&self.files), self.force)?;
        let file = match &self.like {
            Some(path) if path.is_file() && are_datasets(std::slice::from_ref(path))? => {
                Some(LikeSource::Features(Box::new(dataset::read(path)?.metadata().feature_set.clone())))
            }
            path => path.clone().map(LikeSource::File),
        };
        let request = ImportRequest {
            files: self.files.clone(),
            like: file.or_else(|| self.model.clone().map(LikeSource::Set)),
        };
        let imported = tables::import_files(&request)?;
        let Some(path) = or_stdout(&self.output) else {
            let files =
                self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
            for note in &imported.notes {
                let line = format!("{files}: {note}");
                note!("gputexel: {}", gputexel::io::printable(&line));
            }
            return Ok(write_stdout(&imported.file.to_json())?);
        };
        write_atomically(path, imported.file.to_json().as_bytes())?;
        let count = 2 * imported.file.parameters.len();
        let object = json!({
            "file": path, "format": imported.format.name(), "feature_set": imported.file.feature_set,
            "parameters": count, "k": imported.file.k, "notes": imported.notes,
        });
        print_result(context, &object, || {
            let set = &imported.file.feature_set;
            let notes: String = imported.notes.iter().map(|note| format!("note        {note}\n")).collect();
            format!("written     {}: {} ({set})\n{notes}", path.display(), counted(count as u64, "value"))
        })
    }
}
