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
    pub stop: Stop,
    pub ahead: u64,
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
    let mut schedule = MatchSchedule {
        settings,
        observer,
        tally: Tally::default(),
        counted: 0,
        waiting: BTreeMap::new(),
        stop: None,
        known: done.keys().copied().collect(),
        next: 0,
        is_broken: false,
    };
    done.into_values().try_for_each(|pair| schedule.add(pair))?;
    if schedule.stop.is_none() && settings.pairs > 0 {
        let venue = Venue { players, opening: &|pair| openings.get(*pair), rules: settings.rules };
        let threads = settings.pairs.min(settings.concurrency as u64);
        play_pairs(&venue, &mut schedule, threads, stop, &mut |_| ())?;
    }
    let unfinished = if settings.pairs == 0 { Stop::AllPlayed } else { Stop::Cancelled };
    let MatchSchedule { tally, stop, waiting, .. } = schedule;
    Ok(MatchResult { tally, stop: stop.unwrap_or(unfinished), ahead: waiting.len() as u64 })
}

/// Plays pairs by number, without the known ones, and counts them in order.
struct MatchSchedule<'a> {
    settings: &'a MatchSettings,
    observer: &'a mut MatchObserver<'a>,
    tally: Tally,
    counted: u64,
    waiting: BTreeMap<u64, PairSummary>,
    stop: Option<Stop>,
    known: Vec<u64>,
    next: u64,
    is_broken: bool,
}

impl MatchSchedule<'_> {
    fn add(&mut self, pair: PairSummary) -> Result<()> {
        self.waiting.insert(pair.pair, pair);
        while self.stop.is_none() {
            let Some(pair) = self.waiting.remove(&self.counted) else { break };
            self.counted += 1;
            self.tally.add(&pair);
            (self.observer)(MatchEvent::Counted(&self.tally))?;
            self.stop = self.verdict();
        }
        Ok(())
    }

    fn verdict(&self) -> Option<Stop> {
        let (names, failures) = (&self.settings.names, self.tally.failures);
        if failures[0] + failures[1] > self.settings.max_failures {
            let worst = usize::from(failures[1] > failures[0]);
            let last = self.tally.last_failure[worst].as_deref().unwrap_or("unknown");
            let other = match failures[1 - worst] {
                0 => String::new(),
                count => format!(" ({} in {count})", names[1 - worst]),
            };
            return Some(Stop::Failures(format!(
                "{}: failed in {} of {} games{other}, last: {last}",
                names[worst],
                failures[worst],
                self.tally.games(),
            )));
        }
        match self.settings.sprt.map(|sprt| sprt.state(&self.tally.pairs)) {
            None | Some(SprtState::Continue) => {
                (self.counted >= self.settings.pairs).then_some(Stop::AllPlayed)
            }
            Some(state) => Some(Stop::Decided(state)),
        }
    }
}

impl Schedule<2> for MatchSchedule<'_> {
    type Pair = u64;

    fn next(&mut self) -> Option<u64> {
        while self.known.binary_search(&self.next).is_ok() {
            self.next += 1;
        }
        let pair = self.next;
        self.next += 1;
        (pair < self.settings.pairs).then_some(pair)
    }

    fn finished(&mut self, _: usize, pair: u64, games: &[GameRecord; 2]) -> Result<bool> {
        // Results that arrive after the end are dropped.
        if self.is_broken || self.stop.is_some() {
            return Ok(false);
        }
        let MatchSettings { names, event, date, rules, .. } = self.settings;
        let pgn = pair_pgn(games, pair + 1, names, rules, [event, date]);
        let pair = PairSummary::new(pair, games, pgn);
        let stored = (self.observer)(MatchEvent::Finished(&pair));
        self.is_broken = stored.is_err();
        stored?;
        self.add(pair)?;
        Ok(self.stop.is_none())
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
