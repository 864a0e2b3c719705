//! `gputexel extract`: games or labeled positions in, a dataset out.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::king_flags::KingArgs;
use gputexel::chess::PhaseSettings;
use gputexel::chess::selection::Selection;
use gputexel::extraction::{ExtractSettings, Report, extract};

use super::memory::MemoryArgs;
use super::reading::{ReadingArgs, describe_source};
use super::reading_progress::with_progress;
use super::table::{bytes, counted, grouped, result_table};
use super::{Context, answer};

/// Flags of `extract`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Inputs are games (PGN), labeled positions, one per line, or training data (binpack, bulletformat, \
viriformat, marlinformat, Stockfish's plain, evaluations of Lichess), plain, compressed (zst, gz, bz2, xz) or in an archive (tar, zip); the format is \
detected from the content. Results of labeled positions may be written as

  FEN c9 \"1-0\";       FEN [0.5]         FEN | 35 | 1.0    (centipawns, result)
  FEN c9 \"0.33|1-0\";  FEN ;1-0          FEN|1-0
  FEN ce 0.5          FEN ; [0.5]       FEN : 1 : 35 : 30 : 17    (texelutil)

or as columns under a header line (fen,result,score). The syntax is detected and reported, as is the \
point of view of results and scores, separately. Numbers other than 0 to 1 \
(-1, 0 and 1; 0, 1 and 2; percent) are accepted if --results or the header line says so; w, d and b (the \
winner) always, w, d and l (won, drawn, lost) with --results wdl.")]
pub struct ExtractArgs {
    /// Games, labeled positions or training data; - reads standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The dataset to write
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// Features: pst (a parameter for each piece on each square), material, classical (the usual
    /// terms of a hand-crafted evaluation), or full (those and king danger, complexity and an
    /// endgame factor, which are not linear)
    #[arg(long, value_name = "NAME", default_value = "pst", help_heading = "Features")]
    model: String,
    #[command(flatten)]
    kings: KingArgs,
    /// Phase units of knight, bishop, rook and queen, and their maximum
    #[arg(long, value_name = "N,B,R,Q/MAX", default_value = "1,1,2,4/24", help_heading = "Features")]
    phase: String,
    #[command(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
}

impl ExtractArgs {
    fn settings(&self) -> gputexel::Result<ExtractSettings> {
        let phase = PhaseSettings::parse(&self.phase)?;
        let mut settings = ExtractSettings::new(self.kings.feature_set(&self.model, phase)?);
        self.reading.apply(&mut settings, Selection::default())?;
        settings.force = self.force;
        Ok(settings)
    }
}

/// Runs `extract`.
///
/// # Errors
/// Those of [`gputexel::extraction::extract`].
pub fn run(args: &ExtractArgs, context: &Context) -> anyhow::Result<()> {
    let settings = args.settings()?;
    let report = with_progress(context, |hooks| extract(&args.inputs, &settings, &args.output, hooks))?;
    answer(context, &report, || describe(&report))
}

/// The report in words.
fn describe(report: &Report) -> String {
    let mut text = String::new();
    for source in &report.sources {
        describe_source(&mut text, source);
    }
    let total = report.positions;
    let games = match report.games {
        0 => String::new(),
        games => format!(" of {}", counted(games, "game")),
    };
    let _ = writeln!(
        text,
        "{}: {}{games}, {}",
        report.output,
        counted(total, "position"),
        bytes(report.output_bytes)
    );
    text += &result_table(&report.results, ["White wins", "Black wins"], total);
    let read: u64 = report.sources.iter().map(|source| source.positions_read).sum();
    let _ = writeln!(
        text,
        "{:.2} s, {} positions/s read, {}/s of input",
        report.seconds,
        grouped((read as f64 / report.seconds.max(1e-9)) as u64),
        bytes((report.bytes_read as f64 / report.seconds.max(1e-9)) as u64)
    );
    text
}
