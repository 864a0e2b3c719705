//! Settings of games before they begin, and changes to those of a resumed run.

use std::path::PathBuf;
use std::time::Duration;

use super::adjudication::Adjudication;
use super::config::{FORMAT, MatchConfig, OpeningsConfig, PlayConfig, RunHead};
use super::contestant::Side;
use super::hash::check_hash;
use super::openings::Book;
use super::statistics::Sprt;
use super::time_control::TimeControl;
use gputexel_io::{Error, Result, absolute};

const GAMES: u64 = 1000;
const GAMES_WITH_SPRT: u64 = 100_000;

#[derive(Clone, Debug)]
pub struct GameSettings {
    pub limit: TimeControl,
    /// After which an engine without a clock counts as hung: more than 0 and at most a day.
    pub deadline: Duration,
    pub adjudication: Adjudication,
    /// EPD, FEN or PGN; `None` for random openings.
    pub book: Option<PathBuf>,
    /// Of each game of PGN books.
    pub book_plies: u32,
    pub seed: u64,
    /// Of each built-in engine, 1 to 65,536 MiB.
    pub hash_mib: u32,
    /// `None` for 1,000, or 100,000 in a match with a sequential test.
    pub games: Option<u64>,
    pub concurrency: Option<usize>,
    pub command_line: String,
}

impl Default for GameSettings {
    fn default() -> Self {
        Self {
            limit: TimeControl::Nodes(5000),
            deadline: Duration::from_secs(60),
            adjudication: Adjudication::default(),
            book: None,
            book_plies: 16,
            seed: 1,
            hash_mib: 4,
            games: None,
            concurrency: None,
            command_line: String::new(),
        }
    }
}

impl GameSettings {
    /// `games` unless others are set.
    pub(crate) fn record(&self, format: &str, games: u64) -> Result<PlayConfig> {
        deadline_from_seconds(self.deadline.as_secs_f64())?;
        check_hash(self.hash_mib)?;
        if self.book_plies == 0 {
            return Err(Error::setting("book-plies", 0, "expected at least 1"));
        }
        self.adjudication.check()?;
        Ok(PlayConfig {
            head: RunHead::new(format, &self.command_line),
            limit: self.limit,
            deadline_ms: self.deadline.as_millis() as u64,
            adjudication: self.adjudication,
            openings: OpeningsConfig {
                file: self.book.as_deref().map(absolute),
                checksum: None,
                book_plies: self.book_plies,
            },
            seed: self.seed,
            hash_mib: self.hash_mib,
            games: self.games.unwrap_or(games),
        })
    }
}

#[derive(Clone, Debug)]
pub struct MatchOptions {
    pub sides: [Side; 2],
    pub play: GameSettings,
    /// If it differs from A's.
    pub limit_b: Option<TimeControl>,
    pub sprt: Option<Sprt>,
    /// Instead of `games.pgn` in the folder.
    pub pgn: Option<PathBuf>,
}

impl MatchOptions {
    /// Sides as in [`Side::new`].
    pub fn new(a: &str, b: &str) -> Self {
        let (sides, play) = ([a, b].map(Side::new), GameSettings::default());
        Self { sides, play, limit_b: None, sprt: None, pgn: None }
    }

    pub(crate) fn record(&self) -> Result<MatchConfig> {
        let Self { sides: [a, b], play, limit_b, sprt, pgn } = self;
        let games = if sprt.is_some() { GAMES_WITH_SPRT } else { GAMES };
        Ok(MatchConfig {
            play: play.record(FORMAT, games)?,
            engines: [a.describe()?, b.describe()?],
            limit_b: *limit_b,
            sprt: *sprt,
            pgn: pgn.as_deref().map(absolute),
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// At least as many as were played.
    pub games: Option<u64>,
    pub concurrency: Option<usize>,
}

pub struct Seating {
    pub concurrency: usize,
    pub warnings: Vec<String>,
}

impl Seating {
    pub fn new(asked: Option<usize>, book: &Book) -> Result<Self> {
        let concurrency = check_concurrency(asked)?;
        let mut warnings = book.complaints.clone();
        let left_out = book.bad.saturating_sub(book.complaints.len() as u64);
        if left_out > 0 {
            warnings.push(format!("and {left_out} more unusable lines"));
        }
        Ok(Self { concurrency, warnings })
    }
}

pub fn check_games(setting: &'static str, games: u64) -> Result<()> {
    if games > 0 && games.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::setting(setting, games, "games are played in pairs, so the number must be even and positive"))
}

pub fn check_concurrency(asked: Option<usize>) -> Result<usize> {
    match asked.unwrap_or_else(cores) {
        0 => Err(Error::setting("concurrency", 0, "expected at least 1")),
        games => Ok(games),
    }
}

pub fn deadline_from_seconds(seconds: f64) -> Result<Duration> {
    let deadline = Duration::try_from_secs_f64(seconds).ok();
    deadline
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
        .ok_or_else(|| Error::setting("deadline", seconds, "expected seconds, more than 0 and at most a day"))
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
