//! Settings of self-play: as requested, and as stored in the journal.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::output::GameFormat;
use crate::openings::{Openings, Order, RandomPlies};
use crate::{
    Adjudication, EngineConfig, OpeningsConfig, Rules, Side, TimeControl, check_checksum, check_hash,
    deadline_from_seconds,
};
use gputexel_io::{Error, Result, absolute};

const FORMAT: &str = "gputexel-selfplay";
const VERSION: u32 = 1;

/// Random plies of games without a book.
const RANDOM_PLIES: u32 = 8;

/// Maximum number of random plies: more would not leave a game.
const MAX_RANDOM_PLIES: u32 = 200;

/// Settings. The default is the built-in engine with plain piece values, 1,000 games at 5,000 nodes per move.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    /// The engine that plays both sides.
    pub engine: Side,
    /// Limit per side.
    pub limit: TimeControl,
    /// Tolerance of a time limit; `None` for [`TimeControl::usual_margin`].
    pub time_margin: Option<Duration>,
    /// Time after which an engine without a clock counts as hung.
    pub deadline: Duration,
    /// Adjudication rules.
    pub adjudication: Adjudication,
    /// A book of positions or games; `None` for the usual position.
    pub book: Option<PathBuf>,
    /// The order of the book's openings.
    pub order: Order,
    /// Number of plies taken from each game of PGN books.
    pub book_plies: u32,
    /// Number of random plies after the usual position or the book's opening; `None` for 8 without a book, 0 with one.
    pub random_plies: Option<u32>,
    /// Largest advantage of either side after the random plies, centipawns; see [`RandomPlies::limit_cp`].
    pub opening_limit_cp: u32,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Number of games to play.
    pub games: u64,
    /// Number of games that may end by an engine failure before playing stops; `None` for a hundredth of the games, at
    /// least 10.
    pub max_failures: Option<u64>,
    /// The files to write.
    pub formats: Vec<GameFormat>,
    /// The command line, for the journal.
    pub command_line: String,
}

impl Default for SelfPlayOptions {
    fn default() -> Self {
        Self {
            engine: Side::new("material"),
            limit: TimeControl::Nodes(5000),
            time_margin: None,
            deadline: Duration::from_secs(60),
            adjudication: Adjudication::default(),
            book: None,
            order: Order::default(),
            book_plies: 16,
            random_plies: None,
            opening_limit_cp: 200,
            seed: 1,
            hash_mib: 4,
            games: 1000,
            max_failures: None,
            formats: vec![GameFormat::Pgn],
            command_line: String::new(),
        }
    }
}

/// The first line of the journal: everything that determines the games, with checksums of the files it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayConfig {
    format: String,
    version: u32,
    /// Version of gputexel that began the run.
    pub gputexel: String,
    /// Command line that began the run; may be empty.
    pub command_line: String,
    /// Start date, `2026.01.31`.
    pub date: String,
    /// The engine.
    pub engine: EngineConfig,
    /// Limit per side, such as `nodes=5000`.
    pub limit: String,
    /// Tolerance of a time limit, milliseconds.
    pub time_margin_ms: u64,
    /// Time after which an engine without a clock counts as hung, milliseconds.
    pub deadline_ms: u64,
    /// Adjudication rules.
    pub adjudication: Adjudication,
    /// The book.
    pub openings: OpeningsConfig,
    /// Random plies after it.
    pub random: RandomPlies,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Number of games to play, as of the start.
    pub games: u64,
    /// Number of games that may end by an engine failure, as of the start.
    pub max_failures: u64,
    /// Files to write, as of the start.
    pub formats: Vec<GameFormat>,
}

impl SelfPlayConfig {
    /// Describes the settings for the journal.
    ///
    /// # Errors
    /// [`Error::Setting`] for invalid settings; errors of [`Side::describe`].
    pub fn new(options: SelfPlayOptions) -> Result<Self> {
        let SelfPlayOptions { limit, deadline, adjudication, hash_mib, .. } = options;
        deadline_from_seconds(deadline.as_secs_f64())?;
        check_hash(hash_mib)?;
        adjudication.check()?;
        for (setting, value) in [("book-plies", u64::from(options.book_plies)), ("games", options.games)] {
            if value == 0 {
                return Err(Error::setting(setting, 0, "expected at least 1"));
            }
        }
        let plies = options.random_plies.unwrap_or(if options.book.is_some() { 0 } else { RANDOM_PLIES });
        if plies > MAX_RANDOM_PLIES {
            let reason = format!("expected at most {MAX_RANDOM_PLIES}");
            return Err(Error::setting("random-plies", plies, reason));
        }
        let openings = OpeningsConfig {
            file: options.book.as_deref().map(absolute),
            checksum: None,
            order: options.order.name().to_string(),
            book_plies: options.book_plies,
        };
        let max_failures = options.max_failures.unwrap_or_else(|| (options.games / 100).max(10));
        Ok(Self {
            format: FORMAT.to_string(),
            version: VERSION,
            gputexel: env!("CARGO_PKG_VERSION").to_string(),
            command_line: options.command_line,
            date: jiff::Timestamp::now().strftime("%Y.%m.%d").to_string(),
            engine: options.engine.describe()?,
            limit: limit.to_string(),
            time_margin_ms: options.time_margin.unwrap_or(limit.usual_margin()).as_millis() as u64,
            deadline_ms: deadline.as_millis() as u64,
            adjudication,
            openings,
            random: RandomPlies { plies, limit_cp: options.opening_limit_cp },
            seed: options.seed,
            hash_mib,
            games: options.games,
            max_failures,
            formats: options.formats,
        })
    }

    /// Refuses journals of other programs or versions.
    pub(super) fn check(&self) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            let found = format!("{} version {}", self.format, self.version);
            return Err(Error::Usage(format!("the journal is {found}, expected {FORMAT} {VERSION}")));
        }
        Ok(())
    }

    /// Returns the rules of its games.
    ///
    /// # Errors
    /// [`Error::Usage`] when the limit cannot be read.
    pub fn rules(&self) -> Result<Rules> {
        Ok(Rules {
            time_controls: [self.limit.parse()?; 2],
            time_margin: Duration::from_millis(self.time_margin_ms),
            deadline: Duration::from_millis(self.deadline_ms),
            adjudication: self.adjudication,
        })
    }

    /// Reads the book; records its checksum, or refuses one that has changed. A book whose openings would be played
    /// twice is refused, because engines that do not play on time would repeat whole games.
    ///
    /// # Errors
    /// Errors of reading a book; [`Error::Input`] when it has changed; [`Error::Setting`].
    pub(super) fn open_openings(&mut self) -> Result<Openings> {
        let Some(path) = &self.openings.file else { return Ok(Openings::generated(self.seed)) };
        let order = self.openings.order.parse()?;
        let openings = Openings::read(path, self.openings.book_plies, order, self.seed)?;
        if let Some(book) = openings.book() {
            check_checksum(path, &mut self.openings.checksum, &book.checksum, "self-play run")?;
            if self.random.plies == 0 && self.games > book.len() as u64 {
                let reason = format!(
                    "the book has {} different openings, and without random plies each is played once",
                    book.len()
                );
                return Err(Error::setting("games", self.games, reason));
            }
        }
        Ok(openings)
    }
}
