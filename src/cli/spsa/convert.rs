//! `gputexel spsa convert`: converts parameter lists between programs.

use std::io::Write;
use std::path::{Path, PathBuf};

use gputexel::io::write_atomically;
use gputexel::spsa::lists::{ListFormat, Written, parse_list, read_list, write_list};
use gputexel::{Error, Result};
use serde_json::{Value, json};

use super::super::context::Context;
use super::super::output::write_stdout;
use super::super::target::OutputArgs;

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
    #[command(flatten)]
    output: OutputArgs,
}

fn after_help() -> String {
    let formats: String =
        ListFormat::ALL.map(|format| format!("  {:15}  {}\n", format.name(), format.form())).concat();
    format!(
        "Formats:\n{formats}\nSettings that the new format requires and the old one lacks are reported. Of \
         weather-factory, step is c_end.\n\nExamples:\n  gputexel spsa convert list.txt --to openbench"
    )
}

pub fn run(args: &ConvertArgs, context: &Context) -> anyhow::Result<()> {
    let output = args.output.file::<&str>([])?;
    let mut list = if args.input == Path::new("-") {
        let name = "standard input";
        let bytes = gputexel::io::read_limited(std::io::stdin().lock(), gputexel::io::SETTINGS_BYTES)
            .map_err(|e| Error::io(name, e))?;
        parse_list(&bytes, Path::new(name), args.from)?
    } else {
        read_list(&args.input, args.from)?
    };
    let Written { text, notes } = write_list(&list.entries, args.to)?;
    list.notes.extend(notes);
    if let Some(path) = output {
        write_atomically(path, text.as_bytes())?;
    }
    if context.json {
        let report = json!({
            "from": list.format.to_string(), "to": args.to.to_string(),
            "parameters": list.entries, "notes": list.notes,
        });
        return Ok(print_report(report, output, &text)?);
    }
    if output.is_none() {
        write_stdout(&text)?;
    }
    Ok(remark(&list.notes, context)?)
}

/// Prints JSON with the file that was written, or else its text.
pub fn print_report(mut report: Value, output: Option<&Path>, text: &str) -> Result<()> {
    match output {
        Some(path) => report["output"] = json!(path.display().to_string()),
        None => report["text"] = json!(text),
    }
    write_stdout(&format!("{report}\n"))
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
