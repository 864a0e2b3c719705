//! `gputexel extract`: games or labeled positions in, a dataset out.

use std::fmt::Write as _;
use std::path::PathBuf;

use gputexel::chess::PhaseSettings;
use gputexel::chess::labels::LabelSyntax;
use gputexel::chess::pgn::PieceLetters;
use gputexel::chess::sample::Verdict;
use gputexel::chess::selection::Unit;
use gputexel::chess::text::PointOfView;
use gputexel::extraction::{ExtractSettings, InputFormat, Report, SourceReport, Target, extract};
use gputexel::model::{FeatureKind, FeatureSet};

use super::reading_progress::with_progress;
use super::selection::SelectionArgs;
use super::table::{aligned, bytes, grouped, percent, result_table};
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
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
    /// What the inputs are: pgn, text, binpack, bulletformat, marlinformat, viriformat, plain
    /// or lichess [default: detected]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Leave out the parts of damaged training data that cannot be read [default: refuse the file]
    #[arg(long)]
    skip_damaged: bool,
    /// How results are written: c9, c9-score, ce, brackets, semicolon, score-result, pipe,
    /// texelutil, bare or csv [default: detected]
    #[arg(long, value_name = "NAME", help_heading = "Labeled positions")]
    labels: Option<String>,
    /// Numeric values of a loss and a win, such as -1..1, 0..2, 0..100, or 1..0 if
    /// 1 is a loss; or words: wdb (who won), wdl (won, drawn or lost for the point of view)
    /// [default: 0..1; files that seem to use another scale are refused]
    #[arg(long, value_name = "LOSS..WIN", allow_hyphen_values = true, help_heading = "Labeled positions")]
    results: Option<String>,
    /// Point of view of numeric results: white, stm (the side to move) or auto
    #[arg(long, value_name = "VIEW", default_value = "auto", help_heading = "Labeled positions")]
    pov: String,
    /// What positions are labeled with: result, or score: the expected score of their search scores,
    /// 1 / (1 + 10^(-K * cp / 400)); positions without a score are then left out
    #[arg(long, value_name = "WHAT", default_value = "result")]
    target: String,
    /// K of --target score [default: 1]
    #[arg(long, value_name = "K")]
    target_k: Option<f64>,
    /// The letters of king, queen, rook, bishop and knight in games: a language, such as de or fr, or
    /// the letters themselves, such as KDTLS [default: en, or detected if games make no sense in it]
    #[arg(long, value_name = "LETTERS", help_heading = "Games")]
    piece_letters: Option<String>,
    /// Stop, and write nothing, if more than this share of an input is unusable: of its lines,
    /// or of its games, or of their plies
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    max_bad_share: f64,
    /// Point of view of scores: white, stm or auto (that of --pov if material is inconclusive)
    #[arg(long, value_name = "VIEW", default_value = "auto", help_heading = "Labeled positions")]
    score_pov: String,
    /// Features: pst (a parameter for each piece on each square), material, or classical (the
    /// usual terms of a hand-crafted evaluation)
    #[arg(long, value_name = "NAME", default_value = "pst", help_heading = "Features")]
    model: String,
    /// Phase units of knight, bishop, rook and queen, and their maximum
    #[arg(long, value_name = "N,B,R,Q/MAX", default_value = "1,1,2,4/24", help_heading = "Features")]
    phase: String,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Write a list of all games that were left out or truncated, with their numbers and the reasons
    #[arg(long, value_name = "FILE")]
    list_skipped: Option<PathBuf>,
    /// Worker threads [default: one per core]; the output does not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl ExtractArgs {
    fn settings(&self) -> gputexel::Result<ExtractSettings> {
        let kind = FeatureKind::parse(&self.model)?;
        let mut settings = ExtractSettings::new(FeatureSet::new(kind, PhaseSettings::parse(&self.phase)?));
        settings.selection = self.selection.selection()?;
        settings.format = self.format.as_deref().map(str::parse).transpose()?;
        settings.skip_damaged = self.skip_damaged;
        settings.list_skipped.clone_from(&self.list_skipped);
        settings.labels = self.labels.as_deref().map(str::parse::<LabelSyntax>).transpose()?;
        settings.piece_letters = self.piece_letters.as_deref().map(str::parse::<PieceLetters>).transpose()?;
        settings.results = self.results.as_deref().map(str::parse).transpose()?;
        settings.point_of_view = parse_view(&self.pov)?;
        settings.score_view = parse_view(&self.score_pov)?;
        settings.target = Target::new(&self.target, self.target_k)?;
        settings.max_bad_share = self.max_bad_share;
        settings.threads = self.threads.unwrap_or(settings.threads);
        settings.force = self.force;
        Ok(settings)
    }
}

/// A point of view; none for `auto`.
fn parse_view(name: &str) -> gputexel::Result<Option<PointOfView>> {
    match name {
        "auto" => Ok(None),
        _ => name.parse().map(Some).map_err(|error| gputexel::Error::Usage(format!("{error}, or auto"))),
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
    let games = if report.games > 0 { format!(" of {} games", grouped(report.games)) } else { String::new() };
    let _ = writeln!(
        text,
        "{}: {} positions{games}, {}",
        report.output,
        grouped(total),
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

fn describe_source(text: &mut String, source: &SourceReport) {
    let record = &source.record;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: {}",
        record.path,
        match source.format {
            InputFormat::Pgn => "games",
            InputFormat::Text => "labeled positions",
            InputFormat::Binary(format) => format.name(),
        }
    );
    let mut rows = Vec::new();
    let mut row =
        |cells: &[&str]| rows.push(cells.iter().map(|cell| (*cell).to_string()).collect::<Vec<_>>());
    row(&[&format!("{} read", source.format.records()), &grouped(record.records)]);
    for (label, count) in [Unit::Line, Unit::Game].into_iter().flat_map(|unit| source.left_out_of(unit)) {
        row(&[&format!("- {label}"), &grouped(count), &percent(count, record.records)]);
    }
    for (label, count) in source.left_out_of(Unit::GameRest) {
        row(&[&format!("  {label}"), &grouped(count), &percent(count, record.records)]);
    }
    row(&["positions read", &grouped(source.positions_read)]);
    let read = source.positions_read;
    for step in &source.funnel {
        let left = format!("{} left", percent(step.left, read));
        row(&[
            &format!("- {}", step.rule),
            &grouped(step.removed),
            &percent(step.removed, read),
            &grouped(step.left),
            &left,
        ]);
    }
    row(&["kept", &grouped(record.positions), &percent(record.positions, read)]);
    if source.resolved > 0 {
        let share = percent(source.resolved, record.positions);
        row(&["  resolved to another position", &grouped(source.resolved), &share]);
    }
    *text += &aligned(&rows, 2);
    if let (Some(labels), Some(view)) = (&record.labels, &record.point_of_view) {
        let example = labels.parse::<LabelSyntax>().map_or("", LabelSyntax::example);
        let scale = record.results.as_ref().map_or(String::new(), |scale| format!(", numbers from {scale}"));
        let _ = writeln!(text, "  results as {labels} (such as {example}){scale}");
        let evidence = source.evidence.as_deref().unwrap_or_default();
        let in_words = |view: &str| if view == "stm" { "side to move" } else { "white" }.to_string();
        let _ = writeln!(text, "  point of view {}: {evidence}", in_words(view));
        if let Some(evidence) = &source.score_evidence {
            let view = record.score_point_of_view.as_ref().unwrap_or(view);
            let _ = writeln!(text, "  point of view of scores {}: {evidence}", in_words(view));
        }
    }
    if let Some(letters) = record.piece_letters.as_ref().and_then(|name| name.parse::<PieceLetters>().ok()) {
        let evidence = source.evidence.as_ref().map_or_else(String::new, |evidence| format!(": {evidence}"));
        let _ = writeln!(text, "  piece letters: {}{evidence}", letters.describe());
    }
    if let Some(rate) = source.agreement.rate() {
        let verdict = match source.verdict {
            Verdict::Agree => "OK",
            Verdict::CannotTell => "too few to judge, or inconclusive",
            _ => "see the warning",
        };
        let _ = writeln!(
            text,
            "  results against material: {:.1} % of {} decisive, imbalanced positions won by the side with more material: {verdict}",
            100.0 * rate,
            grouped(source.agreement.positions())
        );
    }
    let pgn = source.format == InputFormat::Pgn;
    for line in if pgn { &source.skipped_games } else { &source.complaints } {
        let _ = writeln!(text, "  {line}");
    }
    if source.skipped_games_unnamed > 0 && !pgn {
        let _ = writeln!(text, "  and {} more cut short", grouped(source.skipped_games_unnamed));
    } else if source.skipped_games_unnamed > 0 {
        let _ = writeln!(
            text,
            "  and {} more games left out or truncated; --list-skipped lists all",
            grouped(source.skipped_games_unnamed)
        );
    }
    for warning in &source.warnings {
        let _ = writeln!(text, "  warning: {}", gputexel::printable(warning));
    }
}
