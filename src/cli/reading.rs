//! Flags of commands that read games, labeled positions or training data, and their reports on each input.

use gputexel::chess::labels::LabelSyntax;
use gputexel::chess::sample::Verdict;
use gputexel::chess::scale::ResultScale;
use gputexel::chess::selection::{Selection, Unit};
use gputexel::chess::text::PointOfView;
use gputexel::extraction::{ExtractSettings, SourceReport, Target};
use gputexel::formats::Format;
use gputexel::io::any_of;

use super::selection::SelectionArgs;
use super::table::{aligned, bytes, grouped, percent};

/// Flags for reading inputs and selecting positions.
#[derive(Debug, clap::Args)]
pub struct ReadingArgs {
    #[arg(long, value_name = "NAME", help = format_help())]
    format: Option<String>,
    #[arg(long, value_name = "NAME", help_heading = "Labeled positions", help = labels_help())]
    labels: Option<String>,
    /// Numeric values of a loss and a win, such as -1..1, 0..2, 0..100, or 1..0 if 1 is a loss; or words: wdb (who
    /// won), wdl (won, drawn or lost for the point of view) [default: 0..1; files that seem to use another scale are
    /// refused]
    #[arg(long, value_name = "LOSS..WIN", allow_hyphen_values = true, help_heading = "Labeled positions")]
    results: Option<String>,
    /// Point of view of numeric results: white, stm (the side to move) or auto
    #[arg(long, value_name = "VIEW", default_value = "auto", help_heading = "Labeled positions")]
    pov: String,
    /// Label of positions: result, or score, the expected score of their search scores, 1 / (1 + 10^(-K * cp / 400));
    /// positions without a score are then left out
    #[arg(long, value_name = "WHAT", default_value = "result")]
    target: String,
    /// K of --target score [default: 1]
    #[arg(long, value_name = "K")]
    target_k: Option<f64>,
    /// Stop, and write nothing, if more than this share of an input is unusable: of its lines,
    /// or of its games, or of their plies
    #[arg(long, value_name = "SHARE", value_parser = super::target::share, default_value_t = 0.1)]
    max_bad_share: f64,
    /// Point of view of scores, in labeled positions (auto: that of --pov if material is inconclusive) and in
    /// comments of games (auto: inferred from the games): white, stm (the side to move; after a move, the side that
    /// moved) or auto
    #[arg(long, value_name = "VIEW", default_value = "auto")]
    score_pov: String,
    #[command(flatten)]
    selection: SelectionArgs,
    /// Worker threads [default: one per core]; does not change the output
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub fn format_help() -> String {
    format!("Input format: {} [default: detected]", any_of(Format::inputs().map(Format::name)))
}

fn labels_help() -> String {
    format!(
        "Syntax of results and scores: {} [default: detected]",
        any_of(LabelSyntax::ALL.map(LabelSyntax::name))
    )
}

impl ReadingArgs {
    /// Copies the flags into settings; flags of the selection override `rules`, unless a preset is named.
    pub fn apply(&self, settings: &mut ExtractSettings, rules: Selection) -> gputexel::Result<()> {
        settings.selection = self.selection.selection(rules)?;
        settings.format = self.format.as_deref().map(str::parse).transpose()?;
        settings.text.syntax = self.labels.as_deref().map(str::parse::<LabelSyntax>).transpose()?;
        settings.text.scale = self.results.as_deref().map(str::parse).transpose()?;
        settings.text.point_of_view = parse_view(&self.pov)?;
        settings.text.score_view = parse_view(&self.score_pov)?;
        settings.target = Target::new(&self.target, self.target_k)?;
        settings.max_bad_share = self.max_bad_share;
        settings.threads = self.threads.unwrap_or(settings.threads);
        Ok(())
    }
}

/// Parses a point of view; `None` for `auto`.
pub fn parse_view(name: &str) -> gputexel::Result<Option<PointOfView>> {
    match name {
        "auto" => Ok(None),
        _ => name.parse().map(Some).map_err(|error| gputexel::Error::Usage(format!("{error}, or auto"))),
    }
}

pub fn describe_source(source: &SourceReport) -> String {
    let record = &source.record;
    let mut text = format!(
        "{}: {}\n",
        record.path,
        match source.format {
            Format::Pgn => "games",
            Format::Text => "labeled positions",
            format => format.name(),
        }
    );
    let mut rows = Vec::new();
    let mut row =
        |cells: &[&str]| rows.push(cells.iter().map(|cell| (*cell).to_string()).collect::<Vec<_>>());
    row(&[&format!("{} read", source.format.record_name(2)), &grouped(record.records)]);
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
    text += &aligned(&rows, 2);
    let in_words = |view: &str| if view == "stm" { "side to move" } else { "white" }.to_string();
    if let Some(labels) = &record.labels {
        let example = labels.parse::<LabelSyntax>().map_or("", LabelSyntax::example);
        let scale = record.results.as_ref().map_or(String::new(), |scale| {
            let words = scale.parse().is_ok_and(ResultScale::is_words);
            format!(", {} {scale}", if words { "words" } else { "numbers from" })
        });
        let what = if record.point_of_view.is_some() { "results" } else { "scores" };
        text += &format!("  {what} as {labels} (such as {example}){scale}\n");
        if let Some(layout) = &source.layout {
            text += &format!("  {layout}\n");
        }
        let evidence = source.evidence.as_deref().unwrap_or_default();
        if let Some(view) = &record.point_of_view {
            text += &format!("  point of view {}: {evidence}\n", in_words(view));
        }
    }
    let score_view = record.score_point_of_view.as_ref().or(record.point_of_view.as_ref());
    if let (Some(evidence), Some(view)) = (&source.score_evidence, score_view) {
        text += &format!("  point of view of scores {}: {evidence}\n", in_words(view));
    }
    if let Some(rate) = source.agreement.rate() {
        let verdict = match source.verdict {
            Verdict::Agree => "OK",
            Verdict::CannotTell => "too few to judge, or inconclusive",
            _ => "see the warning",
        };
        text += &format!(
            "  results against material: {:.1} % of {} decisive, imbalanced positions won by the side with more material: {verdict}\n",
            100.0 * rate,
            grouped(source.agreement.positions())
        );
    }
    let pgn = source.format == Format::Pgn;
    for line in if pgn { &source.skipped_games } else { &source.complaints } {
        text += &format!("  {line}\n");
    }
    if source.skipped_games_unnamed > 0 {
        let what = if pgn { "games left out or truncated" } else { "cut short" };
        text += &format!("  and {} more {what}\n", grouped(source.skipped_games_unnamed));
    }
    for warning in &source.warnings {
        text += &format!("  warning: {}\n", gputexel::io::printable(warning));
    }
    text
}

pub fn speed(sources: &[SourceReport], seconds: f64, bytes_read: u64) -> String {
    let per_second = |count: u64| (count as f64 / seconds.max(1e-9)) as u64;
    let positions = per_second(sources.iter().map(|source| source.positions_read).sum());
    let (positions, input) = (grouped(positions), bytes(per_second(bytes_read)));
    format!("{seconds:.2} s, {positions} positions/s read, {input}/s of input\n")
}
