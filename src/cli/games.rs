//! Code shared by the commands that play games.

use std::time::Duration;

use gputexel::io::run_folder::RunFolder;
use gputexel::matches::client::Setting;
use gputexel::matches::{Adjudication, DrawRule, Side, TimeControl, WinRule, deadline_from_seconds};
use gputexel::{Error, Result};

use super::context::Context;

/// Prints warnings of the library to standard error; the one about a folder that could not be locked is always
/// printed.
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

/// Flags for the rules of games.
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
    /// Tolerance for exceeding time limits [default: 0; 100 with a fixed time per move]
    #[arg(long, value_name = "MS", help_heading = "Limits")]
    time_margin_ms: Option<u64>,
    /// Seconds after which an engine without a time limit is considered hung [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    deadline: Option<f64>,
    /// Adjudicate draws by score, but not before this move [default: 40]
    #[arg(long, value_name = "MOVE", help_heading = "Adjudication")]
    draw_after: Option<u32>,
    /// Adjudicate a draw after this many consecutive plies with small scores [default: 8]
    #[arg(long, value_name = "PLIES", help_heading = "Adjudication")]
    draw_plies: Option<u32>,
    /// Scores up to this size count as drawn [default: 10]
    #[arg(long, value_name = "CP", help_heading = "Adjudication")]
    draw_score: Option<u32>,
    /// Adjudicate a win when both engines agree on a score of at least this
    #[arg(long, value_name = "CP", help_heading = "Adjudication")]
    win_score: Option<u32>,
    /// Adjudicate a win after this many consecutive plies [default: 6]
    #[arg(long, value_name = "PLIES", requires = "win_score", help_heading = "Adjudication")]
    win_plies: Option<u32>,
    /// Adjudicate a draw after this many plies in total
    #[arg(long, value_name = "PLIES", help_heading = "Adjudication")]
    max_plies: Option<u32>,
    /// Transposition table size of each built-in engine, in MiB [default: 4]
    #[arg(long, value_name = "MIB", help_heading = "Engines")]
    pub hash: Option<u32>,
}

impl RuleFlags {
    /// Returns the tolerance for exceeding time limits, if given.
    pub fn time_margin(&self) -> Option<Duration> {
        self.time_margin_ms.map(Duration::from_millis)
    }

    /// Returns the time after which engines count as hung, if given.
    pub fn deadline(&self) -> Result<Option<Duration>> {
        self.deadline.map(deadline_from_seconds).transpose()
    }

    /// Returns the limit of each side.
    ///
    /// # Errors
    /// Invalid limits.
    pub fn limit(&self) -> Result<TimeControl> {
        match (self.nodes, self.depth, &self.time, self.move_time) {
            (_, Some(depth), ..) => format!("depth={depth}"),
            (_, _, Some(time), _) => format!("time={time}"),
            (.., Some(time)) => format!("move-time={time}"),
            (nodes, ..) => format!("nodes={}", nodes.unwrap_or(5000)),
        }
        .parse()
    }

    /// Returns the rules for ending games early.
    pub fn adjudication(&self) -> Adjudication {
        let asked = self.draw_after.is_some() || self.draw_plies.is_some() || self.draw_score.is_some();
        Adjudication {
            draw: asked.then(|| DrawRule {
                after_move: self.draw_after.unwrap_or(40),
                plies: self.draw_plies.unwrap_or(8),
                score_cp: self.draw_score.unwrap_or(10),
            }),
            win: self.win_score.map(|score_cp| WinRule { score_cp, plies: self.win_plies.unwrap_or(6) }),
            max_plies: self.max_plies,
        }
    }
}

/// Parses a side with its options; `flag` is the flag that gave them.
///
/// # Errors
/// Options without a value.
pub fn side(text: &str, name: Option<&str>, options: &[String], flag: &str) -> Result<Side> {
    set_up(Side::new(text), name, options, flag)
}

/// Replaces the name and options of a side where new ones are given.
///
/// # Errors
/// Options without a value.
pub fn set_up(mut side: Side, name: Option<&str>, options: &[String], flag: &str) -> Result<Side> {
    if let Some(name) = name {
        side = side.name(name);
    }
    for option in options {
        let setting: Setting =
            option.parse().map_err(|_| Error::Usage(format!("{flag} '{option}': expected NAME=VALUE")))?;
        side = side.option(setting.name, setting.value);
    }
    Ok(side)
}
