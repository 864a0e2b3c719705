//! Settings of self-play: as requested, and as stored in the journal.

use serde::{Deserialize, Serialize};

use super::output::GameFormat;
use crate::config::{EngineConfig, PlayConfig};
use crate::contestant::Side;
use crate::openings::{Book, Openings};
use crate::settings::GameSettings;
use gputexel_io::{Error, Result};

pub(super) const FORMAT: &str = "gputexel-selfplay";
/// If there are more games than openings.
const RANDOM_PLIES: u32 = 2;

const MAX_RANDOM_PLIES: u32 = 200;
const GAMES: u64 = 1000;

/// Default: the built-in engine with plain piece values, 1,000 games at 5,000 nodes per move.
#[derive(Clone, Debug)]
pub struct SelfPlayOptions {
    pub engine: Side,
    pub play: GameSettings,
    /// After the book's opening; `None` for 0, or 2 if the bundled book has fewer openings than there are games.
    pub random_plies: Option<u32>,
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
            leaves: 0,
            formats: vec![GameFormat::Pgn],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfPlayConfig {
    #[serde(flatten)]
    pub play: PlayConfig,
    pub engine: EngineConfig,
    pub random_plies: u32,
    pub leaves: u64,
    pub formats: Vec<GameFormat>,
}

impl SelfPlayConfig {
    pub fn new(options: &SelfPlayOptions) -> Result<Self> {
        let play = options.play.record(FORMAT, GAMES)?;
        if play.games == 0 {
            return Err(Error::setting("games", 0, "expected at least 1"));
        }
        let reused = play.openings.file.is_none() && play.games > Book::BUNDLED;
        let random_plies = options.random_plies.unwrap_or(if reused { RANDOM_PLIES } else { 0 });
        if random_plies > MAX_RANDOM_PLIES {
            let reason = format!("expected at most {MAX_RANDOM_PLIES}");
            return Err(Error::setting("random-plies", random_plies, reason));
        }
        Ok(Self {
            play,
            engine: options.engine.describe()?,
            random_plies,
            leaves: options.leaves,
            formats: options.formats.clone(),
        })
    }

    /// Records the checksum of the book, or refuses one that has changed. Nor may openings be played twice: engines
    /// that do not play on time would repeat whole games.
    pub(super) fn open_openings(&mut self) -> Result<Openings> {
        let openings = self.play.open_openings("self-play run")?;
        let known = openings.book().len();
        if self.random_plies == 0 && self.play.games > known as u64 {
            let reason = format!(
                "the book has {known} different openings, and without random plies each is played once"
            );
            return Err(Error::setting("games", self.play.games, reason));
        }
        Ok(openings)
    }
}
