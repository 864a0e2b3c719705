//! Runs with real games: pairs between two perturbed sides, several at a time, whose scores go to the
//! tuner as they are finished.
//!
//! [`SpsaRun`] plays a whole run and keeps it in a folder; [`Verification`] plays its result against its
//! start. Owns the journal from which a killed run is resumed, and the values of the engines. The threads, the rules
//! of games and the dialog with engines are those of [`matches`](mod@gputexel_play).
//!
//! Updates are asynchronous, as in `spsa.pl`: a pair moves the values as they are when it ends. With
//! one pair at a time and deterministic engines, a run depends on its
//! configuration alone, whether it was interrupted or not.

mod journal;
mod results;
mod session;
mod setup;
mod sides;
mod state;
mod verification;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::Color;

use journal::EVENT;
pub use journal::{Events, GameNote, Header, JOURNAL, PlayedPair, RunEvent, read};
pub use results::{ParameterSummary, RunSummary, ValueWarning, write_values};
pub use session::{ResumedRunBuilder, RunBuilder, SpsaRun};
pub use sides::{TunedEngine, TunedPlayer};
pub use state::RunState;
pub use verification::{Verification, Verified, VerifyOptions};

use super::{Perturbation, Variable};
use gputexel_io::{Error, Result};
use gputexel_play::openings::{Opening, Openings};
use gputexel_play::scheduler::{NextStep, Players, Schedule, Unready, dispatch_pairs, play_pairs};
use gputexel_play::{
    Assignment, Dispatcher, Encounter, GameRecord, GameTags, PairRecord, Player, Rules, TimeControl,
    check_tables, to_pgn,
};

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
    /// Who has the games played, unless this process plays them.
    pub dispatcher: Option<&'a dyn Dispatcher>,
}

/// Sees everything that happens, in order.
pub trait RunObserver: Send {
    /// Something happened; once this returns it must not be lost.
    ///
    /// # Errors
    /// Anything that makes going on pointless. It does not count then.
    fn record(&mut self, entry: &RunEvent) -> Result<()>;

    /// The state includes it now.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn counted(&mut self, entry: &RunEvent, state: &RunState) -> Result<()>;
}

/// Why a run came to an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// All pairs are played.
    AllPlayed,
    /// The user asked for it.
    Cancelled,
    /// Engines failed too often in a row; the sentence says which and how.
    Failures(String),
}

/// Plays the pairs that are missing. `watch` sees the state about twenty times a second.
///
/// # Errors
/// What the observer reports, engines that cannot be started, [`Error::Io`] of game files.
pub fn play(
    arena: &Arena<'_>,
    state: &mut RunState,
    observer: &mut dyn RunObserver,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&RunState),
) -> Result<Stop> {
    let left = state.tuner.iterations() - state.tuner.completed_pairs();
    let variables = state.tuner.variables().to_vec();
    let start = variables.iter().map(|v| v.rounded(v.start)).collect();
    let players = RunPlayers { arena, variables, start };
    let attempts = Vec::new();
    let mut schedule = RunSchedule { arena, state, observer, in_a_row: 0, attempts, failures: None };
    match left {
        0 => watch(schedule.state),
        _ => {
            let threads = left.min(arena.concurrency as u64);
            let watch = &mut |schedule: &RunSchedule<'_>| watch(schedule.state);
            match arena.dispatcher {
                None => {
                    check_tables(arena.engines.iter().filter_map(|engine| engine.table_mib()), threads)?;
                    play_pairs(&players, &mut schedule, &arena.rules, threads, cancel, watch)?;
                }
                Some(dispatcher) => {
                    let assign = &|pair: &Perturbation| Ok(players.assignment(pair));
                    dispatch_pairs(dispatcher, assign, &mut schedule, threads, cancel, watch)?;
                }
            }
        }
    }
    Ok(match schedule.failures {
        Some(sentence) => Stop::Failures(sentence),
        None if schedule.state.tuner.is_finished() => Stop::AllPlayed,
        None => Stop::Cancelled,
    })
}

/// Two engines that play with the values of each pair.
struct RunPlayers<'a> {
    arena: &'a Arena<'a>,
    variables: Vec<Variable>,
    /// The values at the start of the run, as engines get them.
    start: Vec<f64>,
}

impl RunPlayers<'_> {
    fn assignment(&self, pair: &Perturbation) -> Assignment {
        let [plus, minus] = self.arena.engines;
        Assignment {
            number: pair.k,
            sides: [
                plus.remote_side(&self.variables, &pair.plus),
                minus.remote_side(&self.variables, &pair.minus),
            ],
            opening: self.arena.openings.get(pair.k - 1),
            rules: self.arena.rules,
            games: PairRecord::GAMES,
        }
    }
}

impl Players for RunPlayers<'_> {
    type Pair = Perturbation;
    type Player = TunedPlayer;

    fn make(&self, side: usize) -> Result<TunedPlayer> {
        self.arena.engines[side].player(&self.arena.player_name(side), &self.variables, &self.start)
    }

    fn set_up(&self, players: &mut [TunedPlayer; 2], pair: &Perturbation) -> Result<Opening> {
        let [plus, minus] = players;
        plus.set_values(&self.variables, &pair.plus)?;
        minus.set_values(&self.variables, &pair.minus)?;
        Ok(self.arena.openings.get(pair.k - 1))
    }

    fn as_player(player: &mut TunedPlayer) -> &mut dyn Player {
        player.as_player()
    }
}

impl Arena<'_> {
    /// The name of a side in games: plus for 0, minus for 1.
    fn player_name(&self, side: usize) -> String {
        format!("{} ({})", self.engines[side].name(), ["plus", "minus"][side])
    }

    /// Appends the games of pair k to the file of the thread that played it.
    fn write_games(&self, path: &Path, thread: usize, k: u64, record: &PairRecord) -> Result<()> {
        let path = PathBuf::from(path.to_string_lossy().replace("$THREAD", &thread.to_string()));
        let [plus, minus] = [0, 1].map(|side| self.player_name(side));
        let [control_plus, control_minus] = self.rules.time_controls;
        let sides: [([&str; 2], [TimeControl; 2]); 2] = [
            ([&plus, &minus], [control_plus, control_minus]),
            ([&minus, &plus], [control_minus, control_plus]),
        ];
        let mut text = String::new();
        for ((game, (names, time_controls)), number) in record.games.iter().zip(sides).zip(1..) {
            let round = format!("{k}.{number}");
            let (event, date) = (EVENT, self.date.as_str());
            text += &to_pgn(game, &GameTags { event, date, round, names, time_controls });
        }
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|e| Error::io(&path, e))
    }
}

/// Asks the tuner for pairs and tells it their scores.
struct RunSchedule<'a> {
    arena: &'a Arena<'a>,
    state: &'a mut RunState,
    observer: &'a mut dyn RunObserver,
    /// Pairs discarded since the last that was not.
    in_a_row: u64,
    /// How often each iteration that is out was discarded, as `(k, times)`.
    attempts: Vec<(u64, u64)>,
    /// Why the run is given up.
    failures: Option<String>,
}

impl Schedule for RunSchedule<'_> {
    type Record = PairRecord;
    type Pair = Perturbation;

    /// The next pair, with the signs that the seed gives its iteration.
    fn next(&mut self) -> Option<Perturbation> {
        let k = self.state.tuner.next_iteration()?;
        let attempt = self.attempts.iter().find(|(discarded, _)| *discarded == k).map_or(0, |(_, n)| *n);
        // A pair that was discarded is played with other signs: these may be what the engine fails by.
        let stream = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ attempt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.arena.seed.wrapping_add(stream));
        self.state.tuner.ask(&mut random)
    }

    fn finished(&mut self, thread: usize, pair: Perturbation, record: &PairRecord) -> Result<bool> {
        if let Some((side, why)) = failure(record) {
            let name = self.arena.engines[side].name();
            return self.discard_pair(&pair, side, format!("{name}: {why}"));
        }
        let note = |game: &GameRecord, color| GameNote {
            half_points: game.half_points(color),
            end: game.end,
            plies: game.plies() as u32,
        };
        let games = [note(&record.games[0], Color::White), note(&record.games[1], Color::Black)];
        // Games of pairs that do not count in the end are worth keeping; the reverse is a loss.
        if let Some(path) = &self.arena.pgn {
            self.arena.write_games(path, thread, pair.k, record)?;
        }
        self.in_a_row = 0;
        self.attempts.retain(|(k, _)| *k != pair.k);
        self.happened(&RunEvent::Pair(PlayedPair { perturbation: pair, games }))?;
        Ok(true)
    }

    fn not_ready(&mut self, pair: Perturbation, unready: &Unready, _: u32) -> Result<NextStep<Perturbation>> {
        let why = format!("{}: {}", unready.name, unready.failure);
        Ok(match self.discard_pair(&pair, unready.side, why)? {
            true => NextStep::Ask,
            false => NextStep::End,
        })
    }

    fn cancelled(&mut self, pair: Perturbation) -> Result<()> {
        self.state.tuner.take_back(&pair)
    }
}

impl RunSchedule<'_> {
    /// Notes that an engine failed in a pair, which will be played again; says whether the run goes on.
    fn discard_pair(&mut self, pair: &Perturbation, side: usize, why: String) -> Result<bool> {
        self.state.tuner.take_back(pair)?;
        self.in_a_row += 1;
        match self.attempts.iter_mut().find(|(k, _)| *k == pair.k) {
            Some((_, attempts)) => *attempts += 1,
            None => self.attempts.push((pair.k, 1)),
        }
        let given_up = self.in_a_row >= self.arena.max_failures.max(1);
        let sentence = format!("{} pairs in a row were spoiled, the last by {why}", self.in_a_row);
        self.happened(&RunEvent::Spoiled { k: pair.k, side: side as u8, why })?;
        if given_up {
            self.failures.get_or_insert(sentence);
        }
        Ok(!given_up)
    }

    /// Keeps, counts and shows what happened, in this order.
    fn happened(&mut self, event: &RunEvent) -> Result<()> {
        self.observer.record(event)?;
        self.state.add(event)?;
        self.observer.counted(event, self.state)
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
