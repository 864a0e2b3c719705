//! Plays the pairs of a run, with the tuner as their schedule.

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use shakmaty::Color;

use super::journal::EVENT;
use super::setup::Setup;
use super::{GameNote, Header, PlayedPair, RunEvent, RunState, TunedPlayer};
use crate::tuner::Perturbation;
use gputexel_io::{AppendFile, Error, Result, RunFolder, RunLog, StopFlag, write_atomically};
use gputexel_play::scheduler::{NextStep, Players, Schedule, Unready, Venue, play_pairs};
use gputexel_play::{GameRecord, Stop, check_tables, pair_pgn};

const LOG: &str = "log.csv";
/// Spoiled pairs in a row after which a run is given up, unless the configuration has another number.
const MAX_FAILURES: u64 = 20;

/// `watch` is called with the state about twenty times per second.
pub(super) fn play(
    (setup, header): (&Setup, &Header),
    state: &mut RunState,
    files: Option<&mut Files>,
    stop: &StopFlag,
    watch: &mut dyn FnMut(&RunState),
) -> Result<Stop> {
    let (engines, seating) = (setup.engines(), &setup.seating);
    let names = [(engines[0], "plus"), (engines[1], "minus")];
    let names = names.map(|(engine, side)| format!("{} ({side})", engine.name));
    let left = state.tuner.iterations() - state.tuner.completed_pairs();
    let variables = state.tuner.variables().to_vec();
    let start: Vec<f64> = variables.iter().map(|v| v.rounded(v.start)).collect();
    let (in_a_row, attempts, failures) = (0, Vec::new(), None);
    let mut schedule =
        RunSchedule { setup, header, names: &names, state, files, in_a_row, attempts, failures };
    if left == 0 {
        watch(schedule.state);
    } else {
        let threads = left.min(seating.concurrency as u64);
        check_tables(engines.iter().filter_map(|engine| engine.table_mib()), threads)?;
        let players = Players {
            make: Box::new(|side| engines[side].player(&names[side], &variables, &start)),
            prepare: Box::new(|[plus, minus]: &mut [TunedPlayer; 2], pair: &Perturbation| {
                plus.set_values(&variables, &pair.plus)?;
                minus.set_values(&variables, &pair.minus)
            }),
        };
        let opening = &|pair: &Perturbation| setup.openings.get(pair.k - 1);
        let venue = Venue { players, opening, rules: setup.rules };
        play_pairs(&venue, &mut schedule, threads, stop, &mut |schedule: &RunSchedule<'_>| {
            watch(schedule.state);
        })?;
    }
    Ok(match schedule.failures {
        Some(sentence) => Stop::Failures(sentence),
        None if schedule.state.tuner.is_finished() => Stop::AllPlayed,
        None => Stop::Cancelled,
    })
}

struct RunSchedule<'a> {
    setup: &'a Setup,
    header: &'a Header,
    names: &'a [String; 2],
    state: &'a mut RunState,
    files: Option<&'a mut Files>,
    in_a_row: u64,
    /// Number of times that each iteration in progress was discarded, as `(k, times)`.
    attempts: Vec<(u64, u64)>,
    failures: Option<String>,
}

impl Schedule<2> for RunSchedule<'_> {
    type Pair = Perturbation;

    fn next(&mut self) -> Option<Perturbation> {
        let k = self.state.tuner.next_iteration()?;
        let attempt = self.attempts.iter().find(|(discarded, _)| *discarded == k).map_or(0, |(_, n)| *n);
        // A pair that was discarded is played with other signs: these may be what the engine fails by.
        let stream = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ attempt.wrapping_mul(0xD1B5_4A32_D192_ED03);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.header.config.run.seed.wrapping_add(stream));
        self.state.tuner.ask(&mut random)
    }

    fn finished(&mut self, thread: usize, pair: Perturbation, record: &[GameRecord; 2]) -> Result<bool> {
        if let Some((side, why)) = failure(record) {
            let name = &self.setup.engines()[side].name;
            return self.discard_pair(&pair, side, format!("{name}: {why}"));
        }
        let note = |game: &GameRecord, color| GameNote {
            half_points: game.half_points(color),
            end: game.end,
            plies: game.plies() as u32,
        };
        let games = [note(&record[0], Color::White), note(&record[1], Color::Black)];
        // Games of pairs that do not count in the end are worth keeping; the reverse is a loss.
        if let Some(path) = &self.header.config.games.pgn {
            self.write_games(path, thread, pair.k, record)?;
        }
        self.in_a_row = 0;
        self.attempts.retain(|(k, _)| *k != pair.k);
        self.happened(&RunEvent::Pair(PlayedPair { perturbation: pair, games }))?;
        Ok(true)
    }

    fn not_ready(&mut self, pair: Perturbation, unready: &Unready, _: u32) -> Result<NextStep<Perturbation>> {
        let why = format!("{}: {}", unready.name, unready.failure);
        Ok(if self.discard_pair(&pair, unready.side, why)? { NextStep::Ask } else { NextStep::End })
    }

    fn cancelled(&mut self, pair: Perturbation) -> Result<()> {
        self.state.tuner.take_back(&pair)
    }
}

impl RunSchedule<'_> {
    fn write_games(&self, path: &Path, thread: usize, k: u64, record: &[GameRecord; 2]) -> Result<()> {
        let path = PathBuf::from(path.to_string_lossy().replace("$THREAD", &thread.to_string()));
        let text = pair_pgn(record, k, self.names, &self.setup.rules, [EVENT, &self.header.head.date]);
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|e| Error::io(&path, e))
    }

    fn discard_pair(&mut self, pair: &Perturbation, side: usize, why: String) -> Result<bool> {
        self.state.tuner.take_back(pair)?;
        self.in_a_row += 1;
        match self.attempts.iter_mut().find(|(k, _)| *k == pair.k) {
            Some((_, attempts)) => *attempts += 1,
            None => self.attempts.push((pair.k, 1)),
        }
        let given_up = self.in_a_row >= self.header.config.games.max_failures.unwrap_or(MAX_FAILURES).max(1);
        let sentence = format!("{} pairs in a row were spoiled, the last by {why}", self.in_a_row);
        self.happened(&RunEvent::Spoiled { k: pair.k, side: side as u8, why })?;
        if given_up {
            self.failures.get_or_insert(sentence);
        }
        Ok(!given_up)
    }

    fn happened(&mut self, event: &RunEvent) -> Result<()> {
        self.files.as_mut().map_or(Ok(()), |files| files.journal.append(event))?;
        self.state.add(event)?;
        self.files.as_mut().map_or(Ok(()), |files| files.log(event, self.state))
    }
}

fn failure(record: &[GameRecord; 2]) -> Option<(usize, String)> {
    record.iter().zip([Color::White, Color::Black]).find_map(|(game, plus)| {
        let failed = game.end.is_failure();
        let loser = usize::from(game.half_points(plus) != 0);
        failed.then(|| (loser, game.failure.clone().unwrap_or_else(|| game.end.describe().to_string())))
    })
}

pub(super) struct Files {
    pub folder: RunFolder,
    pub journal: RunLog<RunEvent>,
    pub logs: Vec<AppendFile>,
}

impl Files {
    fn log(&mut self, event: &RunEvent, state: &RunState) -> Result<()> {
        let RunEvent::Pair(pair) = event else { return Ok(()) };
        let line = log_line(pair.perturbation.k, state);
        self.logs.iter_mut().try_for_each(|log| log.append(line.as_bytes()))
    }
}

pub(super) fn open_logs(folder: &RunFolder, header: &Header, known: &str) -> Result<Vec<AppendFile>> {
    let other = header.config.games.log.as_deref();
    let paths = [Some(folder.file(LOG)), other.map(Path::to_path_buf)].into_iter().flatten();
    let open =
        |path: PathBuf| write_atomically(&path, known.as_bytes()).and_then(|()| AppendFile::open(&path));
    paths.map(open).collect()
}

pub(super) fn log_line(k: u64, state: &RunState) -> String {
    let mut line = k.to_string();
    for value in state.tuner.values() {
        line += &format!(",{value}");
    }
    line.push('\n');
    line
}
