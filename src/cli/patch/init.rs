//! `gputexel patch init`: writes a first block from lines of a source.

use std::path::{Path, PathBuf};

use gputexel::io::counted;
use gputexel::patch::{self, Draft, DraftOptions, DraftOutput, InitReport, InitRequest, SourceLines};
use serde_json::json;

use super::super::context::Context;
use super::super::output::{print_text, write_stdout};
use super::super::target::{check_file_flags, or_stdout};

/// Flags of `init`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  gputexel patch init src/search.cpp:120 --declaration TUNE_HERE --options OPTIONS_HERE -o engine.tune"
)]
pub struct InitArgs {
    /// Source file and line, or a range of lines as in search.cpp:10-14
    #[arg(value_name = "SOURCE:LINE")]
    place: String,
    /// Folder that will be passed to tune and apply [default: that of the source]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Name of the context, which prefixes its parameters [default: from the source]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Marker in the source line below which parameters are declared
    #[arg(long, value_name = "MARKER", value_parser = marker)]
    declaration: Option<String>,
    /// Marker in the source line below which options are offered
    #[arg(long, value_name = "MARKER", value_parser = marker)]
    options: Option<String>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE.tune")]
    output: Option<PathBuf>,
    /// Add the block to the end of the file
    #[arg(long, requires = "output")]
    append: bool,
    /// Overwrite the file
    #[arg(long, requires = "output", conflicts_with = "append")]
    force: bool,
}

fn marker(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) || text.contains("//") {
        return Err("expected a word, without // and spaces".to_string());
    }
    Ok(text.to_string())
}

/// # Errors
/// Invalid places, lines without numbers, files that already exist.
pub fn run(args: &InitArgs, context: &Context) -> anyhow::Result<()> {
    let SourceLines { source, first, last } = args.place.parse()?;
    check_file_flags(&args.output, &[("--append", args.append), ("--force", args.force)])?;
    let target = or_stdout(&args.output);
    let output = match target.map(Path::to_path_buf) {
        None => DraftOutput::None,
        Some(path) if args.append => DraftOutput::Append(path),
        Some(path) if args.force => DraftOutput::Replace(path),
        Some(path) => DraftOutput::Create(path),
    };
    let options = DraftOptions {
        folder: args.root.clone(),
        name: args.name.clone(),
        declaration: args.declaration.clone(),
        options: args.options.clone(),
        taken: Vec::new(),
    };
    let request = InitRequest { source, lines: (first, last), options, output };
    let InitReport { draft, has_markers } = patch::init(&request)?;
    if context.json {
        let mut object = json!(draft);
        object["output"] = json!(target);
        return Ok(write_stdout(&format!("{object}\n"))?);
    }
    if !context.quiet {
        notes(&draft, &request.source, has_markers);
    }
    match target {
        None => Ok(write_stdout(&draft.text)?),
        Some(_) if context.quiet => Ok(()),
        Some(path) => {
            let count = counted(draft.values.len() as u64, "number");
            Ok(print_text(&format!("{}: context {}, {count}\n", path.display(), draft.name))?)
        }
    }
}

/// Prints notes about the block to standard error, as the block itself may go to a file.
fn notes(draft: &Draft, source: &Path, has_markers: bool) {
    if !draft.left.is_empty() {
        note!("not marked, because the format does not support such numbers: {}", draft.left.join(", "));
    }
    for marker in &draft.markers_missing {
        let source = source.display();
        note!("marker {marker} must be in exactly one line of {source} for 'tune' to work");
    }
    if !has_markers {
        note!("the parameters are not declared or offered anywhere yet; see --declaration and --options");
    }
}
