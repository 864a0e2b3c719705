//! `gputexel extract`: games or labeled positions in, a dataset out.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::king_flags::KingArgs;
use gputexel::Error;
use gputexel::chess::PhaseSettings;
use gputexel::chess::selection::Selection;
use gputexel::dataset::{self, check_shard_folder};
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
    /// The dataset to write; with --shard-size, the folder of its shards
    #[arg(short, long, value_name = "FILE", value_parser = super::target::file())]
    output: PathBuf,
    /// Write shards of at most N positions, of whole games, into the folder of --output: 0001.bin and so on
    #[arg(long, value_name = "N")]
    shard_size: Option<usize>,
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
    let Some(size) = args.shard_size else {
        let report = with_progress(context, |hooks| extract(&args.inputs, &settings, &args.output, hooks))?;
        return answer(context, &report, || describe(&report));
    };
    if size == 0 {
        return Err(Error::setting("shard-size", size, "must be at least 1").into());
    }
    let folder = &args.output;
    if folder.exists() && !folder.is_dir() {
        return Err(Error::Usage(format!("{}: is a file; shards need a folder", folder.display())).into());
    }
    check_shard_folder(folder)?;
    // Beside the shards, where there is room for them.
    let made = !folder.exists();
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let written = (|| {
        let whole = tempfile::Builder::new().prefix(".extract").tempdir_in(folder);
        let whole = whole.map_err(|e| Error::io(folder, e))?;
        let path = whole.path().join("whole.bin");
        let mut report = with_progress(context, |hooks| extract(&args.inputs, &settings, &path, hooks))?;
        let shards = dataset::read(&path)?.write_shards(folder, size)?;
        report.output = folder.display().to_string();
        Ok::<_, Error>((report, shards.len()))
    })();
    if written.is_err() && made {
        let _ = std::fs::remove_dir(folder);
    }
    let (report, shards) = written?;
    let mut json = serde_json::to_value(&report)?;
    json["shards"] = shards.into();
    answer(context, &json, || {
        format!("{}{} in the folder\n", describe(&report), counted(shards as u64, "shard"))
    })
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
