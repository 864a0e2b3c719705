//! A match: pairs of games, several at a time, until there are enough or a test has decided.
//!
//! Owns the threads, the order in which results count, and when to stop. What counts are the pairs
//! from the first on without a gap: were pairs counted as they are finished, short games would come
//! first and bias a sequential test, and the result would depend on the machine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::game::{PairRecord, Rules, Unplayed, play_pair};
use super::openings::Openings;
use super::pgn::{GameTags, to_pgn};
use super::player::Player;
use super::statistics::{Sprt, SprtState};
use super::tally::{PairSummary, Tally};
use gputexel_files::{Error, Result};

/// Stack of a thread that plays: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// How often an engine is started in vain before the match is given up.
const STARTS: u32 = 3;

/// What is played.
#[derive(Clone, Debug)]
pub struct MatchSettings {
    /// Names of A and B in games and reports.
    pub names: [String; 2],
    /// Event and date for the tags of games.
    pub event: String,
    /// `2026.01.31`.
    pub date: String,
    /// The rules of every game.
    pub rules: Rules,
    /// Pairs at most.
    pub pairs: u64,
    /// Games at a time.
    pub concurrency: usize,
    /// When to stop early.
    pub sprt: Option<Sprt>,
    /// Games that may end by failing engines before the match is given up.
    pub max_failures: u64,
}

/// Makes the players: A's for 0, B's for 1; called once for each of the games at a time.
pub type MakePlayer<'a> = dyn Fn(usize) -> Result<Box<dyn Player>> + Sync + 'a;

/// Told of pairs as they are finished.
pub trait Observer {
    /// A pair was finished, in no particular order; store it.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn finished(&mut self, pair: &PairSummary) -> Result<()>;

    /// What counts has changed.
    fn counted(&mut self, tally: &Tally);
}

/// Why a match ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All pairs are played.
    AllPlayed,
    /// The sequential test has decided.
    Decided(SprtState),
    /// The user asked for it.
    Cancelled,
    /// An engine failed too often; the sentence says which and how.
    Failures(String),
}

/// What came of a match.
#[derive(Clone, Debug)]
pub struct MatchResult {
    /// The pairs that count.
    pub tally: Tally,
    /// Why it ended.
    pub stop: Stop,
    /// Pairs that are finished but do not count, because earlier ones are missing or because the
    /// sequential test had decided.
    pub ahead: u64,
}

/// Counts pairs in their order.
struct Counting<'a> {
    settings: &'a MatchSettings,
    tally: Tally,
    next: u64,
    waiting: BTreeMap<u64, PairSummary>,
    stop: Option<Stop>,
}

impl Counting<'_> {
    fn add(&mut self, pair: PairSummary, observer: &mut dyn Observer) {
        self.waiting.insert(pair.pair, pair);
        while self.stop.is_none() {
            let Some(pair) = self.waiting.remove(&self.next) else { return };
            self.next += 1;
            self.tally.add(&pair);
            observer.counted(&self.tally);
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
                "{}: failed in {} of {} games{other}, last: {last}; the match is given up (--max-failures {})",
                self.settings.names[worst],
                self.tally.failures[worst],
                self.tally.games(),
                self.settings.max_failures
            )));
        }
        if state != SprtState::Continue {
            return Some(Stop::Decided(state));
        }
        (self.next >= self.settings.pairs).then_some(Stop::AllPlayed)
    }
}

/// Plays a match, going on behind the pairs in `done`.
///
/// The result depends on the settings, the openings and the players alone, not on `concurrency`,
/// as long as the players' moves do not depend on time.
///
/// # Errors
/// What `make` or the observer reports; [`Error::Input`] when an engine cannot be started.
pub fn run_match(
    settings: &MatchSettings,
    openings: &Openings,
    make: &MakePlayer<'_>,
    done: BTreeMap<u64, PairSummary>,
    cancel: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<MatchResult> {
    let mut counting =
        Counting { settings, tally: Tally::default(), next: 0, waiting: BTreeMap::new(), stop: None };
    let known: Vec<u64> = done.keys().copied().collect();
    for pair in done.into_values() {
        counting.add(pair, observer);
    }
    if counting.stop.is_none() && settings.pairs > 0 {
        let next = AtomicU64::new(0);
        let over = AtomicBool::new(false);
        // Cancelling the match and deciding it end games alike.
        let work = Work { settings, openings, make, known: &known, next: &next, over: &over, cancel };
        play(&work, |pair| {
            observer.finished(&pair)?;
            counting.add(pair, observer);
            Ok(counting.stop.is_none())
        })?;
    }
    let ahead = counting.waiting.len() as u64;
    let stop = match counting.stop {
        Some(stop) => stop,
        None if settings.pairs == 0 => Stop::AllPlayed,
        None => Stop::Cancelled,
    };
    Ok(MatchResult { tally: counting.tally, stop, ahead })
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Work<'a> {
    settings: &'a MatchSettings,
    openings: &'a Openings,
    make: &'a MakePlayer<'a>,
    /// Pairs that are finished, sorted.
    known: &'a [u64],
    next: &'a AtomicU64,
    /// Set when no more games are wanted.
    over: &'a AtomicBool,
    cancel: &'a AtomicBool,
}

/// Plays what is missing; `take` gets finished pairs and says whether more are wanted.
fn play(work: &Work<'_>, mut take: impl FnMut(PairSummary) -> Result<bool>) -> Result<()> {
    let threads = work.settings.concurrency.clamp(1, work.settings.pairs.min(4096) as usize);
    let (sender, receiver) = mpsc::channel();
    let mut outcome = Ok(());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let work = *work;
            let spawned =
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                    let end = work.play_pairs(&mut |pair| sender.send(Ok(pair)).is_ok());
                    if let Err(error) = end {
                        // The receiver is gone only when the match is over anyway.
                        let _ = sender.send(Err(error));
                    }
                });
            if let Err(error) = spawned {
                outcome = Err(Error::io("a thread", error));
                work.over.store(true, Ordering::Relaxed);
            }
        }
        drop(sender);
        // Until all threads have ended; what comes after the end is wanted no more.
        loop {
            if work.cancel.load(Ordering::Relaxed) {
                work.over.store(true, Ordering::Relaxed);
            }
            let received = match receiver.recv_timeout(Duration::from_millis(50)) {
                Ok(received) => received,
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            let decided = work.over.load(Ordering::Relaxed) && !work.cancel.load(Ordering::Relaxed);
            if outcome.is_err() || decided {
                continue;
            }
            match received.and_then(&mut take) {
                Ok(true) => {}
                Ok(false) => work.over.store(true, Ordering::Relaxed),
                Err(error) => {
                    work.over.store(true, Ordering::Relaxed);
                    outcome = Err(error);
                }
            }
        }
    });
    outcome
}

impl Work<'_> {
    fn play_pairs(&self, send: &mut dyn FnMut(PairSummary) -> bool) -> Result<()> {
        let made = (self.make)(0).and_then(|a| Ok([a, (self.make)(1)?]));
        let [mut a, mut b] = match made {
            // The match is called off before this thread has played.
            Err(Error::Interrupted(_)) => return Ok(()),
            made => made?,
        };
        let mut in_vain = 0;
        loop {
            let pair = self.next.fetch_add(1, Ordering::Relaxed);
            if pair >= self.settings.pairs || self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.known.binary_search(&pair).is_ok() {
                continue;
            }
            let opening = self.openings.get(pair);
            let record = loop {
                match play_pair(&mut *a, &mut *b, &opening, &self.settings.rules, self.over) {
                    Ok(record) => break record,
                    Err(Unplayed::Cancelled) => return Ok(()),
                    Err(Unplayed::NotReady { name, failure }) => {
                        in_vain += 1;
                        if in_vain >= STARTS || self.over.load(Ordering::Relaxed) {
                            return Err(Error::input(name, failure.to_string()));
                        }
                    }
                }
            };
            in_vain = 0;
            let pgn = self.pgn(pair, &record);
            if !send(PairSummary::new(pair, &record, pgn)) {
                return Ok(());
            }
        }
    }

    fn pgn(&self, pair: u64, record: &PairRecord) -> String {
        let MatchSettings { names: [a, b], event, date, rules, .. } = self.settings;
        let [pace_a, pace_b] = rules.paces;
        let sides = [([a.as_str(), b], [pace_a, pace_b]), ([b.as_str(), a], [pace_b, pace_a])];
        let games = record.games.iter().zip(sides).zip(1..);
        games
            .map(|((game, (names, paces)), number)| {
                let round = format!("{}.{number}", pair + 1);
                to_pgn(game, &GameTags { event, date, round, names, paces })
            })
            .collect()
    }
}
