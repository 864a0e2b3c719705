//! `gputexel extract`: converts games or labeled positions to a dataset, or writes the positions themselves.

use std::path::{Path, PathBuf};

use gputexel::chess::PhaseSettings;
use gputexel::chess::selection::Selection;
use gputexel::conversion::{ConversionSettings, convert};
use gputexel::extraction::{ExtractSettings, Report, extract};
use gputexel::formats::Format;
use gputexel::model::{FeatureKind, FeatureSet};

use super::context::Context;
use super::convert::describe as describe_conversion;
use super::output::print_result;
use super::reading::{ReadingArgs, describe_source, speed};
use super::reading_progress::with_progress;
use super::subcommand::{Subcommand, short_help};
use super::table::{bytes, counted, result_table};

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "output", "positions", "model", "format", "target", "preset", "resolve", "share",
        "per-game", "threads",
    ])),
    after_help = EXAMPLES,
    after_long_help = after_help()
)]
pub struct ExtractArgs {
    /// Games, labeled positions or training data; - reads standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Dataset to write
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file(), required_unless_present = "positions")]
    output: Option<PathBuf>,
    /// Write the positions instead of a dataset: lines 'GAME RESULT FEN [centipawns]', results and scores from
    /// White's point of view, or a format of `gputexel convert` by its extension (.epd, .txt, .binpack ...)
    #[arg(long, value_name = "FILE", value_parser = super::target::file(), conflicts_with_all = [
        "output", "model", "phase",
    ])]
    positions: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    #[arg(
        long,
        value_name = "NAME",
        default_value = "pst",
        help_heading = "Features",
        help = format!("Features: {}", FeatureKind::explained())
    )]
    model: String,
    /// Phase units of knight, bishop, rook and queen, and their maximum
    #[arg(long, value_name = "N,B,R,Q/MAX", default_value = "1,1,2,4/24", help_heading = "Features")]
    phase: String,
    #[command(flatten)]
    reading: ReadingArgs,
}

fn after_help() -> String {
    let training: Vec<_> = Format::training_data().map(Format::name).collect();
    format!(
        "Inputs are games (PGN), labeled positions, one per line, or training data ({}), uncompressed or compressed \
         (zst, gz, bz2); the format is detected from the content. \
         {AFTER_FORMATS}{EXAMPLES}",
        training.join(", ")
    )
}

const AFTER_FORMATS: &str = "\
Results of labeled positions may be written as

  FEN c9 \"1-0\";       FEN [0.5]         FEN | 35 | 1.0    (centipawns, result)
  FEN c9 \"0.33|1-0\";  FEN ;1-0          FEN|1-0
  FEN ce 0.5          FEN ; [0.5]       FEN : 1 : 35 : 30 : 17    (texelutil)
  1-0 FEN             17 1 FEN 35       (game, result, position, optional centipawns)

with a score in any further field (FEN;-12;0.5, FEN [0.5] -12, FEN ce -12; c9 \"1-0\";), \
or as columns under a header line (fen,result,score). With --target score, no results are needed (fen,eval; FEN;35). The syntax is detected and reported, as is the \
point of view of results and scores, separately. Numbers other than 0 to 1 \
(-1, 0 and 1; 0, 1 and 2; percent) are accepted if --results or the header line says so; w, d and b (the \
winner) always, w, d and l (won, drawn, lost) with --results wdl.

For an engine that prints its own trace, --positions writes the selected (and resolved) positions as lines
'GAME RESULT FEN [centipawns]' in place of a dataset:

  gputexel extract games.pgn --resolve quiescence --positions quiet.fens
  engine trace < quiet.fens > trace.svm
  gputexel import trace.svm --schema schema.json -o own.bin\n\n";

const EXAMPLES: &str = "\
Examples:\n  \
gputexel extract games.pgn.zst more.pgn -o dataset.bin\n  \
gputexel extract games.pgn --preset unique --per-game 20 -o d.bin\n  \
gputexel extract positions.epd --model material -o d.bin";

impl ExtractArgs {
    /// Output format of the positions, which are selected as for a dataset.
    fn conversion(&self, output: &Path) -> gputexel::Result<ConversionSettings> {
        let ending = output.extension().and_then(|ending| ending.to_str());
        let format = ending.and_then(Format::of_extension).unwrap_or(Format::Games);
        Ok(ConversionSettings { reading: self.settings()?, format, default_score_cp: None })
    }

    fn settings(&self) -> gputexel::Result<ExtractSettings> {
        let phase = PhaseSettings::parse(&self.phase)?;
        let mut settings = ExtractSettings::new(FeatureSet::new(FeatureKind::parse(&self.model)?, phase));
        self.reading.apply(&mut settings, Selection::default())?;
        settings.force = self.force;
        Ok(settings)
    }
}

impl Subcommand for ExtractArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        if let Some(output) = &self.positions {
            let settings = self.conversion(output)?;
            let report = with_progress(context, |hooks| convert(&self.inputs, &settings, output, hooks))?;
            return print_result(context, &report, || describe_conversion(&report));
        }
        let settings = self.settings()?;
        // Required unless positions are written.
        let output = self.output.as_deref().unwrap_or(Path::new(""));
        let report = with_progress(context, |hooks| extract(&self.inputs, &settings, output, hooks))?;
        print_result(context, &report, || describe(&report))
    }
}

fn describe(report: &Report) -> String {
    let mut text: String = report.sources.iter().map(describe_source).collect();
    let total = report.positions;
    let games = match report.games {
        0 => String::new(),
        games => format!(" of {}", counted(games, "game")),
    };
    text += &format!(
        "{}: {}{games}, {}\n",
        report.output,
        counted(total, "position"),
        bytes(report.output_bytes)
    );
    text += &result_table(&report.results, ["White wins", "Black wins"], total);
    text += &speed(&report.sources, report.seconds, report.bytes_read);
    text
}
