//! Code shared by the commands that play games.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gputexel::io::run_folder::RunFolder;
use gputexel::matches::client::Setting;
use gputexel::matches::{Adjudication, Changes, End, GameSettings, TimeControl, deadline_from_seconds};
use gputexel::{Error, Result};
use indicatif::ProgressBar;

use super::context::Context;
use super::settings::parsed;
use super::table::{aligned, duration, grouped, percent};

const LINES_EVERY: Duration = Duration::from_secs(5);

/// The warning about a folder that could not be locked is always printed.
pub fn warn(warnings: &[String], folder: Option<&RunFolder>, context: &Context) {
    if let Some(warning) = folder.and_then(RunFolder::warning) {
        alert!("gputexel: warning: {warning}");
    }
    if !context.json {
        for warning in warnings {
            note!("gputexel: {}", gputexel::io::printable(warning));
        }
    }
}

/// Flags for the rules and openings of games; a resumed run has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "RuleFlags", multiple = true)]
pub struct RuleFlags {
    /// Nodes per move [default: 5000]
    #[arg(long, value_name = "N", group = "time_control", help_heading = "Limits")]
    nodes: Option<u64>,
    /// Search depth per move
    #[arg(long, value_name = "N", group = "time_control", help_heading = "Limits")]
    depth: Option<u32>,
    /// Time control, in seconds: 10+0.1, 40/60, 1:30+1
    #[arg(long, value_name = "[MOVES/]BASE[+INC]", group = "time_control", help_heading = "Limits")]
    time: Option<String>,
    /// Milliseconds per move
    #[arg(long, value_name = "MS", group = "time_control", help_heading = "Limits")]
    move_time: Option<u64>,
    /// Seconds after which an engine without a time limit is considered hung [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    deadline: Option<f64>,
    /// Adjudicate a draw from this move on, after PLIES scores in a row of at most CP: 40:8:10
    #[arg(long, value_name = "MOVE:PLIES:CP", help_heading = "Adjudication")]
    draw: Option<String>,
    /// Adjudicate a win after PLIES scores in a row in which both engines see at least CP for the winner: 6:1000
    #[arg(long, value_name = "PLIES:CP", help_heading = "Adjudication")]
    win: Option<String>,
    /// Adjudicate a draw after this many plies in total
    #[arg(long, value_name = "PLIES", help_heading = "Adjudication")]
    max_plies: Option<u32>,
    /// Transposition table size of each built-in engine, in MiB [default: 4]
    #[arg(long, value_name = "MIB", help_heading = "Engines")]
    hash: Option<u32>,
    /// Opening book: EPD or FEN, one position per line, or PGN; plain or compressed (zst, gz, bz2)
    /// [default: 53,115 positions after two moves of both sides]
    #[arg(long, value_name = "FILE", help_heading = "Openings")]
    openings: Option<PathBuf>,
    /// PGN books: plies to play from each game [default: 16]
    #[arg(long, value_name = "N", requires = "openings", help_heading = "Openings")]
    book_plies: Option<u32>,
    /// Seed of the openings [default: 1]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    seed: Option<u64>,
}

/// Flags for the folder of a run and its speed.
#[derive(Debug, clap::Args)]
pub struct FolderFlags {
    /// Concurrent games [default: one per core]
    #[arg(long, value_name = "N", help_heading = "Games")]
    pub concurrency: Option<usize>,
    /// Output folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = "Games", value_parser = super::target::file())]
    pub out: Option<PathBuf>,
    /// Write into a folder that is not empty, overwriting existing files
    #[arg(long, conflicts_with = "resume", help_heading = "Games")]
    pub force: bool,
}

impl RuleFlags {
    /// With the changes that also apply to resumed runs.
    pub fn settings(&self, changes: Changes, context: &Context) -> Result<GameSettings> {
        let usual = GameSettings::default();
        Ok(GameSettings {
            limit: self.limit()?,
            deadline: self.deadline.map_or(Ok(usual.deadline), deadline_from_seconds)?,
            adjudication: Adjudication {
                draw: parsed(&self.draw)?,
                win: parsed(&self.win)?,
                max_plies: self.max_plies,
            },
            book: self.openings.clone(),
            book_plies: self.book_plies.unwrap_or(usual.book_plies),
            seed: self.seed.unwrap_or(usual.seed),
            hash_mib: self.hash.unwrap_or(usual.hash_mib),
            games: changes.games,
            concurrency: changes.concurrency,
            command_line: context.command_line.clone(),
        })
    }

    fn limit(&self) -> Result<TimeControl> {
        match (self.nodes, self.depth, &self.time, self.move_time) {
            (_, Some(depth), ..) => format!("depth={depth}"),
            (_, _, Some(time), _) => format!("time={time}"),
            (.., Some(time)) => format!("move-time={time}"),
            (nodes, ..) => format!("nodes={}", nodes.unwrap_or(5000)),
        }
        .parse()
    }
}

/// UCI options, of a flag `--option`.
pub fn settings(options: &[String]) -> Result<Vec<Setting>> {
    let parse = |option: &String| {
        option.parse().map_err(|_| Error::Usage(format!("--option '{option}': expected NAME=VALUE")))
    };
    options.iter().map(parse).collect()
}

pub struct Progress {
    games: u64,
    bar: ProgressBar,
    lines: bool,
    last_line: Instant,
    /// Games that were over before, and when the first call told so.
    begin: Option<(u64, Instant)>,
}

impl Progress {
    pub fn new(context: &Context, games: u64) -> Self {
        let bar = context.bar(games, "{bar:16} {pos}/{len} {wide_msg}");
        Self { games, bar, lines: context.prints_lines(), last_line: Instant::now(), begin: None }
    }

    /// Shows what `describe` returns, the games per second, and how long the rest takes.
    pub fn show(&mut self, games: u64, describe: impl FnOnce() -> String) {
        let (known, begin) = *self.begin.get_or_insert_with(|| (games, Instant::now()));
        let describe = || {
            let played = games.saturating_sub(known);
            if played == 0 {
                return describe();
            }
            let rate = played as f64 / begin.elapsed().as_secs_f64();
            let rest = duration(self.games.saturating_sub(games) as f64 / rate);
            format!("{}, {rate:.1} games/s, the rest takes {rest}", describe())
        };
        if self.lines {
            if self.last_line.elapsed() < LINES_EVERY {
                return;
            }
            self.last_line = Instant::now();
            note!("{games} of {} games: {}", self.games, describe());
        } else if !self.bar.is_hidden() {
            self.bar.set_position(games);
            self.bar.set_message(describe());
        }
    }

    /// To be cleared at the end.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }
}

pub fn ends_table(ends: &BTreeMap<End, u64>, games: u64) -> String {
    let mut ends: Vec<_> = ends.iter().collect();
    ends.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let row = |(end, count): (&End, &u64)| {
        vec![end.describe().to_string(), grouped(*count), percent(*count, games)]
    };
    aligned(&ends.into_iter().map(row).collect::<Vec<_>>(), 2)
}
