//! Runs with real games: pairs between two perturbed sides, several at a time, told to the tuner as
//! they are finished.
//!
//! Owns the threads, the journal from which a killed run goes on, and what engines are told. The
//! rules of games and the dialog with engines are those of [`matches`](mod@gputexel_matches).
//!
//! Updates are asynchronous, as in `spsa.pl`: a pair moves the values as they are when it ends. With
//! one pair at a time, and engines that play alike when told the same, a run depends on its
//! configuration alone, whether it was interrupted or not.

mod journal;
mod sides;
mod state;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::Color;

pub use journal::{Entry, Events, GameNote, Header, JOURNAL, Journal, PlayedPair, read};
pub use sides::{TunedEngine, TunedPlayer};
pub use state::RunState;

use super::Perturbation;
use gputexel_files::{Error, Result};
use gputexel_matches::openings::Openings;
use gputexel_matches::{GameRecord, GameTags, PairRecord, Rules, TimeControl, Unplayed, play_pair, to_pgn};

/// Stack of a thread that plays: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// What a run plays with.
pub struct Arena<'a> {
    /// The plus side's engine and the minus side's.
    pub engines: [&'a TunedEngine; 2],
    /// The rules of every game.
    pub rules: Rules,
    /// Pair k plays opening k − 1.
    pub openings: &'a Openings,
    /// Seed of signs and rounding.
    pub seed: u64,
    /// Pairs at a time.
    pub concurrency: usize,
    /// Spoiled pairs in a row after which the run is given up.
    pub max_failures: u64,
    /// Where games go, `$THREAD` standing for the number of the thread; they are appended.
    pub pgn: Option<PathBuf>,
    /// `2026.01.31`, for the tags of games.
    pub date: String,
}

/// Told of everything that happens, in its order.
pub trait RunObserver: Send {
    /// Something happened; once this returns it must not be lost.
    ///
    /// # Errors
    /// Anything that makes going on pointless. It does not count then.
    fn record(&mut self, entry: &Entry) -> Result<()>;

    /// It was told to the tuner.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn counted(&mut self, entry: &Entry, story: &RunState) -> Result<()>;
}

/// Why a run came to an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All pairs are told.
    AllPlayed,
    /// The user asked for it.
    Cancelled,
    /// Engines failed too often in a row; the sentence says which and how.
    Failures(String),
}

/// What the threads share.
struct Shared<'a> {
    story: &'a mut RunState,
    chronicler: &'a mut dyn RunObserver,
    /// Pairs spoiled since the last that was not.
    in_a_row: u64,
    /// How often each iteration that is out was spoiled, as `(k, times)`.
    attempts: Vec<(u64, u64)>,
    outcome: Option<Result<Stop>>,
}

/// Plays the pairs that are missing. `watch` sees the story about ten times a second.
///
/// # Errors
/// What the chronicler reports, engines that cannot be started, [`Error::Io`] of game files.
pub fn play(
    arena: &Arena<'_>,
    story: &mut RunState,
    chronicler: &mut dyn RunObserver,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&RunState),
) -> Result<Stop> {
    let left = story.tuner.iterations() - story.tuner.told();
    let threads = arena.concurrency.clamp(1, left.clamp(1, 4096) as usize);
    let over = AtomicBool::new(left == 0);
    let shared = Mutex::new(Shared { story, chronicler, in_a_row: 0, attempts: Vec::new(), outcome: None });
    std::thread::scope(|scope| {
        let mut workers = Vec::with_capacity(threads);
        for number in 1..=threads {
            let worker = Worker { arena, shared: &shared, over: &over, number };
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let spawned = builder.spawn_scoped(scope, move || {
                if let Err(error) = worker.work() {
                    worker.end(Err(error));
                }
            });
            match spawned {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    let mut shared = locked(&shared);
                    shared.outcome.get_or_insert(Err(Error::io("a thread", error)));
                    over.store(true, Ordering::Relaxed);
                }
            }
        }
        while !workers.iter().all(|worker| worker.is_finished()) {
            if cancel.load(Ordering::Relaxed) {
                over.store(true, Ordering::Relaxed);
            }
            watch(locked(&shared).story);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch(shared.story);
    match shared.outcome {
        Some(outcome) => outcome,
        None if shared.story.tuner.is_finished() => Ok(Stop::AllPlayed),
        None => Ok(Stop::Cancelled),
    }
}

/// A thread that panicked has not left a change half done: entries are told in one piece.
fn locked<'a, T>(mutex: &'a Mutex<T>) -> MutexGuard<'a, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread: two players, one pair after the other.
#[derive(Clone, Copy)]
struct Worker<'a, 's> {
    arena: &'a Arena<'a>,
    shared: &'a Mutex<Shared<'s>>,
    /// Set when no more games are wanted.
    over: &'a AtomicBool,
    /// From 1.
    number: usize,
}

impl Worker<'_, '_> {
    fn work(&self) -> Result<()> {
        let variables = locked(self.shared).story.tuner.variables().to_vec();
        let start: Vec<f64> = variables.iter().map(|v| v.rounded(v.start)).collect();
        let names = ["plus", "minus"].map(str::to_string);
        let make = |side: usize| {
            let engine = self.arena.engines[side];
            let name = format!("{} ({})", engine.name(), names[side]);
            engine.player(&name, &variables, &start)
        };
        let made = make(0).and_then(|plus| Ok([plus, make(1)?]));
        let [mut plus, mut minus] = match made {
            // The run is called off before this thread has played.
            Err(Error::Interrupted(_)) => return Ok(()),
            made => made?,
        };
        while let Some(pair) = self.ask() {
            plus.set_values(&variables, &pair.plus)?;
            minus.set_values(&variables, &pair.minus)?;
            let opening = self.arena.openings.get(pair.k - 1);
            let (one, other) = (plus.as_player(), minus.as_player());
            let played = play_pair(one, other, &opening, &self.arena.rules, self.over);
            match played {
                Ok(record) => match failure(&record) {
                    None => self.tell(&pair, &record)?,
                    Some((side, why)) => {
                        let name = self.arena.engines[side].name();
                        self.spoil(&pair, side, format!("{name}: {why}"))?;
                    }
                },
                Err(Unplayed::Cancelled) => {
                    locked(self.shared).story.tuner.take_back(&pair)?;
                    return Ok(());
                }
                Err(Unplayed::NotReady { name, failure }) => {
                    let side = usize::from(name == minus.as_player().name());
                    self.spoil(&pair, side, format!("{name}: {failure}"))?;
                }
            }
        }
        Ok(())
    }

    /// The next pair, with the signs that the seed gives its iteration.
    fn ask(&self) -> Option<Perturbation> {
        if self.over.load(Ordering::Relaxed) {
            return None;
        }
        let mut shared = locked(self.shared);
        let k = shared.story.tuner.next_iteration()?;
        let attempt = shared.attempts.iter().find(|(spoiled, _)| *spoiled == k).map_or(0, |(_, n)| *n);
        // A pair that was spoiled is played with other signs: these may be what the engine fails by.
        let stream = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ attempt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.arena.seed.wrapping_add(stream));
        shared.story.tuner.ask(&mut random)
    }

    fn tell(&self, pair: &Perturbation, record: &PairRecord) -> Result<()> {
        let note = |game: &GameRecord, color| GameNote {
            half_points: game.half_points(color),
            end: game.end,
            plies: game.plies() as u32,
        };
        let games = [note(&record.games[0], Color::White), note(&record.games[1], Color::Black)];
        // Games of pairs that do not count in the end are worth keeping; the reverse is a loss.
        if let Some(path) = &self.arena.pgn {
            self.write_games(path, pair.k, record)?;
        }
        let entry = Entry::Pair(PlayedPair { perturbation: pair.clone(), games });
        let mut shared = locked(self.shared);
        shared.in_a_row = 0;
        shared.attempts.retain(|(k, _)| *k != pair.k);
        shared.happened(&entry)
    }

    fn spoil(&self, pair: &Perturbation, side: usize, why: String) -> Result<()> {
        let mut shared = locked(self.shared);
        shared.story.tuner.take_back(pair)?;
        shared.in_a_row += 1;
        match shared.attempts.iter_mut().find(|(k, _)| *k == pair.k) {
            Some((_, attempts)) => *attempts += 1,
            None => shared.attempts.push((pair.k, 1)),
        }
        let given_up = shared.in_a_row >= self.arena.max_failures.max(1);
        let sentence = format!("{} pairs in a row were spoiled, the last by {why}", shared.in_a_row);
        shared.happened(&Entry::Spoiled { k: pair.k, side: side as u8, why })?;
        drop(shared);
        if given_up {
            self.end(Ok(Stop::Failures(sentence)));
        }
        Ok(())
    }

    fn end(&self, outcome: Result<Stop>) {
        self.over.store(true, Ordering::Relaxed);
        locked(self.shared).outcome.get_or_insert(outcome);
    }

    fn write_games(&self, path: &std::path::Path, k: u64, record: &PairRecord) -> Result<()> {
        let path = PathBuf::from(path.to_string_lossy().replace("$THREAD", &self.number.to_string()));
        let [plus, minus] = [0, 1].map(|side| {
            let sign = ["plus", "minus"][side];
            format!("{} ({sign})", self.arena.engines[side].name())
        });
        let [pace_plus, pace_minus] = self.arena.rules.paces;
        let sides: [([&str; 2], [TimeControl; 2]); 2] =
            [([&plus, &minus], [pace_plus, pace_minus]), ([&minus, &plus], [pace_minus, pace_plus])];
        let mut text = String::new();
        for ((game, (names, paces)), number) in record.games.iter().zip(sides).zip(1..) {
            let round = format!("{k}.{number}");
            let (event, date) = ("gputexel spsa", self.arena.date.as_str());
            text += &to_pgn(game, &GameTags { event, date, round, names, paces });
        }
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|e| Error::io(&path, e))
    }
}

impl Shared<'_> {
    /// Keeps, counts and shows what happened, in this order.
    fn happened(&mut self, entry: &Entry) -> Result<()> {
        self.chronicler.record(entry)?;
        self.story.add(entry)?;
        self.chronicler.counted(entry, self.story)
    }
}

/// Which side failed in a pair, and how. Losing on time is no failure: the values may be its cause.
fn failure(record: &PairRecord) -> Option<(usize, String)> {
    record.games.iter().zip([Color::White, Color::Black]).find_map(|(game, plus)| {
        let failed = game.end.is_failure();
        let loser = usize::from(game.half_points(plus) != 0);
        failed.then(|| (loser, game.failure.clone().unwrap_or_else(|| game.end.describe().to_string())))
    })
}
