//! Settings of self-play: as requested, and as stored in the journal.

use serde::{Deserialize, Serialize};

use super::output::GameFormat;
use crate::openings::{Openings, RandomPlies};
use crate::{EngineConfig, GameSettings, RulesConfig, RunHead, Side};
use gputexel_io::{Error, Result};

/// Format of the journal.
pub(super) const FORMAT: &str = "gputexel-selfplay";

/// Random plies of games without a book.
const RANDOM_PLIES: u32 = 8;

/// Maximum number of random plies: more would not leave a game.
const MAX_RANDOM_PLIES: u32 = 200;

/// Default number of games.
const GAMES: u64 = 1000;

/// Settings. The default is the built-in engine with plain piece values, 1,000 games at 5,000 nodes per move.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    /// The engine that plays both sides.
    pub engine: Side,
    /// Settings of the games; without a book, they begin with the usual position.
    pub play: GameSettings,
    /// Number of random plies after the usual position or the book's opening; `None` for 8 without a book, 0 with one.
    pub random_plies: Option<u32>,
    /// Largest advantage of either side after the random plies, centipawns; see [`RandomPlies::limit_cp`].
    pub opening_limit_cp: u32,
    /// Draws one in this many of the positions that the built-in engine's searches evaluate in quiescence, for
    /// `leaves.fens`; 0 draws none.
    pub leaves: u64,
    /// The files to write.
    pub formats: Vec<GameFormat>,
}

impl Default for SelfPlayOptions {
    fn default() -> Self {
        Self {
            engine: Side::new("material"),
            play: GameSettings::default(),
            random_plies: None,
            opening_limit_cp: 200,
            leaves: 0,
            formats: vec![GameFormat::Pgn],
        }
    }
}

/// The first line of the journal: everything that determines the games, with checksums of the files it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayConfig {
    /// Its start.
    #[serde(flatten)]
    pub head: RunHead,
    /// The engine.
    pub engine: EngineConfig,
    /// Limit per side, such as `nodes=5000`.
    pub limit: String,
    /// Rules and openings.
    #[serde(flatten)]
    pub play: RulesConfig,
    /// Random plies after the openings.
    pub random: RandomPlies,
    /// One in this many evaluated positions is drawn; 0 for none.
    #[serde(default)]
    pub leaves: u64,
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
    pub fn new(options: &SelfPlayOptions) -> Result<Self> {
        let play = &options.play;
        let rules = play.record(&[play.limit])?;
        let games = play.games.unwrap_or(GAMES);
        if games == 0 {
            return Err(Error::setting("games", 0, "expected at least 1"));
        }
        let plies = options.random_plies.unwrap_or(if play.book.is_some() { 0 } else { RANDOM_PLIES });
        if plies > MAX_RANDOM_PLIES {
            let reason = format!("expected at most {MAX_RANDOM_PLIES}");
            return Err(Error::setting("random-plies", plies, reason));
        }
        Ok(Self {
            head: RunHead::new(FORMAT, &play.command_line),
            engine: options.engine.describe()?,
            limit: play.limit.to_string(),
            play: rules,
            random: RandomPlies { plies, limit_cp: options.opening_limit_cp },
            leaves: options.leaves,
            seed: play.seed,
            hash_mib: play.hash_mib,
            games,
            max_failures: play.max_failures.unwrap_or_else(|| (games / 100).max(10)),
            formats: options.formats.clone(),
        })
    }

    /// Reads the book; records its checksum, or refuses one that has changed. A book whose openings would be played
    /// twice is refused, because engines that do not play on time would repeat whole games.
    ///
    /// # Errors
    /// Errors of reading a book; [`Error::Input`] when it has changed; [`Error::Setting`].
    pub(super) fn open_openings(&mut self) -> Result<Openings> {
        let openings = self.play.open_openings(self.seed, "self-play run")?;
        match openings.book() {
            Some(book) if self.random.plies == 0 && self.games > book.len() as u64 => {
                let reason = format!(
                    "the book has {} different openings, and without random plies each is played once",
                    book.len()
                );
                Err(Error::setting("games", self.games, reason))
            }
            _ => Ok(openings),
        }
    }
}
