//! A match: pairs of games, several in parallel, until there are enough or a test has decided.
//!
//! Owns the order in which results count, and when to stop; the threads are those of [`scheduler`](super::scheduler).
//! Only the contiguous pairs from the first on count. If pairs were counted as they are finished, short games would
//! come first and bias a sequential test, and the result would depend on the machine.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use super::dispatch::{Assignment, Dispatcher, RemoteSide};
use super::game::{Encounter, PairRecord, Rules};
use super::openings::{Opening, Openings};
use super::pgn::{GameTags, to_pgn};
use super::player::Player;
use super::scheduler::{NextStep, Players, Schedule, Unready, dispatch_pairs, play_pairs};
use super::statistics::{Sprt, SprtState};
use super::tally::{PairSummary, Tally};
use gputexel_io::{Error, Result};

/// Number of attempts to start an engine before the match is aborted.
const STARTS: u32 = 3;

/// Settings of a match.
#[derive(Clone, Debug)]
pub struct MatchSettings {
    /// Names of A and B in games and reports.
    pub names: [String; 2],
    /// Event and date for the tags of games.
    pub event: String,
    /// Date, such as `2026.01.31`.
    pub date: String,
    /// The rules of every game.
    pub rules: Rules,
    /// Maximum number of pairs.
    pub pairs: u64,
    /// Number of games in parallel.
    pub concurrency: usize,
    /// Test for stopping early.
    pub sprt: Option<Sprt>,
    /// Number of games that may end by engine failures before the match is aborted.
    pub max_failures: u64,
}

/// Creates the players: A's for 0, B's for 1; called once for each of the parallel games.
pub type MakePlayer<'a> = dyn Fn(usize) -> Result<Box<dyn Player>> + Sync + 'a;

/// Receives pairs as they are finished.
pub trait Observer: Send {
    /// Stores a finished pair; called in no particular order.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn finished(&mut self, pair: &PairSummary) -> Result<()>;

    /// Called when the tally has changed.
    fn counted(&mut self, tally: &Tally);
}

/// Reason why a match ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All pairs are played.
    AllPlayed,
    /// The sequential test has decided.
    Decided(SprtState),
    /// Cancelled by the user.
    Cancelled,
    /// An engine failed too often; a sentence with details.
    Failures(String),
}

/// Result of a match.
#[derive(Clone, Debug)]
pub struct MatchResult {
    /// Tally of the pairs that count.
    pub tally: Tally,
    /// Reason for its end.
    pub stop: Stop,
    /// Finished pairs that do not count, because earlier ones are missing or because the sequential test had decided.
    pub ahead: u64,
}

/// Counts pairs in order.
struct Counting<'a> {
    settings: &'a MatchSettings,
    observer: &'a mut dyn Observer,
    tally: Tally,
    next: u64,
    waiting: BTreeMap<u64, PairSummary>,
    stop: Option<Stop>,
}

impl Counting<'_> {
    fn add(&mut self, pair: PairSummary) {
        self.waiting.insert(pair.pair, pair);
        while self.stop.is_none() {
            let Some(pair) = self.waiting.remove(&self.next) else { return };
            self.next += 1;
            self.tally.add(&pair);
            self.observer.counted(&self.tally);
            self.stop = self.verdict();
        }
    }

    fn verdict(&self) -> Option<Stop> {
        let state =
            self.settings.sprt.as_ref().map_or(SprtState::Continue, |sprt| sprt.state(&self.tally.pairs));
        let failures: u64 = self.tally.failures.iter().sum();
        if failures > self.settings.max_failures {
            let worst = usize::from(self.tally.failures[1] > self.tally.failures[0]);
            let last = self.tally.last_failure[worst].as_deref().unwrap_or("unknown");
            let other = match self.tally.failures[1 - worst] {
                0 => String::new(),
                count => format!(" ({} in {count})", self.settings.names[1 - worst]),
            };
            return Some(Stop::Failures(format!(
                "{}: failed in {} of {} games{other}, last: {last}",
                self.settings.names[worst],
                self.tally.failures[worst],
                self.tally.games(),
            )));
        }
        if state != SprtState::Continue {
            return Some(Stop::Decided(state));
        }
        (self.next >= self.settings.pairs).then_some(Stop::AllPlayed)
    }
}

/// Plays a match, continuing after the pairs in `done`.
///
/// The result depends only on the settings, the openings and the players, not on `concurrency`, as long as the players'
/// moves do not depend on time.
///
/// # Errors
/// Errors of `make` or the observer; [`Error::Input`] when an engine cannot be started.
pub fn run_match(
    settings: &MatchSettings,
    openings: &Openings,
    make: &MakePlayer<'_>,
    done: BTreeMap<u64, PairSummary>,
    cancel: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<MatchResult> {
    let players = MatchPlayers { openings, make };
    conduct(settings, done, observer, |schedule, threads| {
        play_pairs(&players, schedule, &settings.rules, threads, cancel, &mut |_| ())
    })
}

/// Lets these sides play a match elsewhere; otherwise as [`run_match`].
///
/// # Errors
/// Errors of the dispatcher or the observer.
pub fn dispatch_match(
    settings: &MatchSettings,
    openings: &Openings,
    sides: &[RemoteSide; 2],
    dispatcher: &dyn Dispatcher,
    done: BTreeMap<u64, PairSummary>,
    cancel: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<MatchResult> {
    let assign = |number: &u64| {
        let (opening, rules) = (openings.get(*number), settings.rules);
        Ok(Assignment { number: *number, sides: sides.clone(), opening, rules, games: PairRecord::GAMES })
    };
    conduct(settings, done, observer, |schedule, pairs| {
        dispatch_pairs(dispatcher, &assign, schedule, pairs, cancel, &mut |_| ())
    })
}

/// Counts the pairs in `done` and those that `play` plays in parallel.
fn conduct<'a>(
    settings: &'a MatchSettings,
    done: BTreeMap<u64, PairSummary>,
    observer: &'a mut dyn Observer,
    play: impl FnOnce(&mut MatchSchedule<'a>, u64) -> Result<()>,
) -> Result<MatchResult> {
    let (tally, waiting) = (Tally::default(), BTreeMap::new());
    let counting = Counting { settings, observer, tally, next: 0, waiting, stop: None };
    let known: Vec<u64> = done.keys().copied().collect();
    let mut schedule = MatchSchedule { counting, known, next: 0, is_broken: false };
    for pair in done.into_values() {
        schedule.counting.add(pair);
    }
    if schedule.counting.stop.is_none() && settings.pairs > 0 {
        play(&mut schedule, settings.pairs.min(settings.concurrency as u64))?;
    }
    let counting = schedule.counting;
    let ahead = counting.waiting.len() as u64;
    let stop = match counting.stop {
        Some(stop) => stop,
        None if settings.pairs == 0 => Stop::AllPlayed,
        None => Stop::Cancelled,
    };
    Ok(MatchResult { tally: counting.tally, stop, ahead })
}

struct MatchPlayers<'a> {
    openings: &'a Openings,
    make: &'a MakePlayer<'a>,
}

impl Players for MatchPlayers<'_> {
    type Pair = u64;
    type Player = Box<dyn Player>;

    fn make(&self, side: usize) -> Result<Self::Player> {
        (self.make)(side)
    }

    fn set_up(&self, _: &mut [Self::Player; 2], pair: &u64) -> Result<Opening> {
        Ok(self.openings.get(*pair))
    }

    fn as_player(player: &mut Self::Player) -> &mut dyn Player {
        &mut **player
    }
}

/// Pairs by number, without those already known.
struct MatchSchedule<'a> {
    counting: Counting<'a>,
    /// Finished pairs, sorted.
    known: Vec<u64>,
    next: u64,
    /// True if a pair could not be stored.
    is_broken: bool,
}

impl Schedule for MatchSchedule<'_> {
    type Pair = u64;
    type Record = PairRecord;

    fn next(&mut self) -> Option<u64> {
        while self.known.binary_search(&self.next).is_ok() {
            self.next += 1;
        }
        let pair = self.next;
        self.next += 1;
        (pair < self.counting.settings.pairs).then_some(pair)
    }

    fn finished(&mut self, _: usize, pair: u64, record: &PairRecord) -> Result<bool> {
        // Results that arrive after the end are dropped.
        if self.is_broken || self.counting.stop.is_some() {
            return Ok(false);
        }
        let pair = PairSummary::new(pair, record, pair_pgn(self.counting.settings, pair, record));
        let stored = self.counting.observer.finished(&pair);
        self.is_broken = stored.is_err();
        stored?;
        self.counting.add(pair);
        Ok(self.counting.stop.is_none())
    }

    fn not_ready(&mut self, pair: u64, unready: &Unready, attempts: u32) -> Result<NextStep<u64>> {
        if self.counting.stop.is_some() {
            return Ok(NextStep::End);
        }
        match attempts < STARTS {
            true => Ok(NextStep::Retry(pair)),
            false => Err(Error::input(&unready.name, unready.failure.to_string())),
        }
    }

    fn cancelled(&mut self, _: u64) -> Result<()> {
        Ok(())
    }
}

/// Formats both games of a pair.
fn pair_pgn(settings: &MatchSettings, pair: u64, record: &PairRecord) -> String {
    let MatchSettings { names: [a, b], event, date, rules, .. } = settings;
    let [control_a, control_b] = rules.time_controls;
    let sides = [([a.as_str(), b], [control_a, control_b]), ([b.as_str(), a], [control_b, control_a])];
    let games = record.games.iter().zip(sides).zip(1..);
    games
        .map(|((game, (names, time_controls)), number)| {
            let round = format!("{}.{number}", pair + 1);
            to_pgn(game, &GameTags { event, date, round, names, time_controls })
        })
        .collect()
}
