//! `gputexel spsa convert`: converts parameter lists between programs.

use std::io::Write;
use std::path::{Path, PathBuf};

use gputexel::io::{check_target, write_atomically};
use gputexel::spsa::lists::{
    ConversionError, Converted, FillingPlan, ListFormat, ListOptions, Setting, convert, parse_list, read_list,
};
use gputexel::{Error, Result};
use serde_json::json;

use super::super::context::Context;
use super::super::output::write_stdout;
use super::super::target::{check_file_flags, or_stdout};

/// Flags of `spsa convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct ConvertArgs {
    /// Parameter list; - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT")]
    to: ListFormat,
    /// Input format [default: from the content and file extension]
    #[arg(long, value_name = "FORMAT")]
    from: Option<ListFormat>,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Take starting values from this file: a list in any format, or a log of values
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
    /// Number of games (two per pair), to plan missing settings
    #[arg(long, value_name = "N")]
    games: Option<u64>,
    /// Elo that each parameter may gain [default: its simul_elo]
    #[arg(long, value_name = "ELO", requires = "games")]
    elo: Option<f64>,
    /// Expected draw rate [default: 0.5]
    #[arg(long, value_name = "D", requires = "games")]
    draw_rate: Option<f64>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

fn after_help() -> String {
    let formats: String =
        ListFormat::ALL.map(|format| format!("  {:15}  {}\n", format.name(), format.form())).concat();
    format!(
        "Formats:\n{formats}\n{AFTER_FORMATS}\n\nExamples:\n  gputexel spsa convert list.txt --to openbench"
    )
}

const AFTER_FORMATS: &str = "\
Settings that the new format requires and the old one lacks are reported; with --games and --elo they are \
planned: c_end is a 20th of the range, the best value is assumed to be c_end / 2.2 away, and r_end, s and \
sigma are those of 'spsa plan'.\n\n\
weather-factory: with --games and an spsa.json next to config.json, c_end = step c / T^gamma and \
r_end = a / (A + T)^alpha / (c / T^gamma)\u{b2} after T games; else c_end = step. To weather-factory, \
the same is written back: spsa.json next to the file of -o, without -o as a note. It has one gain for \
all parameters, the geometric mean where they differ. cutechess.json, which names engine and book, is not \
written.";

/// # Errors
/// Bad usage, lists that cannot be read, settings that the new format cannot express.
pub fn run(args: &ConvertArgs, context: &Context) -> anyhow::Result<()> {
    check_file_flags(&args.output, &[("--force", args.force)])?;
    let output = or_stdout(&args.output);
    check_target(output, args.force)?;
    let gains_path = output.map(|path| path.with_file_name("spsa.json"));
    if args.games.is_some_and(|games| games < 2) {
        return Err(Error::Usage("--games: must be at least 2, a pair".to_string()).into());
    }
    let options = ListOptions { games: args.games };
    let list = if args.input == Path::new("-") {
        let name = "standard input";
        let bytes = gputexel::io::read_limited(std::io::stdin().lock(), gputexel::io::SETTINGS_BYTES)
            .map_err(|e| Error::io(name, e))?;
        parse_list(&bytes, Path::new(name), args.from, options, None)?
    } else {
        read_list(&args.input, args.from, options)?
    };
    let plan = args.games.map(|games| FillingPlan {
        pairs: games / 2,
        draw_rate: args.draw_rate.unwrap_or(0.5),
        elo: args.elo,
    });
    let Converted { list, text, gains, mut notes } =
        convert(list, args.to, options, args.values.as_deref(), plan.as_ref()).map_err(name_flags)?;
    let mut second = None;
    match (output, &gains, &gains_path) {
        (Some(path), Some(gains), Some(beside)) => {
            if beside == path {
                let why = "is the name of weather-factory's second file; the first is config.json";
                return Err(Error::Usage(format!("{}: {why}", path.display())).into());
            }
            check_target(Some(beside), args.force)?;
            write_atomically(path, text.as_bytes())?;
            write_atomically(beside, gains.as_bytes())?;
            second = Some(beside.display().to_string());
        }
        (Some(path), ..) => write_atomically(path, text.as_bytes())?,
        (None, Some(gains), _) => {
            let one_line = gains.split_whitespace().collect::<Vec<_>>().join(" ");
            notes.push(format!("spsa.json that ends with c_end and r_end: {one_line}"));
        }
        (None, None, _) => {}
    }
    if context.json {
        let mut report = json!({
            "from": list.format.to_string(), "to": args.to.to_string(),
            "parameters": list.entries, "notes": notes,
        });
        match output {
            Some(path) => {
                report["output"] = json!(path.display().to_string());
                if let Some(second) = second {
                    report["gains_output"] = json!(second);
                }
            }
            None => report["text"] = json!(text),
        }
        return Ok(write_stdout(&format!("{report}\n"))?);
    }
    if output.is_none() {
        write_stdout(&text)?;
    }
    Ok(remark(&notes, context)?)
}

fn name_flags(error: ConversionError) -> Error {
    match error {
        ConversionError::Other(error) => error,
        ConversionError::Missing { setting: Setting::Min | Setting::Max, .. } => {
            Error::Usage(error.to_string())
        }
        ConversionError::Missing { .. } => Error::Usage(format!("{error}; use --games N --elo E to plan it")),
        ConversionError::Filling(_) => Error::Usage(format!("{error}: give --elo")),
    }
}

pub fn remark(notes: &[String], context: &Context) -> Result<()> {
    if context.quiet {
        return Ok(());
    }
    for note in notes {
        let note = gputexel::io::printable(note);
        writeln!(std::io::stderr(), "gputexel: note: {note}").map_err(|e| Error::io("standard error", e))?;
    }
    Ok(())
}
