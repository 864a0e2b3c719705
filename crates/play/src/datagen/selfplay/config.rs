//! What is played: as it is asked for, and as the journal keeps it.

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

/// Random plies at most: more would not leave a game.
const MAX_RANDOM_PLIES: u32 = 200;

/// What to play. The default is the built-in engine with plain piece values, 1,000 games at 5,000 nodes per move.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    /// Who plays both sides.
    pub engine: Side,
    /// What a side may spend.
    pub limit: TimeControl,
    /// How far a limit of time may be overstepped; `None` as [`TimeControl::usual_margin`] has it.
    pub time_margin: Option<Duration>,
    /// When an engine without a clock counts as hung.
    pub deadline: Duration,
    /// Early ends.
    pub adjudication: Adjudication,
    /// A book of positions or games; `None` for the usual position.
    pub book: Option<PathBuf>,
    /// The order of the book's openings.
    pub order: Order,
    /// Of PGN books: plies of each game.
    pub book_plies: u32,
    /// Random plies behind the usual position or the book's opening; `None` for 8 without a book, 0 with one.
    pub random_plies: Option<u32>,
    /// Largest advantage of either side after the random plies, centipawns; see [`RandomPlies::limit_cp`].
    pub opening_limit_cp: u32,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Games to play.
    pub games: u64,
    /// Games that may end by a failing engine before playing is given up; `None` for a hundredth of the games,
    /// at least 10.
    pub max_failures: Option<u64>,
    /// The files to write.
    pub formats: Vec<GameFormat>,
    /// What the journal says of who began.
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

/// The first line of the journal: everything that decides the games, with checksums of the files it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayConfig {
    format: String,
    version: u32,
    /// The version of gputexel that began.
    pub gputexel: String,
    /// The command line that began; empty where there was none.
    pub command_line: String,
    /// The day when it began, `2026.01.31`.
    pub date: String,
    /// Who plays.
    pub engine: EngineConfig,
    /// What a side may spend, such as `nodes=5000`.
    pub limit: String,
    /// How far a limit of time may be overstepped, milliseconds.
    pub time_margin_ms: u64,
    /// After which time an engine without a clock counts as hung, milliseconds.
    pub deadline_ms: u64,
    /// Early ends.
    pub adjudication: Adjudication,
    /// The book.
    pub openings: OpeningsConfig,
    /// Random plies behind it.
    pub random: RandomPlies,
    /// Seed of the openings.
    pub seed: u64,
    /// Transposition table of each built-in engine, MiB.
    pub hash_mib: u32,
    /// Games to play, when it began.
    pub games: u64,
    /// Games that may end by a failing engine, when it began.
    pub max_failures: u64,
    /// The files to write, when it began.
    pub formats: Vec<GameFormat>,
}

impl SelfPlayConfig {
    /// What the journal says of what is asked for.
    ///
    /// # Errors
    /// [`Error::Setting`] for what makes no sense; those of [`Side::describe`].
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

    /// Refuses what another program or version wrote.
    pub(super) fn check(&self) -> Result<()> {
        if self.format != FORMAT || self.version != VERSION {
            let found = format!("{} version {}", self.format, self.version);
            return Err(Error::Usage(format!("the journal is {found}, expected {FORMAT} {VERSION}")));
        }
        Ok(())
    }

    /// The rules of its games.
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

    /// Reads the book; notes its checksum, or refuses one that has changed. A book whose openings would be
    /// played twice is refused, because engines that do not play by time would repeat whole games.
    ///
    /// # Errors
    /// Those of reading a book; [`Error::Input`] when it is not the one that was noted; [`Error::Setting`].
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
