//! Settings of games before they begin, and changes to those of a resumed run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::adjudication::Adjudication;
use super::config::{FORMAT, MatchConfig, OpeningsConfig, RulesConfig, RunHead};
use super::contestant::Side;
use super::dispatch::Dispatcher;
use super::game::Rules;
use super::hash::check_hash;
use super::openings::{Book, Order};
use super::statistics::Sprt;
use super::time_control::TimeControl;
use gputexel_io::{Error, Result, absolute};

/// Default number of games of a match.
const GAMES: u64 = 1000;

/// Default number of games of a match with a sequential test.
const GAMES_WITH_SPRT: u64 = 100_000;

/// Settings that matches and self-play share.
#[derive(Clone, Debug)]
pub struct GameSettings {
    /// Limit of each side.
    pub limit: TimeControl,
    /// Tolerance of a time limit, rounded to milliseconds; `None` for [`TimeControl::usual_margin`].
    pub time_margin: Option<Duration>,
    /// Time after which an engine without a clock counts as hung: more than 0 and at most a day.
    pub deadline: Duration,
    /// Adjudication rules.
    pub adjudication: Adjudication,
    /// A book: EPD or FEN, a position per line, or PGN; plain, compressed or in an archive. `None` for random openings.
    pub book: Option<PathBuf>,
    /// The order of the book's openings.
    pub order: Order,
    /// Number of plies taken from each game of PGN books.
    pub book_plies: u32,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, 1 to 65,536 MiB.
    pub hash_mib: u32,
    /// Maximum number of games, even in a match; `None` for 1,000, or 100,000 in a match with a sequential test.
    pub games: Option<u64>,
    /// Number of games that may end by engine failures before playing stops; `None` for a tenth of the games of a
    /// match, but between 10 and 100, and a hundredth of those of self-play, but at least 10.
    pub max_failures: Option<u64>,
    /// Number of games in parallel; `None` for the number of cores.
    pub concurrency: Option<usize>,
    /// The command line, for the journal.
    pub command_line: String,
}

impl Default for GameSettings {
    fn default() -> Self {
        Self {
            limit: TimeControl::Nodes(5000),
            time_margin: None,
            deadline: Duration::from_secs(60),
            adjudication: Adjudication::default(),
            book: None,
            order: Order::default(),
            book_plies: 16,
            seed: 1,
            hash_mib: 4,
            games: None,
            max_failures: None,
            concurrency: None,
            command_line: String::new(),
        }
    }
}

impl GameSettings {
    /// Describes rules and openings for a journal; `limits` are those of the sides.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings.
    pub(crate) fn record(&self, limits: &[TimeControl]) -> Result<RulesConfig> {
        deadline_from_seconds(self.deadline.as_secs_f64())?;
        check_hash(self.hash_mib)?;
        if self.book_plies == 0 {
            return Err(Error::setting("book-plies", 0, "expected at least 1"));
        }
        self.adjudication.check()?;
        let usual_margin = limits.iter().map(TimeControl::usual_margin).max().unwrap_or_default();
        Ok(RulesConfig {
            time_margin_ms: self.time_margin.unwrap_or(usual_margin).as_millis() as u64,
            deadline_ms: self.deadline.as_millis() as u64,
            adjudication: self.adjudication,
            openings: OpeningsConfig {
                file: self.book.as_deref().map(absolute),
                checksum: None,
                order: self.order.name().to_string(),
                book_plies: self.book_plies,
            },
        })
    }
}

/// Settings of a match; its results are from A's view.
#[derive(Clone, Debug)]
pub struct MatchOptions {
    /// A and B.
    pub sides: [Side; 2],
    /// Settings of the games.
    pub play: GameSettings,
    /// Limit of B, if it differs from A's.
    pub limit_b: Option<TimeControl>,
    /// Sequential test that stops the match when it has decided.
    pub sprt: Option<Sprt>,
    /// File for the games, instead of `games.pgn` in the folder of the match.
    pub pgn: Option<PathBuf>,
}

impl MatchOptions {
    /// Creates a match between two sides, each a parameter file, piece values or a UCI engine (see [`Side::new`]), with
    /// the default settings.
    pub fn new(a: impl Into<Side>, b: impl Into<Side>) -> Self {
        let (sides, play) = ([a.into(), b.into()], GameSettings::default());
        Self { sides, play, limit_b: None, sprt: None, pgn: None }
    }

    /// Describes a match that begins today for its journal.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings; errors of [`Side::describe`].
    pub(crate) fn record(&self) -> Result<MatchConfig> {
        let Self { sides: [a, b], play, sprt, .. } = self;
        let limits = [play.limit, self.limit_b.unwrap_or(play.limit)];
        let games = play.games.unwrap_or(if sprt.is_some() { GAMES_WITH_SPRT } else { GAMES });
        Ok(MatchConfig {
            head: RunHead::new(FORMAT, &play.command_line),
            play: play.record(&limits)?,
            engines: [a.describe()?, b.describe()?],
            limits: limits.map(|limit| limit.to_string()),
            seed: play.seed,
            hash_mib: play.hash_mib,
            sprt: *sprt,
            pgn: self.pgn.as_deref().map(absolute),
            games,
            max_failures: play.max_failures.unwrap_or_else(|| (games / 10).clamp(10, 100)),
        })
    }
}

/// Changes to a resumed match or self-play run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Changes {
    /// Another number of games, at least as many as were played.
    pub games: Option<u64>,
    /// Another number of games that may end by engine failures.
    pub max_failures: Option<u64>,
    /// Number of games in parallel; the number of cores by default.
    pub concurrency: Option<usize>,
}

/// Games in parallel: their number, who plays them, and warnings to show before the first one.
pub struct Seating {
    /// Number of games, or pairs, in parallel.
    pub concurrency: usize,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
    crowding: Option<String>,
    dispatcher: Option<Arc<dyn Dispatcher>>,
}

impl Seating {
    /// Creates games in this process, by default one per core.
    ///
    /// # Errors
    /// [`Error::Setting`], named `concurrency`, for 0.
    pub fn new(asked: Option<usize>, rules: &Rules, book: Option<&Book>) -> Result<Self> {
        let concurrency = check_concurrency(asked)?;
        let crowding = crowding(rules, concurrency);
        let mut warnings: Vec<String> = crowding.iter().cloned().collect();
        if let Some(book) = book {
            warnings.extend(book.complaints.iter().cloned());
            let left_out = book.bad.saturating_sub(book.complaints.len() as u64);
            if left_out > 0 {
                warnings.push(format!("and {left_out} more unusable lines"));
            }
        }
        Ok(Self { concurrency, warnings, crowding, dispatcher: None })
    }

    /// Lets the games be played elsewhere instead of in this process, so many in parallel.
    pub fn dispatch(&mut self, dispatcher: Arc<dyn Dispatcher>, games: usize) {
        self.warnings.retain(|warning| Some(warning) != self.crowding.as_ref());
        (self.dispatcher, self.concurrency) = (Some(dispatcher), games);
    }

    /// Returns the dispatcher, if games are played elsewhere.
    pub fn dispatcher(&self) -> Option<&dyn Dispatcher> {
        self.dispatcher.as_deref()
    }
}

/// Refuses zero or an odd number of games; `setting` is the name of the setting.
///
/// # Errors
/// [`Error::Setting`].
pub fn check_games(setting: &'static str, games: u64) -> Result<()> {
    if games > 0 && games.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::setting(setting, games, "games are played in pairs, so the number must be even and positive"))
}

/// Returns the number of games in parallel: the number of cores by default.
///
/// # Errors
/// [`Error::Setting`], named `concurrency`, for 0.
pub fn check_concurrency(asked: Option<usize>) -> Result<usize> {
    match asked.unwrap_or_else(cores) {
        0 => Err(Error::setting("concurrency", 0, "expected at least 1")),
        games => Ok(games),
    }
}

/// Converts seconds to a deadline: more than 0 and at most a day.
///
/// # Errors
/// [`Error::Setting`], named `deadline`, for other values.
pub fn deadline_from_seconds(seconds: f64) -> Result<Duration> {
    let deadline = Duration::try_from_secs_f64(seconds).ok();
    deadline
        .filter(|time| !time.is_zero() && *time <= Duration::from_secs(86_400))
        .ok_or_else(|| Error::setting("deadline", seconds, "expected seconds, more than 0 and at most a day"))
}

/// Returns a warning if more games are played in parallel than this machine has cores, and engines play on time.
fn crowding(rules: &Rules, concurrency: usize) -> Option<String> {
    let cores = cores();
    (concurrency > cores && rules.time_controls.iter().any(TimeControl::is_timed)).then(|| {
        format!(
            "{concurrency} games at a time on {cores} cores: engines that play on time will disturb each other"
        )
    })
}

/// Returns the number of cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
