//! Chooses the next game, and stores finished ones.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use super::config::SelfPlayConfig;
use super::record::StoredGame;
use super::tally::SelfPlayTally;
use crate::config::EngineKind;
use crate::game::GameRecord;
use crate::openings::{Opening, Openings};
use crate::runner::Stop;
use crate::scheduler::Schedule;
use gputexel_chess::sample::position_key;
use gputexel_io::{Error, Result, RunLog, counted};

/// Games without a leaf after which an engine is taken to print none.
const GAMES_WITHOUT_LEAVES: u64 = 20;
/// Or a hundredth of the games, if that is more.
const MOST_SPOILED: u64 = 10;

pub(super) struct GameSchedule<'a> {
    pub config: SelfPlayConfig,
    pub openings: &'a Openings,
    pub journal: RunLog<StoredGame>,
    pub tally: SelfPlayTally,
    pub observe: &'a mut (dyn FnMut(&SelfPlayTally) + Send),
    /// With the keys of their openings, sorted.
    pub known: Vec<(u64, u64)>,
    pub next: u64,
    pub shows_leaves: &'a AtomicBool,
    /// Of the openings of all games before `next`.
    pub used: HashSet<u64>,
    pub stop: Option<Stop>,
    /// Prevents further games.
    pub broken: Option<Error>,
}

impl GameSchedule<'_> {
    /// Depends on those of all games before: none occurs twice.
    fn opening(&mut self, game: u64) -> Result<Opening> {
        let plies = self.config.random_plies;
        if plies == 0 {
            return Ok(self.openings.get(game));
        }
        let used = &mut self.used;
        let mut drawn = self.openings.drawn(game, plies);
        let found = drawn.find(|opening| used.insert(position_key(&opening.position())));
        found.ok_or_else(|| {
            let reason = format!("game {} has no opening: nothing that was drawn is new and level", game + 1);
            Error::setting("random-plies", plies, reason)
        })
    }

    /// Stops if the engine has failed too often, or shows no leaves.
    pub(super) fn judge(&mut self) {
        let prints_leaves = self.config.leaves > 0 && self.config.engine.kind == EngineKind::Uci;
        let enough = self.config.play.games.clamp(1, GAMES_WITHOUT_LEAVES);
        let is_over = self.tally.finished() >= self.config.play.games;
        if prints_leaves && self.tally.leaves == 0 && (is_over || self.tally.games() >= enough) {
            let engine = self.config.engine.name.clone();
            let what = match (self.shows_leaves.load(Ordering::Relaxed), self.known.is_empty()) {
                (true, _) => "none of the leaves that it printed was drawn",
                (false, true) => "printed no 'info string leaf FEN'",
                // What earlier processes have seen is unknown.
                (false, false) => "no 'info string leaf FEN' was drawn",
            };
            let games = counted(self.tally.finished(), "game");
            let last = self.tally.last_failure.as_ref();
            let last = last.map(|last| format!("; last failure: {last}")).unwrap_or_default();
            let reason = format!("{what} in {games} (--leaves {}){last}", self.config.leaves);
            self.broken = Some(Error::Engine { engine, reason });
        }
        if self.stop.is_none() && self.tally.spoiled > (self.config.play.games / 100).max(MOST_SPOILED) {
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

impl Schedule<1> for GameSchedule<'_> {
    type Pair = (u64, Opening);

    fn next(&mut self) -> Option<(u64, Opening)> {
        while let Ok(at) = self.known.binary_search_by_key(&self.next, |(game, _)| *game) {
            self.used.insert(self.known[at].1);
            self.next += 1;
        }
        if self.next >= self.config.play.games || self.broken.is_some() {
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

    fn finished(&mut self, _: usize, (game, _): (u64, Opening), [record]: &[GameRecord; 1]) -> Result<bool> {
        // Results that arrive after the end are dropped.
        if self.stop.is_some() {
            return Ok(false);
        }
        let stored = StoredGame::new(game, record);
        self.journal.append(&stored)?;
        self.tally.add(&stored);
        (self.observe)(&self.tally);
        self.judge();
        Ok(self.stop.is_none() && self.broken.is_none())
    }
}
