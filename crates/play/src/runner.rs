//! A match: pairs of games, several in parallel, until there are enough or a test has decided.
//!
//! Owns the order in which results count, and when to stop; the threads are those of [`scheduler`](super::scheduler).
//! Only the contiguous pairs from the first on count. If pairs were counted as they are finished, short games would
//! come first and bias a sequential test, and the result would depend on the machine.

use std::collections::BTreeMap;

use super::game::{GameRecord, Rules};
use super::openings::Openings;
use super::pgn::{GameTags, to_pgn};
use super::scheduler::{Place, Schedule, Venue, play_pairs};
use super::statistics::{Sprt, SprtState};
use super::tally::{PairSummary, Tally};
use gputexel_io::{Result, StopFlag};

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

/// A change in the course of a match.
pub enum MatchEvent<'a> {
    /// A pair is finished and must be stored; in no particular order.
    Finished(&'a PairSummary),
    /// The tally has changed.
    Counted(&'a Tally),
}

/// Receives the events of a match; errors end it.
pub type MatchObserver<'a> = dyn FnMut(MatchEvent<'_>) -> Result<()> + Send + 'a;

/// Reason why a match, a self-play run or a tuning run ended.
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

impl Stop {
    /// Returns its machine-readable name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllPlayed => "all-played",
            Self::Decided(_) => "sprt",
            Self::Cancelled => "cancelled",
            Self::Failures(_) => "failures",
        }
    }
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
    observer: &'a mut MatchObserver<'a>,
    tally: Tally,
    next: u64,
    waiting: BTreeMap<u64, PairSummary>,
    stop: Option<Stop>,
}

impl Counting<'_> {
    fn add(&mut self, pair: PairSummary) -> Result<()> {
        self.waiting.insert(pair.pair, pair);
        while self.stop.is_none() {
            let Some(pair) = self.waiting.remove(&self.next) else { break };
            self.next += 1;
            self.tally.add(&pair);
            (self.observer)(MatchEvent::Counted(&self.tally))?;
            self.stop = self.verdict();
        }
        Ok(())
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
/// Errors of the players, the dispatcher or the observer; [`Error::Input`](gputexel_io::Error::Input) when an engine
/// cannot be started.
pub fn run_match(
    settings: &MatchSettings,
    openings: &Openings,
    place: Place<'_, u64>,
    done: BTreeMap<u64, PairSummary>,
    stop: &StopFlag,
    observer: &mut MatchObserver<'_>,
) -> Result<MatchResult> {
    let (tally, waiting) = (Tally::default(), BTreeMap::new());
    let counting = Counting { settings, observer, tally, next: 0, waiting, stop: None };
    let known: Vec<u64> = done.keys().copied().collect();
    let mut schedule = MatchSchedule { counting, known, next: 0, is_broken: false };
    done.into_values().try_for_each(|pair| schedule.counting.add(pair))?;
    if schedule.counting.stop.is_none() && settings.pairs > 0 {
        let venue = Venue { place, opening: &|pair| openings.get(*pair), rules: settings.rules };
        let threads = settings.pairs.min(settings.concurrency as u64);
        play_pairs(&venue, &mut schedule, threads, stop, &mut |_| ())?;
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

/// Pairs by number, without those already known.
struct MatchSchedule<'a> {
    counting: Counting<'a>,
    /// Finished pairs, sorted.
    known: Vec<u64>,
    next: u64,
    /// True if a pair could not be stored.
    is_broken: bool,
}

impl Schedule<2> for MatchSchedule<'_> {
    type Pair = u64;

    fn number(pair: &u64) -> u64 {
        *pair
    }

    fn next(&mut self) -> Option<u64> {
        while self.known.binary_search(&self.next).is_ok() {
            self.next += 1;
        }
        let pair = self.next;
        self.next += 1;
        (pair < self.counting.settings.pairs).then_some(pair)
    }

    fn finished(&mut self, _: usize, pair: u64, games: &[GameRecord; 2]) -> Result<bool> {
        // Results that arrive after the end are dropped.
        if self.is_broken || self.counting.stop.is_some() {
            return Ok(false);
        }
        let MatchSettings { names, event, date, rules, .. } = self.counting.settings;
        let pgn = pair_pgn(games, pair + 1, names, rules, [event, date]);
        let pair = PairSummary::new(pair, games, pgn);
        let stored = (self.counting.observer)(MatchEvent::Finished(&pair));
        self.is_broken = stored.is_err();
        stored?;
        self.counting.add(pair)?;
        Ok(self.counting.stop.is_none())
    }
}

/// Formats both games of a pair, numbered from 1, between A and B, who has White in the second.
pub fn pair_pgn(
    games: &[GameRecord; 2],
    number: u64,
    [a, b]: &[String; 2],
    rules: &Rules,
    [event, date]: [&str; 2],
) -> String {
    let [control_a, control_b] = rules.time_controls;
    let sides = [([a.as_str(), b], [control_a, control_b]), ([b.as_str(), a], [control_b, control_a])];
    let games = games.iter().zip(sides).zip(1..);
    games
        .map(|((game, (names, time_controls)), game_number)| {
            let round = format!("{number}.{game_number}");
            to_pgn(game, &GameTags { event, date, round, names, time_controls })
        })
        .collect()
}
