//! The two players of a slot, kept for the next pair if it uses the same engine.

use gputexel_io::StopFlag;
use gputexel_model::TableEvaluation;
use gputexel_play::client::{Setting, UciPlayer};
use gputexel_play::engine::Limits;
use gputexel_play::{BuiltinPlayer, Choice, Failure, GameSoFar, Player, check_tables};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::config::TriedEngine;
use crate::fingerprint::built_in_fingerprint;
use crate::wire::JobSide;

/// Time that a player may take beyond its own deadline: overhead between two moves.
const SLACK: Duration = Duration::from_secs(5);

/// Engines that a worker offers.
pub(super) struct Offer {
    /// True if the built-in engine is one of them.
    pub built_in: bool,
    /// The others.
    pub engines: Vec<TriedEngine>,
}

/// A player with its configuration.
enum Seat {
    BuiltIn(Box<BuiltinPlayer>, usize),
    Uci { player: Box<UciPlayer>, engine: usize, options: Vec<Setting> },
}

impl Seat {
    fn player(&mut self) -> &mut dyn Player {
        match self {
            Self::BuiltIn(player, _) => &mut **player,
            Self::Uci { player, .. } => &mut **player,
        }
    }
}

/// The players of a slot.
pub(super) struct Seats {
    stop: StopFlag,
    seats: [Option<Seat>; 2],
}

impl Seats {
    /// Creates empty seats; `stop` ends searches and waiting for engines.
    pub fn new(stop: StopFlag) -> Self {
        Self { stop, seats: [None, None] }
    }

    /// Prepares both sides.
    ///
    /// # Errors
    /// The reason why a side cannot be played here.
    pub fn prepare(&mut self, sides: &[JobSide; 2], offer: &Offer) -> Result<(), String> {
        for (i, (seat, side)) in self.seats.iter_mut().zip(sides).enumerate() {
            *seat = Some(fill(seat.take(), side, offer, ["A", "B"][i], &self.stop)?);
        }
        Ok(())
    }

    /// Returns both players, once they are ready.
    pub fn players(&mut self) -> Option<[&mut dyn Player; 2]> {
        let [a, b] = &mut self.seats;
        Some([a.as_mut()?.player(), b.as_mut()?.player()])
    }

    /// Ends the engines.
    pub fn clear(&mut self) {
        self.seats = [None, None];
    }
}

fn fill(
    seat: Option<Seat>,
    side: &JobSide,
    offer: &Offer,
    name: &str,
    stop: &StopFlag,
) -> Result<Seat, String> {
    match side {
        JobSide::BuiltIn { fingerprint, set, theta, hash_mib } => {
            if !offer.built_in {
                return Err("the built-in engine is not offered".to_string());
            }
            let own = built_in_fingerprint();
            if *fingerprint != own {
                let theirs = gputexel_io::shown(fingerprint);
                return Err(format!("the built-in engine is {own}, the run has {theirs}"));
            }
            if theta.len() != 2 * set.features.len() {
                return Err(format!("{} values for {} features", theta.len(), set.features.len()));
            }
            let evaluation = TableEvaluation::try_new(set, theta).map_err(|e| e.to_string())?;
            Ok(match seat {
                Some(Seat::BuiltIn(mut player, mib)) if mib == *hash_mib => {
                    player.set_evaluation(evaluation);
                    Seat::BuiltIn(player, mib)
                }
                _ => {
                    let made = check_tables([*hash_mib], 1)
                        .and_then(|()| BuiltinPlayer::try_new(name, evaluation, *hash_mib));
                    let player = made.map_err(|e| e.to_string())?.with_stop(stop);
                    Seat::BuiltIn(Box::new(player), *hash_mib)
                }
            })
        }
        JobSide::Uci { name: wanted, fingerprint, options } => {
            let engine = offer.engines.iter().position(|engine| engine.fingerprint == *fingerprint);
            let engine = engine.ok_or_else(|| {
                let same = offer.engines.iter().find(|engine| engine.program() == *wanted);
                let theirs = gputexel_io::shown(fingerprint);
                match same {
                    Some(same) => {
                        format!("'{wanted}' has the fingerprint {}, the run wants {theirs}", same.fingerprint)
                    }
                    None => format!("there is no engine '{wanted}' with the fingerprint {theirs}"),
                }
            })?;
            let tried = &offer.engines[engine];
            options.iter().try_for_each(|option| tried.allows(option))?;
            if let Some(Seat::Uci { mut player, engine: seated, options: mut set }) = seat
                && seated == engine
                && set.iter().map(|option| &option.name).eq(options.iter().map(|option| &option.name))
            {
                for (old, new) in set.iter_mut().zip(options).filter(|(old, new)| old != new) {
                    player.set(new.clone()).map_err(|e| e.to_string())?;
                    *old = new.clone();
                }
                return Ok(Seat::Uci { player, engine, options: set });
            }
            let mut command = tried.with_options(options);
            command.name = Some(name.to_string());
            let player = UciPlayer::start_stoppable(command, stop).map_err(|e| e.to_string())?;
            Ok(Seat::Uci { player: Box::new(player), engine, options: options.clone() })
        }
    }
}

/// Time until which a game is known to make progress: milliseconds since the start of the worker.
///
/// The lease of work is extended by another thread. That must stop when the game hangs, so each move announces when it
/// will be over.
#[derive(Clone)]
pub(super) struct Pulse {
    start: Instant,
    until: Arc<AtomicU64>,
}

impl Pulse {
    pub fn new() -> Self {
        let pulse = Self { start: Instant::now(), until: Arc::new(AtomicU64::new(0)) };
        pulse.expect(SLACK);
        pulse
    }

    /// Announces the next sign of life within a given time.
    pub fn expect(&self, within: Duration) {
        let until = (self.start.elapsed() + within).as_millis() as u64;
        self.until.store(until, Ordering::Relaxed);
    }

    /// Returns true if the last sign of life is recent enough.
    pub fn is_alive(&self) -> bool {
        self.start.elapsed().as_millis() as u64 <= self.until.load(Ordering::Relaxed)
    }
}

/// A player whose moves are signs of life.
pub(super) struct Watched<'a> {
    pub player: &'a mut dyn Player,
    pub pulse: &'a Pulse,
}

impl Player for Watched<'_> {
    fn name(&self) -> &str {
        self.player.name()
    }

    fn new_game(&mut self, chess960: bool) -> Result<(), Failure> {
        // Starting an engine and preparing it have a deadline each.
        self.pulse.expect(Duration::from_secs(60));
        self.player.new_game(chess960)
    }

    fn choose(&mut self, game: &GameSoFar, limits: &Limits, deadline: Duration) -> Result<Choice, Failure> {
        self.pulse.expect(deadline.saturating_add(SLACK));
        let choice = self.player.choose(game, limits, deadline);
        self.pulse.expect(SLACK);
        choice
    }
}
