//! Flags of `match` that decide what is played, and what they mean.

use std::path::PathBuf;

use gputexel::matches::openings::Order;
use gputexel::matches::statistics::Sprt;
use gputexel::matches::{Adjudication, DrawRule, TimeControl, WinRule};
use gputexel::{Error, Result};

use super::super::games::deadline;
use super::config::{Config, OpeningsConfig};
use super::contestants;

/// Overstepping that is forgiven where a time a move is to be used up.
const MOVE_TIME_MARGIN_MS: u64 = 100;

/// Flags that decide what is played; a resumed match has them in its folder.
#[derive(Debug, clap::Args)]
#[group(id = "Played", multiple = true)]
pub struct Played {
    /// Nodes per move [default: 5000]
    #[arg(long, value_name = "N", group = "pace", help_heading = "Limits")]
    nodes: Option<u64>,
    /// Search depth per move
    #[arg(long, value_name = "N", group = "pace", help_heading = "Limits")]
    depth: Option<u32>,
    /// Time control, in seconds: 10+0.1, 40/60, 1:30+1
    #[arg(long, value_name = "[MOVES/]BASE[+INC]", group = "pace", help_heading = "Limits")]
    time: Option<String>,
    /// Milliseconds per move
    #[arg(long, value_name = "MS", group = "pace", help_heading = "Limits")]
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
    /// Opening book: EPD or FEN, one position per line, or PGN; plain, .zst or .gz
    /// [default: 8 random, balanced plies, different for every pair]
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
    /// What is played, checked as far as that is possible without reading anything.
    pub(super) fn config(&self, [a, b]: [&str; 2], command_line: &str) -> Result<Config> {
        let limits = self.paces()?;
        let sprt = self.sprt.as_deref().map(str::parse::<Sprt>).transpose()?;
        let order: Order = self.order.as_deref().map(str::parse).transpose()?.unwrap_or_default();
        let fixed = limits.iter().any(|pace| matches!(pace, TimeControl::MoveTime(_)));
        let default_margin = if fixed { MOVE_TIME_MARGIN_MS } else { 0 };
        let deadline = deadline(self.deadline.unwrap_or(60.0)).ok_or_else(|| {
            Error::Usage("--deadline: expected seconds, more than 0 and at most a day".into())
        })?;
        let hash_mib = self.hash.unwrap_or(4);
        if !(1..=65_536).contains(&hash_mib) {
            return Err(Error::Usage(format!("--hash {hash_mib}: expected 1 to 65536 MiB")));
        }
        if self.book_plies == Some(0) {
            return Err(Error::Usage("--book-plies 0: expected at least one".into()));
        }
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let engines = [
            contestants::describe(a, self.name_a.as_deref(), &self.option_a, "--option-a")?,
            contestants::describe(b, self.name_b.as_deref(), &self.option_b, "--option-b")?,
        ];
        Ok(Config::new(
            command_line,
            engines,
            limits,
            self.time_margin_ms.unwrap_or(default_margin),
            deadline.as_millis() as u64,
            self.adjudication()?,
            OpeningsConfig {
                file: self.openings.as_ref().map(absolute),
                checksum: None,
                order: order.name().to_string(),
                book_plies: self.book_plies.unwrap_or(16),
            },
            self.seed.unwrap_or(1),
            hash_mib,
            sprt,
            self.pgn.as_ref().map(absolute),
        ))
    }

    fn paces(&self) -> Result<[TimeControl; 2]> {
        let text = match (self.nodes, self.depth, &self.time, self.move_time) {
            (_, Some(depth), ..) => format!("depth={depth}"),
            (_, _, Some(time), _) => format!("time={time}"),
            (.., Some(time)) => format!("move-time={time}"),
            (nodes, ..) => format!("nodes={}", nodes.unwrap_or(5000)),
        };
        let a: TimeControl = text.parse()?;
        let b = self.limit_b.as_deref().map(str::parse).transpose()?;
        Ok([a, b.unwrap_or(a)])
    }

    fn adjudication(&self) -> Result<Adjudication> {
        for (flag, value) in [
            ("--draw-plies", self.draw_plies),
            ("--win-plies", self.win_plies),
            ("--win-score", self.win_score),
            ("--max-plies", self.max_plies),
        ] {
            if value == Some(0) {
                return Err(Error::Usage(format!("{flag} 0: expected at least 1")));
            }
        }
        let asked = self.draw_after.is_some() || self.draw_plies.is_some() || self.draw_score.is_some();
        Ok(Adjudication {
            draw: asked.then(|| DrawRule {
                after_move: self.draw_after.unwrap_or(40),
                plies: self.draw_plies.unwrap_or(8),
                score_cp: self.draw_score.unwrap_or(10),
            }),
            win: self.win_score.map(|score_cp| WinRule { score_cp, plies: self.win_plies.unwrap_or(6) }),
            max_plies: self.max_plies,
        })
    }
}
