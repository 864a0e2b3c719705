//! Configuration of a match before it begins.

use std::path::PathBuf;
use std::time::Duration;

use super::adjudication::Adjudication;
use super::config::{MatchConfig, OpeningsConfig};
use super::contestant::Side;
use super::hash::check_hash;
use super::openings::Order;
use super::session::deadline_from_seconds;
use super::session::{FinishedMatch, Match, Observe};
use super::statistics::Sprt;
use super::tally::Tally;
use super::time_control::TimeControl;
use gputexel_io::{Error, Result, StopFlag, absolute};

/// Default number of games.
const GAMES: u64 = 1000;

/// Default number of games with a sequential test.
const GAMES_WITH_SPRT: u64 = 100_000;

/// Builder of a match; see [`Match::builder`].
///
/// Defaults: 1,000 games (with a sequential test at most 100,000) at 5,000 nodes per move, from random, balanced
/// openings, without adjudication, one game per core in parallel. Methods that take an `Option` leave the setting
/// unchanged for `None`.
#[must_use]
pub struct MatchBuilder<'a> {
    sides: [Side; 2],
    limit: TimeControl,
    limit_b: Option<TimeControl>,
    time_margin: Option<Duration>,
    deadline: Duration,
    adjudication: Adjudication,
    book: Option<PathBuf>,
    order: Order,
    book_plies: u32,
    seed: u64,
    hash_mib: u32,
    sprt: Option<Sprt>,
    pgn: Option<PathBuf>,
    games: Option<u64>,
    max_failures: Option<u64>,
    concurrency: Option<usize>,
    folder: Option<PathBuf>,
    overwrite: bool,
    command_line: String,
    stop: StopFlag,
    observe: Option<Observe<'a>>,
}

impl<'a> Match<'a> {
    /// Begins to configure a match between two sides, each a parameter file, piece values or a UCI engine (see
    /// [`Side::new`]). Results are from A's view.
    pub fn builder(a: impl Into<Side>, b: impl Into<Side>) -> MatchBuilder<'a> {
        MatchBuilder::new(a.into(), b.into())
    }
}

impl<'a> MatchBuilder<'a> {
    fn new(a: Side, b: Side) -> Self {
        Self {
            sides: [a, b],
            limit: TimeControl::Nodes(5000),
            limit_b: None,
            time_margin: None,
            deadline: Duration::from_secs(60),
            adjudication: Adjudication::default(),
            book: None,
            order: Order::default(),
            book_plies: 16,
            seed: 1,
            hash_mib: 4,
            sprt: None,
            pgn: None,
            games: None,
            max_failures: None,
            concurrency: None,
            folder: None,
            overwrite: false,
            command_line: String::new(),
            stop: StopFlag::new(),
            observe: None,
        }
    }

    /// Sets the number of nodes per move, for both sides.
    pub fn nodes(self, nodes: u64) -> Self {
        self.limit(TimeControl::Nodes(nodes))
    }

    /// Sets the limit for both sides.
    pub fn limit(mut self, limit: TimeControl) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the limit for B, if it differs from A's.
    pub fn limit_b(mut self, limit: impl Into<Option<TimeControl>>) -> Self {
        self.limit_b = limit.into();
        self
    }

    /// Sets the tolerance of a time limit, rounded to milliseconds; by default [`TimeControl::usual_margin`] of the two
    /// sides.
    pub fn time_margin(mut self, margin: impl Into<Option<Duration>>) -> Self {
        self.time_margin = margin.into();
        self
    }

    /// Sets the time after which an engine without a clock counts as hung: more than 0 and at most a day.
    pub fn deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.deadline = deadline.into().unwrap_or(self.deadline);
        self
    }

    /// Sets rules for adjudication.
    pub fn adjudication(mut self, rules: Adjudication) -> Self {
        self.adjudication = rules;
        self
    }

    /// Sets a book: EPD or FEN, a position per line, or PGN; plain, compressed or in an archive.
    pub fn openings(mut self, book: impl Into<PathBuf>) -> Self {
        self.book = Some(book.into());
        self
    }

    /// Sets the order in which the openings of a book are played.
    pub fn order(mut self, order: impl Into<Option<Order>>) -> Self {
        self.order = order.into().unwrap_or(self.order);
        self
    }

    /// Sets the number of plies taken from each game of PGN books.
    pub fn book_plies(mut self, plies: impl Into<Option<u32>>) -> Self {
        self.book_plies = plies.into().unwrap_or(self.book_plies);
        self
    }

    /// Sets the seed of the openings.
    pub fn seed(mut self, seed: impl Into<Option<u64>>) -> Self {
        self.seed = seed.into().unwrap_or(self.seed);
        self
    }

    /// Sets the size of the transposition table of each built-in engine, 1 to 65,536 MiB.
    pub fn hash(mut self, mib: impl Into<Option<u32>>) -> Self {
        self.hash_mib = mib.into().unwrap_or(self.hash_mib);
        self
    }

    /// Stops when a sequential test has decided.
    pub fn sprt(mut self, test: impl Into<Option<Sprt>>) -> Self {
        self.sprt = test.into();
        self
    }

    /// Sets the maximum number of games: an even number above 0.
    pub fn games(mut self, games: impl Into<Option<u64>>) -> Self {
        self.games = games.into();
        self
    }

    /// Sets the number of games that may end by engine failures before the match is aborted; by default a tenth of the
    /// games, but between 10 and 100.
    pub fn max_failures(mut self, games: impl Into<Option<u64>>) -> Self {
        self.max_failures = games.into();
        self
    }

    /// Sets the number of pairs in parallel.
    pub fn concurrency(mut self, pairs: impl Into<Option<usize>>) -> Self {
        self.concurrency = pairs.into();
        self
    }

    /// Sets a file for the games, instead of `games.pgn` in the folder of the match.
    pub fn pgn(mut self, path: impl Into<PathBuf>) -> Self {
        self.pgn = Some(path.into());
        self
    }

    /// Sets a folder for the match, in which every finished pair is kept; see [`Match::create_folder`].
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.folder = Some(path.into());
        self
    }

    /// Allows writing to a folder that is not empty [default: no].
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets the command line for the journal.
    pub fn command_line(mut self, text: impl Into<String>) -> Self {
        self.command_line = text.into();
        self
    }

    /// Ends the match once the flag is set; finished pairs are kept.
    pub fn stop(mut self, flag: impl Into<StopFlag>) -> Self {
        self.stop = flag.into();
        self
    }

    /// Sets an observer that is called with the tally after each pair that counts.
    pub fn observe(mut self, observer: impl FnMut(&Tally) + Send + 'a) -> Self {
        self.observe = Some(Box::new(observer));
        self
    }

    /// Checks everything, opens engines and openings, and then creates the folder, if any.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings, [`Error::Usage`] for engines that lack an option; errors of reading
    /// parameters and books, of starting engines, and of [`Match::create_folder`].
    pub fn build(mut self) -> Result<Match<'a>> {
        let config = self.config()?;
        let mut prepared = Match::prepare(config, self.concurrency, self.stop)?;
        prepared.observe = self.observe.take();
        if let Some(folder) = &self.folder {
            prepared.create_folder(Some(folder), self.overwrite)?;
        }
        Ok(prepared)
    }

    /// Plays the match. Without a [`folder`](Self::folder) its games are kept in memory;
    /// [`FinishedMatch::write_to`] writes them.
    pub fn run(self) -> Result<FinishedMatch> {
        self.build()?.run()
    }

    /// Returns the configuration for the journal.
    fn config(&self) -> Result<MatchConfig> {
        let limits = [self.limit, self.limit_b.unwrap_or(self.limit)];
        deadline_from_seconds(self.deadline.as_secs_f64())?;
        check_hash(self.hash_mib)?;
        if self.book_plies == 0 {
            return Err(Error::setting("book-plies", 0, "expected at least 1"));
        }
        self.adjudication.check()?;
        let openings = OpeningsConfig {
            file: self.book.as_deref().map(absolute),
            checksum: None,
            order: self.order.name().to_string(),
            book_plies: self.book_plies,
        };
        let usual_margin = limits.iter().map(TimeControl::usual_margin).max().unwrap_or_default();
        let games = self.games.unwrap_or(if self.sprt.is_some() { GAMES_WITH_SPRT } else { GAMES });
        let [a, b] = &self.sides;
        Ok(MatchConfig {
            command_line: self.command_line.clone(),
            limits: limits.map(|limit| limit.to_string()),
            time_margin_ms: self.time_margin.unwrap_or(usual_margin).as_millis() as u64,
            deadline_ms: self.deadline.as_millis() as u64,
            adjudication: self.adjudication,
            seed: self.seed,
            hash_mib: self.hash_mib,
            sprt: self.sprt,
            pgn: self.pgn.as_deref().map(absolute),
            games,
            max_failures: self.max_failures.unwrap_or_else(|| (games / 10).clamp(10, 100)),
            ..MatchConfig::new([a.describe()?, b.describe()?], openings)
        })
    }
}
