//! Settings of self-play: as requested, and as stored in the journal.

use serde::{Deserialize, Serialize};

use super::output::GameFormat;
use crate::config::{EngineConfig, RulesConfig, RunHead};
use crate::contestant::Side;
use crate::openings::{Openings, RandomPlies};
use crate::settings::GameSettings;
use gputexel_io::{Error, Result};

pub(super) const FORMAT: &str = "gputexel-selfplay";
const RANDOM_PLIES: u32 = 8;

/// More would not leave a game.
const MAX_RANDOM_PLIES: u32 = 200;
const GAMES: u64 = 1000;

/// Default: the built-in engine with plain piece values, 1,000 games at 5,000 nodes per move.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    pub engine: Side,
    /// Without a book, games begin with the usual position.
    pub play: GameSettings,
    /// After the usual position or the book's opening; `None` for 8 without a book, 0 with one.
    pub random_plies: Option<u32>,
    /// See [`RandomPlies::limit_cp`].
    pub opening_limit_cp: u32,
    /// One in this many of the positions evaluated in quiescence; 0 draws none.
    pub leaves: u64,
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayConfig {
    #[serde(flatten)]
    pub head: RunHead,
    pub engine: EngineConfig,
    /// Such as `nodes=5000`.
    pub limit: String,
    #[serde(flatten)]
    pub play: RulesConfig,
    pub random: RandomPlies,
    /// See [`SelfPlayOptions::leaves`].
    #[serde(default)]
    pub leaves: u64,
    pub seed: u64,
    pub hash_mib: u32,
    /// As of the start.
    pub games: u64,
    /// Games that may end by an engine failure, as of the start.
    pub max_failures: u64,
    pub formats: Vec<GameFormat>,
}

impl SelfPlayConfig {
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

    /// Records the checksum of the book, or refuses one that has changed. Nor may openings be played twice: engines
    /// that do not play on time would repeat whole games.
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
