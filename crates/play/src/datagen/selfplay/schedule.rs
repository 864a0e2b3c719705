//! Chooses the next game, and stores finished ones.

use std::collections::HashSet;

use super::config::SelfPlayConfig;
use super::record::StoredGame;
use super::tally::{SelfPlayTally, Stop};
use crate::openings::{Opening, Openings};
use crate::scheduler::{NextStep, Players, Schedule, Unready};
use crate::{Assignment, Contestant, Encounter, GameRecord, Player, RemoteSide, Rules};
use gputexel_chess::sample::position_key;
use gputexel_io::{Error, Result, RunLog};

/// Number of attempts to start an engine before playing stops.
const STARTS: u32 = 3;

/// Both sides of a game.
pub(super) struct BothSides<'a> {
    pub contestant: &'a Contestant,
    pub name: &'a str,
}

impl Players for BothSides<'_> {
    type Pair = (u64, Opening);
    type Player = Box<dyn Player>;

    fn make(&self, _: usize) -> Result<Self::Player> {
        self.contestant.player(self.name)
    }

    fn set_up(&self, _: &mut [Self::Player; 2], (_, opening): &(u64, Opening)) -> Result<Opening> {
        Ok(opening.clone())
    }

    fn as_player(player: &mut Self::Player) -> &mut dyn Player {
        &mut **player
    }
}

/// Creates an assignment for a game to be played elsewhere.
pub(super) fn assignment((game, opening): &(u64, Opening), side: &RemoteSide, rules: &Rules) -> Assignment {
    let (number, sides, opening) = (*game, [side.clone(), side.clone()], opening.clone());
    Assignment { number, sides, opening, rules: *rules, games: GameRecord::GAMES }
}

/// Receives the tally after each game.
pub(super) type Observe<'a> = Box<dyn FnMut(&SelfPlayTally) + Send + 'a>;

/// Games by number, without those already known.
pub(super) struct GameSchedule<'a> {
    pub config: SelfPlayConfig,
    pub openings: &'a Openings,
    pub journal: RunLog<StoredGame>,
    pub tally: SelfPlayTally,
    pub observe: Option<Observe<'a>>,
    /// Finished games, with the keys of their openings, sorted.
    pub known: Vec<(u64, u64)>,
    /// Number of the next game.
    pub next: u64,
    /// Keys of the openings of all games before it.
    pub used: HashSet<u64>,
    pub stop: Option<Stop>,
    /// Error that prevents further games, or that occurred while storing one.
    pub broken: Option<Error>,
}

impl GameSchedule<'_> {
    /// Returns the opening of a game. It depends on those of all games before it: none occurs twice.
    fn opening(&mut self, game: u64) -> Result<Opening> {
        let random = self.config.random;
        if random.plies == 0 && self.openings.book().is_some() {
            return Ok(self.openings.get(game));
        }
        let used = &mut self.used;
        let mut drawn = self.openings.drawn(game, random);
        let found = drawn.find(|opening| used.insert(position_key(&opening.position())));
        found.ok_or_else(|| {
            let reason = format!(
                "game {} has no opening: nothing that was drawn is new and within {} cp",
                game + 1,
                random.limit_cp
            );
            Error::setting("random-plies", random.plies, reason)
        })
    }

    /// Stops if the engine has failed too often.
    pub(super) fn judge(&mut self) {
        if self.stop.is_none() && self.tally.spoiled > self.config.max_failures {
            let last = self.tally.last_failure.as_deref().unwrap_or("unknown");
            self.stop = Some(Stop::Failures(format!(
                "{}: failed in {} of {} games, last: {last}",
                self.config.engine.name,
                self.tally.spoiled,
                self.tally.finished()
            )));
        }
    }
}

impl Schedule for GameSchedule<'_> {
    type Pair = (u64, Opening);
    type Record = GameRecord;

    fn next(&mut self) -> Option<(u64, Opening)> {
        while let Ok(at) = self.known.binary_search_by_key(&self.next, |(game, _)| *game) {
            self.used.insert(self.known[at].1);
            self.next += 1;
        }
        if self.next >= self.config.games || self.broken.is_some() {
            return None;
        }
        match self.opening(self.next) {
            Ok(opening) => {
                self.next += 1;
                Some((self.next - 1, opening))
            }
            Err(error) => {
                self.broken = Some(error);
                None
            }
        }
    }

    fn finished(&mut self, _: usize, (game, _): (u64, Opening), record: &GameRecord) -> Result<bool> {
        // Results that arrive after the end are dropped.
        if self.stop.is_some() {
            return Ok(false);
        }
        let stored = StoredGame::new(game, record);
        self.journal.append(&stored)?;
        self.tally.add(&stored);
        if let Some(observe) = &mut self.observe {
            observe(&self.tally);
        }
        self.judge();
        Ok(self.stop.is_none())
    }

    fn not_ready(
        &mut self,
        game: (u64, Opening),
        unready: &Unready,
        attempts: u32,
    ) -> Result<NextStep<(u64, Opening)>> {
        match attempts < STARTS {
            _ if self.stop.is_some() => Ok(NextStep::End),
            true => Ok(NextStep::Retry(game)),
            false => Err(Error::input(&unready.name, unready.failure.to_string())),
        }
    }

    fn cancelled(&mut self, _: (u64, Opening)) -> Result<()> {
        Ok(())
    }
}
