//! A match: pairs of games until there are enough or a test has decided.
//!
//! Invariant: only the contiguous pairs from the first on count. Otherwise short games would come first and bias a
//! sequential test.

use std::collections::BTreeMap;

use super::game::{GameRecord, Rules};
use super::openings::Openings;
use super::pgn::{GameTags, to_pgn};
use super::scheduler::{Players, Schedule, Venue, play_pairs};
use super::statistics::{Sprt, SprtState};
use super::tally::{PairSummary, Tally};
use gputexel_io::{Result, StopFlag};

#[derive(Clone, Debug)]
pub struct MatchSettings {
    pub names: [String; 2],
    pub event: String,
    pub date: String,
    pub rules: Rules,
    pub pairs: u64,
    pub concurrency: usize,
    pub sprt: Option<Sprt>,
    /// Games that may end by engine failures before the match is aborted.
    pub max_failures: u64,
}

pub enum MatchEvent<'a> {
    /// To be stored; in no particular order.
    Finished(&'a PairSummary),
    Counted(&'a Tally),
}

pub type MatchObserver<'a> = dyn FnMut(MatchEvent<'_>) -> Result<()> + Send + 'a;

/// Why playing ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    AllPlayed,
    Decided(SprtState),
    Cancelled,
    Failures(String),
}

impl Stop {
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllPlayed => "all-played",
            Self::Decided(_) => "sprt",
            Self::Cancelled => "cancelled",
            Self::Failures(_) => "failures",
        }
    }
}

#[derive(Clone, Debug)]
pub struct MatchResult {
    pub tally: Tally,
    /// Reason for its end.
    pub stop: Stop,
    /// Finished pairs that do not count.
    pub ahead: u64,
}

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

/// Plays a match, continuing after the pairs in `done`. The result does not depend on `concurrency`, as long as the
/// players' moves do not depend on time.
pub fn run_match(
    settings: &MatchSettings,
    openings: &Openings,
    players: Players<'_, u64>,
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
        let venue = Venue { players, opening: &|pair| openings.get(*pair), rules: settings.rules };
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

/// Pairs by number, without the known ones.
struct MatchSchedule<'a> {
    counting: Counting<'a>,
    known: Vec<u64>,
    next: u64,
    is_broken: bool,
}

impl Schedule<2> for MatchSchedule<'_> {
    type Pair = u64;

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

/// Both games of a pair, numbered from 1; A has White in the first.
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
