//! Flags of `match` that decide what is played, and what they mean.

use std::path::PathBuf;
use std::time::Duration;

use gputexel::matches::client::Setting;
use gputexel::matches::{
    Adjudication, DrawRule, Match, MatchBuilder, Side, TimeControl, WinRule, deadline_from_seconds,
};
use gputexel::{Error, Result};

use super::super::parsed;

/// Flags that decide what is played; a resumed match has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
pub struct Played {
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
    /// A different limit for B: nodes=N, depth=N, time=BASE+INC or move-time=MS
    #[arg(long, value_name = "LIMIT", help_heading = "Limits")]
    limit_b: Option<String>,
    /// Tolerance for exceeding time limits [default: 0; 100 with a fixed time per move]
    #[arg(long, value_name = "MS", help_heading = "Limits")]
    time_margin_ms: Option<u64>,
    /// Seconds after which an engine without a time limit is considered hung [default: 60]
    #[arg(long, value_name = "SECONDS", help_heading = "Limits")]
    deadline: Option<f64>,
    /// Opening book: EPD or FEN, one position per line, or PGN; plain, compressed (zst, gz, bz2, xz) or
    /// in a tar or zip archive [default: 8 random, balanced plies, different for every pair]
    #[arg(long, value_name = "FILE", help_heading = "Openings")]
    openings: Option<PathBuf>,
    /// Order of the openings: random or sequential [default: random]
    #[arg(long, value_name = "ORDER", requires = "openings", help_heading = "Openings")]
    order: Option<String>,
    /// PGN books: plies to play from each game [default: 16]
    #[arg(long, value_name = "N", requires = "openings", help_heading = "Openings")]
    book_plies: Option<u32>,
    /// Seed of the openings [default: 1]
    #[arg(long, value_name = "N", help_heading = "Openings")]
    seed: Option<u64>,
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
    /// Stop when a sequential test (SPRT) reaches a decision: elo0=0,elo1=5[,alpha=0.05,beta=0.05]
    #[arg(long, value_name = "TEST", help_heading = "Match")]
    sprt: Option<String>,
    /// Transposition table size of each built-in engine, in MiB [default: 4]
    #[arg(long, value_name = "MIB", help_heading = "Engines")]
    hash: Option<u32>,
    /// A's name in games and tables [default: from its file, or the engine's own name]
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_a: Option<String>,
    /// B's name
    #[arg(long, value_name = "NAME", help_heading = "Engines")]
    name_b: Option<String>,
    /// A UCI option for A; may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_a: Vec<String>,
    /// A UCI option for B
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Engines")]
    option_b: Vec<String>,
    /// The PGN file for the games [default: games.pgn in the folder]
    #[arg(long, value_name = "FILE", help_heading = "Match")]
    pub(super) pgn: Option<PathBuf>,
}

impl Played {
    /// What is played, as the library takes it.
    pub(super) fn builder<'a>(&self, [a, b]: [&str; 2]) -> Result<MatchBuilder<'a>> {
        let a = side(a, self.name_a.as_deref(), &self.option_a, "--option-a")?;
        let b = side(b, self.name_b.as_deref(), &self.option_b, "--option-b")?;
        let mut builder = Match::builder(a, b)
            .limit(self.limit()?)
            .limit_b(parsed(&self.limit_b)?)
            .time_margin(self.time_margin_ms.map(Duration::from_millis))
            .deadline(self.deadline.map(deadline_from_seconds).transpose()?)
            .adjudication(self.adjudication())
            .order(parsed(&self.order)?)
            .book_plies(self.book_plies)
            .seed(self.seed)
            .hash(self.hash)
            .sprt(parsed(&self.sprt)?);
        if let Some(book) = &self.openings {
            builder = builder.openings(book);
        }
        if let Some(pgn) = &self.pgn {
            builder = builder.pgn(pgn);
        }
        Ok(builder)
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

    fn adjudication(&self) -> Adjudication {
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

fn side(text: &str, name: Option<&str>, options: &[String], flag: &str) -> Result<Side> {
    let mut side = Side::new(text);
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
