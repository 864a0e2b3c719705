//! `gputexel import`: converts traces of an engine's own features to a dataset.

use std::path::{Path, PathBuf};

use gputexel::Error;
use gputexel::conversion::ConversionSettings;
use gputexel::dataset;
use gputexel::formats::Format;
use gputexel::io::{Advice, check_apart};
use gputexel::run::wrong_trace;
use gputexel::trace::{CompiledSchema, ImportReport, ImportSettings, import};
use gputexel::tracing::{Tracing, are_positions, import_traced};

use super::context::Context;
use super::output::print_result;
use super::reading_progress::with_progress;
use super::subcommand::{Subcommand, short_help};
use super::table::{aligned, bytes, counted, grouped, percent, result_table};
use super::trace_command::TraceCommandArgs;

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&["schema", "output", "trace-command", "threads"])),
    after_help = "\
A trace is text in SVMlight format, one position per line, plain or compressed (zst, gz, bz2):

  result [qid:GAME] index:coefficient index:coefficient ... # FEN

The schema is JSON and defines the indices:

  gputexel import trace.svm --schema schema.json -o dataset.bin
  gputexel tune dataset.bin

With --trace-command, inputs are positions, and an engine is asked for their traces; one that traces itself \
(gputexel trace) brings its schema:

  gputexel import quiet.fens --trace-command ./engine-trace -o dataset.bin
  gputexel import all.fens --trace-command 'engine trace' --schema schema.json -o dataset.bin

docs/import.md describes both formats, and has a program in C++ that prints a trace.\n\n\
Examples:\n  \
gputexel import trace.svm --schema schema.json -o dataset.bin")]
pub struct ImportArgs {
    /// Traces; - reads standard input. With --trace-command, positions: lines 'GAME RESULT FEN [SCORE]', as written
    /// by `extract --positions`, or any format that `convert` reads
    #[arg(required = true, value_name = "TRACE")]
    inputs: Vec<PathBuf>,
    /// Schema that defines the indices [default: an engine that traces itself is asked for it]
    #[arg(long, value_name = "FILE", required_unless_present = "trace_command")]
    schema: Option<PathBuf>,
    /// Dataset to write
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Stop, and write nothing, if more than this share of the lines is unusable
    #[arg(long, value_name = "SHARE", value_parser = crate::cli::target::share, default_value_t = 0.1)]
    max_bad_share: f64,
    /// Accept results as they are, even if they clearly contradict material
    #[arg(long)]
    trust_results: bool,
    /// Worker threads [default: one per core]; does not change the output
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    tracing: TraceCommandArgs,
}

impl ImportArgs {
    fn settings(&self, schema: CompiledSchema) -> ImportSettings {
        let settings = ImportSettings::new(schema);
        ImportSettings {
            max_bad_share: self.max_bad_share,
            threads: self.threads.unwrap_or(settings.threads),
            force: self.force,
            trust_results: self.trust_results,
            ..settings
        }
    }
}

impl Subcommand for ImportArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let output = self.output.as_path();
        self.schema.iter().try_for_each(|schema| check_apart(Some(output), &[schema]))?;
        let mut configure = |schema| Ok(self.settings(schema));
        let report = match self.tracing.command()? {
            None => {
                let is_wrong =
                    |path: &&PathBuf| path.as_os_str() != "-" && are_positions(path).unwrap_or(false);
                if let Some(path) = self.inputs.iter().find(is_wrong) {
                    let advice = Advice::default().text("give ").setting("trace-command", "ENGINE");
                    let reason = "has positions, which an engine has to trace";
                    return Err(Error::input(path, reason).advise(advice).into());
                }
                let schema = self.schema.as_deref().unwrap_or(Path::new(""));
                let settings = configure(CompiledSchema::read(schema)?)?;
                with_progress(context, |hooks| import(&self.inputs, &settings, output, hooks))?
            }
            Some(command) => {
                let mut reading = ConversionSettings::everything(Format::Games).reading;
                reading.max_bad_share = self.max_bad_share;
                reading.force = self.force;
                reading.threads = self.threads.unwrap_or(reading.threads);
                let tracing =
                    Tracing { command: &command, schema: self.schema.as_deref(), reading, played: None };
                with_progress(context, |hooks| {
                    import_traced(&self.inputs, &tracing, output, hooks, &mut configure)
                })?
            }
        };
        if let Some(wrong) = wrong_trace(&dataset::read(output)?) {
            note!("gputexel: warning: {}: {wrong}", output.display());
        }
        print_result(context, &report, || describe(&report))
    }
}

fn describe(report: &ImportReport) -> String {
    let mut text = String::new();
    for source in &report.sources {
        let record = &source.record;
        text += &format!(
            "{}: {} of {}\n",
            record.path,
            grouped(record.positions),
            counted(record.records, "line")
        );
        let rows: Vec<Vec<String>> = record
            .left_out
            .iter()
            .map(|(kind, count)| vec![format!("- {kind}"), grouped(*count), percent(*count, record.records)])
            .collect();
        text += &aligned(&rows, 2);
        source.complaints.iter().for_each(|line| text += &format!("  {line}\n"));
        for line in &source.warnings {
            text += &format!("  warning: {}\n", gputexel::io::printable(line));
        }
    }
    let games = match report.games {
        0 => String::new(),
        games => format!(" of {}", counted(games, "game")),
    };
    text += &format!(
        "{}: {}{games}, {}, {:.1} coefficients per position, {}\n",
        report.output,
        counted(report.positions, "position"),
        counted(report.features as u64, "feature"),
        report.entries as f64 / report.positions.max(1) as f64,
        bytes(report.output_bytes)
    );
    let sides = if report.relative {
        ["side to move wins", "side to move loses"]
    } else {
        ["White wins", "Black wins"]
    };
    text += &result_table(&report.results, sides, report.positions);
    if report.scales > 1 {
        text += &format!("  {} endgame scale factors\n", report.scales);
    }
    if let Some(first) = &report.first_inexact {
        text += &format!("  coefficients stored in f32: some are not exact in f16, the first {first}\n");
    }
    text += &format!(
        "{:.2} s, {}/s of text\n",
        report.seconds,
        bytes((report.bytes_of_text as f64 / report.seconds.max(1e-9)) as u64)
    );
    text
}
