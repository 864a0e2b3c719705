//! `gputexel export` and `gputexel import-params`: write tuned values as text for engines, and read values.

use std::path::PathBuf;

use gputexel::io::{check_present, write_atomically};
use gputexel::model::SquareOrder;
use gputexel::run::are_datasets;
use gputexel::tables::{self, CodeOptions, Format, Like, NameStyle, Rounding, Target};
use gputexel::{Error, Result, dataset};
use serde_json::json;

use super::context::Context;
use super::output::{print_result, write_stdout};
use super::subcommand::{Subcommand, short_help};
use super::table::counted;
use super::target::OutputArgs;

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&["to", "output", "decimals", "evaluation", "style", "orientation"])),
    after_help = "\
The top of each export, and docs/exports.md, explain which index is which square.\n\n\
Examples:\n  \
gputexel export runs/first --to cpp -o src/psqt.hpp\n  \
gputexel export params.json --to c --orientation a8 --split-material\n  \
gputexel export runs/full --evaluation -o evaluation.c\n  \
gputexel export params.json --to uci --style pascal\n  \
gputexel export params.json --to csv --decimals 2")]
pub struct ExportArgs {
    /// Parameter file (params.json), the folder of a run, or pesto
    #[arg(value_name = "PARAMS|RUN")]
    source: PathBuf,
    #[arg(long, value_name = "FORMAT", help = format!("Output format: {}; params is for 'gputexel patch apply' \
        [default: from the extension of --output]", Format::names()))]
    to: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
    /// Write a whole evaluation, values and code, in c, cpp or rust, of pst, classical or full
    #[arg(long, conflicts_with_all = ["orientation", "split_material", "decimals", "untapered", "style"])]
    evaluation: bool,
    /// First square of tables: a1, h1, a8 or h8 [default: a1; for imported datasets, as in the schema]
    #[arg(long, value_name = "SQUARE", help_heading = "Piece-square tables")]
    orientation: Option<SquareOrder>,
    /// Write piece values (means of tables) separately; tables then contain the remainder
    #[arg(long, help_heading = "Piece-square tables")]
    split_material: bool,
    /// Decimal places: 0 to 12, or all [default: 0; json and csv: all]
    #[arg(long, value_name = "N", help_heading = "Numbers")]
    decimals: Option<Rounding>,
    /// Write one number for both phases, for engines without phases (after 'tune --basis tied')
    #[arg(long, help_heading = "Names")]
    untapered: bool,
    /// Naming convention: snake, pascal or screaming [default: the language's convention; uci: the parameters' own
    /// names; params: snake]
    #[arg(long, value_name = "STYLE", help_heading = "Names", value_parser = ["snake", "pascal", "screaming"],
        hide_possible_values = true)]
    style: Option<String>,
}

impl ExportArgs {
    fn format(&self) -> Result<Format> {
        if let Some(name) = &self.to {
            return name.parse();
        }
        let ending =
            self.output.output.as_ref().and_then(|path| path.extension()).and_then(|ending| ending.to_str());
        if let Some(format) = ending.and_then(Format::of_ending) {
            return Ok(format);
        }
        // No format helps if the source is missing.
        check_present(&[&self.source])?;
        Err(Error::Usage("cannot infer the format, use --to".to_string()))
    }

    /// Returns a flag that is given and does not apply to the format.
    fn unused(&self, format: Format) -> Option<&'static str> {
        let code = matches!(format, Format::Code(_));
        let names = code || format == Format::Params || format == Format::Uci;
        let flags = [
            (self.orientation.is_some(), code, "orientation"),
            (self.split_material, code, "split-material"),
            (self.untapered, names, "untapered"),
            (self.style.is_some(), names, "style"),
        ];
        flags.into_iter().find(|(given, used, _)| *given && !used).map(|(.., name)| name)
    }

    fn target(&self, format: Format) -> Result<Target> {
        if let Some(flag) = self.unused(format) {
            return Err(Error::Usage(format!("--{flag} does not apply to {}", format.name())));
        }
        let style = self.style.as_deref().and_then(NameStyle::parse);
        let untapered = self.untapered;
        Ok(match format {
            Format::Json => Target::Json,
            Format::Csv => Target::Csv,
            Format::Uci => Target::Uci { style, untapered },
            Format::Params => Target::Params { style: style.unwrap_or(NameStyle::Snake), untapered },
            Format::Code(language) => Target::Code(CodeOptions {
                language,
                order: self.orientation,
                untapered,
                split: self.split_material,
                style: style.unwrap_or(CodeOptions::new(language).style),
            }),
        })
    }
}

impl Subcommand for ExportArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let format = self.format()?;
        let target = if self.evaluation { None } else { Some(self.target(format)?) };
        let file = self.output.file([&self.source])?;
        let exported = match target {
            Some(target) => {
                let all = matches!(format, Format::Json | Format::Csv);
                let usual = if all { Rounding::All } else { Rounding::Whole };
                tables::export_file(&self.source, target, self.decimals.unwrap_or(usual))?
            }
            None => tables::export_evaluation(&self.source, format)?,
        };
        let Some(path) = file else {
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
        let object = json!({
            "file": path, "format": format.name(), "parameters": count, "k": exported.k,
        });
        print_result(context, &object, || {
            let count = counted(count as u64, "value");
            format!("written     {}: {count} as {}\n", path.display(), format.name())
        })
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads parameter files, CSV with the columns name, mg and eg, setoption lines, and arrays with markers as used by \
`gputexel patch tables`. Anything missing from the file is reported.\n\n\
Examples:\n  \
gputexel import-params values.csv -o params.json\n  \
gputexel import-params src/psqt.cpp --model pst -o psqt.json\n  \
gputexel import-params options.txt --like runs/first -o changed.json")]
pub struct ImportParamsArgs {
    /// File to read: JSON, CSV, UCI options or a source with markers
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Parameter file with the same parameters, which supplies the values that FILE lacks; or a dataset that defines
    /// the parameters
    #[arg(long, value_name = "PARAMS|RUN|DATASET", conflicts_with = "model")]
    like: Option<PathBuf>,
    /// Feature set: pst or material [default: taken from the file]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Subcommand for ImportParamsArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let file = self.output.file(self.like.iter().chain([&self.file]))?;
        let like = match (&self.like, &self.model) {
            (Some(path), _) if path.is_file() && are_datasets(std::slice::from_ref(path))? => {
                Some(Like::Set(Box::new(dataset::read(path)?.metadata().feature_set.clone())))
            }
            (Some(path), _) => Some(Like::file(path)?),
            (None, Some(name)) => Some(Like::set(name)?),
            (None, None) => None,
        };
        let imported = tables::import_file(&self.file, like.as_ref())?;
        let Some(path) = file else {
            for note in &imported.notes {
                let line = format!("{}: {note}", self.file.display());
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
