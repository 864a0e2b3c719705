//! `gputexel rescore`: gives positions new scores by an engine.

use std::time::{Duration, Instant};

use gputexel::datagen::rescore::{EngineOptions, Progress, RescoreOptions, RescoreReport, rescore};
use gputexel::matches::{Side, TimeControl, deadline_from_seconds};
use indicatif::{ProgressBar, ProgressStyle};

use super::context::Context;
use super::convert::{ConversionArgs, describe as describe_conversion};
use super::games::settings;
use super::output::print_result;
use super::subcommand::{Subcommand, short_help};
use super::table::{counted, grouped};

const LINES_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(
    mut_args(short_help(&[
        "output", "engine", "nodes", "depth", "option", "concurrency", "preset", "resume",
    ])),
    after_help = "\
The engine's score replaces that of each position; results are unchanged. Everything else, the order \
and the selection are as with convert. The engine's scores are kept in OUTPUT.rescore until the output is complete, \
so that --resume loses at most 64 positions per thread. Positions are scored in blocks of 64 that begin with empty \
tables: with fixed nodes or depth, scores depend neither on --concurrency nor on interruptions.\n\n\
Examples:\n  \
gputexel rescore quiet.epd -o new.binpack --engine stockfish --nodes 20000\n  \
gputexel rescore quiet.epd -o new.txt --engine runs/first --depth 8 --resume")]
pub struct RescoreArgs {
    #[command(flatten)]
    conversion: ConversionArgs,
    /// UCI engine (a program or a quoted command line), or a parameter file, the folder of a run or piece values for
    /// the built-in engine
    #[arg(long, value_name = "ENGINE", help_heading = "Engine")]
    engine: String,
    /// UCI option; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engine")]
    option: Vec<String>,
    /// Nodes per position [default: 5000]
    #[arg(long, value_name = "N", group = "engine_limit", help_heading = "Engine")]
    nodes: Option<u64>,
    /// Search depth per position
    #[arg(long, value_name = "N", group = "engine_limit", help_heading = "Engine")]
    depth: Option<u32>,
    /// Milliseconds per position
    #[arg(long, value_name = "MS", group = "engine_limit", help_heading = "Engine")]
    move_time: Option<u64>,
    /// Seconds after which the engine is considered hung [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Engine")]
    deadline: Option<f64>,
    /// Transposition table size of each built-in engine, in MiB [default: 4]
    #[arg(long, value_name = "MIB", help_heading = "Engine")]
    hash: Option<u32>,
    /// Number of positions scored concurrently [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    concurrency: Option<usize>,
    /// Give up after this many positions without a score [default: 10]
    #[arg(long, value_name = "N", help_heading = "Engine")]
    max_unscored: Option<u64>,
    /// Resume an interrupted rescoring to the same output
    #[arg(long, help_heading = "Engine")]
    resume: bool,
}

impl RescoreArgs {
    fn options(&self) -> gputexel::Result<RescoreOptions> {
        let usual = EngineOptions::new(Side::new(self.engine.as_str()).options(settings(&self.option)?));
        let engine = EngineOptions {
            limit: self.limit()?.unwrap_or(usual.limit),
            deadline: self.deadline.map_or(Ok(usual.deadline), deadline_from_seconds)?,
            hash_mib: self.hash.unwrap_or(usual.hash_mib),
            concurrency: self.concurrency,
            max_unscored: self.max_unscored.unwrap_or(usual.max_unscored),
            ..usual
        };
        Ok(RescoreOptions { engine, resume: self.resume })
    }

    fn limit(&self) -> gputexel::Result<Option<TimeControl>> {
        let limit = match (self.nodes, self.depth, self.move_time) {
            (Some(nodes), ..) => format!("nodes={nodes}"),
            (_, Some(depth), _) => format!("depth={depth}"),
            (.., Some(time)) => format!("move-time={time}"),
            _ => return Ok(None),
        };
        limit.parse().map(Some)
    }
}

impl Subcommand for RescoreArgs {
    fn run(&self, context: &Context) -> anyhow::Result<()> {
        let options = self.options()?;
        let settings = self.conversion.settings()?;
        let ConversionArgs { inputs, output, .. } = &self.conversion;
        let bar = if context.shows_progress() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        let begin = Instant::now();
        let mut last_line = begin;
        let mut observe = |progress: &Progress| {
            let rate = (progress.scored - progress.known) as f64 / begin.elapsed().as_secs_f64();
            let text = format!("{} scored, {rate:.0} positions/s", counted(progress.scored, "position"));
            if context.prints_lines() && last_line.elapsed() >= LINES_EVERY {
                last_line = Instant::now();
                note!("{text}");
            }
            bar.set_message(text);
            bar.tick();
        };
        let report = rescore(inputs, &settings, output, &options, &context.cancel.into(), &mut observe);
        bar.finish_and_clear();
        let report = report.map_err(|error| match error {
            gputexel::Error::Interrupted(what) => {
                gputexel::Error::Interrupted(format!("{what}; the same command with --resume continues"))
            }
            error => error,
        })?;
        print_result(context, &report, || describe(&report))
    }
}

fn describe(report: &RescoreReport) -> String {
    let mut text = describe_conversion(&report.conversion);
    let progress = report.progress;
    text += &format!("scores of {}: {}", report.engine, counted(progress.scored, "position"));
    if progress.known > 0 {
        text += &format!(", {} of them before the interruption", grouped(progress.known));
    }
    if progress.ends > 0 {
        text += &format!("; mates and stalemates scored by the rules: {}", grouped(progress.ends));
    }
    text.push('\n');
    if progress.unscored > 0 {
        text += &format!("  warning: {} without a score, such as\n", counted(progress.unscored, "position"));
    }
    for one in &report.unscored {
        text += &format!("    {}: {}\n", one.fen, gputexel::io::printable(&one.reason));
    }
    text
}
