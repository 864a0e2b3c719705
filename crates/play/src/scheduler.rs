//! Threads that play pairs of games or single ones in parallel, used by matches, tuning runs and self-play. "Pair"
//! below stands for the games of a schedule that belong together.
//!
//! Owns the threads, their players, and when they end; a thread that plays [elsewhere](Place::Elsewhere) waits for each
//! of its pairs. A [`Schedule`] decides which pair comes next, and handles finished ones. Only one thread calls it at a
//! time, so its decisions may depend on everything finished before.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::dispatch::{Assignment, Dispatcher, RemoteSide};
use super::game::{GameRecord, Rules, Unplayed, play_games};
use super::openings::Opening;
use super::player::{Failure, Player};
use gputexel_io::{Error, Result, StopFlag};

/// Stack size of a playing thread: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// Number of attempts to start an engine.
const STARTS: u32 = 3;

/// Maximum number of threads.
const MAX_THREADS: u64 = 4096;

/// Interval at which cancellation is checked and the watcher called.
const PULSE: Duration = Duration::from_millis(50);

/// Decides what is played next, and handles results. `N` games belong together: a pair, or a single game.
pub trait Schedule<const N: usize>: Send {
    /// Description of a pair before it is played.
    type Pair: Send;

    /// Returns the number of a pair, unique among those in progress.
    fn number(pair: &Self::Pair) -> u64;

    /// Returns the next pair to play; `None` ends the calling thread.
    fn next(&mut self) -> Option<Self::Pair>;

    /// Handles a pair that was played to its end by a thread, counted from 1. Returns true if more are wanted.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn finished(&mut self, thread: usize, pair: Self::Pair, games: &[GameRecord; N]) -> Result<bool>;

    /// Handles an engine that could not be prepared for a pair, for the `attempts`th time in a row in this thread: tries
    /// it three times.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn not_ready(
        &mut self,
        pair: Self::Pair,
        unready: &Unready,
        attempts: u32,
    ) -> Result<NextStep<Self::Pair>> {
        match attempts < STARTS {
            true => Ok(NextStep::Retry(pair)),
            false => Err(Error::input(&unready.name, unready.failure.to_string())),
        }
    }

    /// Handles a pair that will not be played to its end, because no more games are wanted.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn cancelled(&mut self, _pair: Self::Pair) -> Result<()> {
        Ok(())
    }
}

/// An engine that could not be prepared.
#[derive(Clone, Debug)]
pub struct Unready {
    /// Its side, 0 or 1.
    pub side: usize,
    /// Its name.
    pub name: String,
    /// Its failure.
    pub failure: Failure,
}

/// Next action of a thread after an engine was not ready.
pub enum NextStep<P> {
    /// Play the same pair.
    Retry(P),
    /// Request the next pair.
    Ask,
    /// End: no more games are wanted.
    End,
}

/// Pairs of a schedule: the place where they are played, their openings and rules.
pub struct Venue<'a, P, T> {
    /// Place where they are played.
    pub place: Place<'a, P, T>,
    /// Returns the opening of a pair.
    pub opening: &'a (dyn Fn(&P) -> Opening + Sync),
    /// Rules of all games.
    pub rules: Rules,
}

/// Place where pairs are played.
pub enum Place<'a, P, T = Box<dyn Player>> {
    /// This process.
    Here {
        /// Creates the player of a side: 0 for A or plus, 1 for B or minus. Called once in each thread;
        /// [`Error::Interrupted`] ends the thread without an error.
        make: Box<dyn Fn(usize) -> Result<T> + Sync + 'a>,
        /// Prepares the players of a thread for a pair; errors end everything.
        prepare: Box<dyn Fn(&mut [T; 2], &P) -> Result<()> + Sync + 'a>,
    },
    /// Elsewhere.
    Elsewhere {
        /// Lets them be played.
        dispatcher: &'a dyn Dispatcher,
        /// Returns the sides of a pair.
        sides: Box<dyn Fn(&P) -> [RemoteSide; 2] + Sync + 'a>,
    },
}

impl<'a, P> Place<'a, P> {
    /// Returns this process, with players that need no preparation for a pair.
    pub fn here(make: impl Fn(usize) -> Result<Box<dyn Player>> + Sync + 'a) -> Self {
        Self::Here { make: Box::new(make), prepare: Box::new(|_, _| Ok(())) }
    }
}

/// Plays pairs with several threads until the schedule has no more or `stop` is set; games in progress are aborted
/// then. `watch` is called with the schedule about twenty times per second, from the calling thread.
///
/// # Errors
/// The first error of the players, the dispatcher or the schedule; errors of starting threads.
pub fn play_pairs<const N: usize, P, T, S>(
    venue: &Venue<'_, P, T>,
    schedule: &mut S,
    threads: u64,
    stop: &StopFlag,
    watch: &mut dyn FnMut(&S),
) -> Result<()>
where
    P: Send,
    T: AsMut<dyn Player>,
    S: Schedule<N, Pair = P>,
{
    let over = StopFlag::new();
    let shared = Mutex::new(Shared { schedule, outcome: Ok(()) });
    let (alive, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for number in 1..=threads.clamp(1, MAX_THREADS) as usize {
            let worker = Worker { venue, shared: &shared, over: &over, number };
            let alive = alive.clone();
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let spawned = builder.spawn_scoped(scope, move || {
                if let Err(error) = worker.work::<N>() {
                    worker.over.set();
                    locked(worker.shared).fail(error);
                }
                drop(alive);
            });
            if let Err(error) = spawned {
                locked(&shared).fail(Error::io("a thread", error));
                over.set();
            }
        }
        drop(alive);
        while ended.recv_timeout(PULSE) != Err(mpsc::RecvTimeoutError::Disconnected) {
            if stop.is_set() {
                over.set();
            }
            watch(locked(&shared).schedule);
        }
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch(shared.schedule);
    shared.outcome
}

/// Outcome of a pair.
enum Outcome<const N: usize> {
    /// It was played; with a function to call once the schedule has it.
    Played([GameRecord; N], Option<Box<dyn FnOnce() + Send>>),
    Cancelled,
    NotReady(Unready),
}

/// State shared by the threads.
struct Shared<'s, S> {
    schedule: &'s mut S,
    outcome: Result<()>,
}

impl<S> Shared<'_, S> {
    /// Keeps the first error.
    fn fail(&mut self, error: Error) {
        if self.outcome.is_ok() {
            self.outcome = Err(error);
        }
    }
}

/// Locks a mutex; a thread that panicked has not left a change half done, since pairs are reported as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread, which plays one pair after the other.
struct Worker<'a, 's, P, T, S> {
    venue: &'a Venue<'a, P, T>,
    shared: &'a Mutex<Shared<'s, S>>,
    /// Set when no more games are wanted.
    over: &'a StopFlag,
    /// Counted from 1.
    number: usize,
}

impl<P, T: AsMut<dyn Player>, S> Worker<'_, '_, P, T, S> {
    fn work<const N: usize>(&self) -> Result<()>
    where
        S: Schedule<N, Pair = P>,
    {
        let mut players = match &self.venue.place {
            Place::Elsewhere { .. } => None,
            Place::Here { make, .. } => match make(0).and_then(|first| Ok([first, make(1)?])) {
                // Cancelled before this thread has played.
                Err(Error::Interrupted(_)) => return Ok(()),
                made => Some(made?),
            },
        };
        let mut attempts = 0;
        let mut again = None;
        loop {
            let next = match again.take() {
                None if !self.wait() => return Ok(()),
                None => locked(self.shared).schedule.next(),
                retried => retried,
            };
            let Some(pair) = next else {
                if let Place::Elsewhere { dispatcher, .. } = &self.venue.place {
                    dispatcher.free_place();
                }
                return Ok(());
            };
            match self.play::<N>(players.as_mut(), &pair)? {
                Outcome::Played(games, stored) => {
                    attempts = 0;
                    let mut shared = locked(self.shared);
                    if !shared.schedule.finished(self.number, pair, &games)? {
                        self.over.set();
                    }
                    drop(shared);
                    if let Some(stored) = stored {
                        stored();
                    }
                }
                Outcome::Cancelled => return locked(self.shared).schedule.cancelled(pair),
                Outcome::NotReady(unready) => {
                    attempts += 1;
                    let mut shared = locked(self.shared);
                    if self.over.is_set() {
                        return shared.schedule.cancelled(pair);
                    }
                    match shared.schedule.not_ready(pair, &unready, attempts)? {
                        NextStep::Ask => {}
                        NextStep::End => self.over.set(),
                        NextStep::Retry(pair) => again = Some(pair),
                    }
                }
            }
        }
    }

    /// Waits until a pair can be played; returns false if no more games are wanted.
    fn wait(&self) -> bool {
        match &self.venue.place {
            Place::Here { .. } => !self.over.is_set(),
            Place::Elsewhere { dispatcher, .. } => dispatcher.wait_for_place(self.over),
        }
    }

    fn play<const N: usize>(&self, players: Option<&mut [T; 2]>, pair: &P) -> Result<Outcome<N>>
    where
        S: Schedule<N, Pair = P>,
    {
        let Venue { place, opening, rules } = self.venue;
        let (games, stored) = match (place, players) {
            (Place::Here { prepare, .. }, Some(players)) => {
                prepare(players, pair)?;
                let [first, second] = players;
                let (first, second) = (first.as_mut(), second.as_mut());
                match play_games(first, second, &opening(pair), rules, N, self.over) {
                    Ok(games) => (games, None),
                    Err(Unplayed::Cancelled) => return Ok(Outcome::Cancelled),
                    Err(Unplayed::NotReady { name, failure }) => {
                        let side = usize::from(name == second.name());
                        return Ok(Outcome::NotReady(Unready { side, name, failure }));
                    }
                }
            }
            (Place::Elsewhere { dispatcher, sides }, _) => {
                let (number, opening) = (S::number(pair), opening(pair));
                let assignment = Assignment { number, sides: sides(pair), opening, rules: *rules, games: N };
                match dispatcher.play(&assignment, self.over)? {
                    Some(delivery) => (delivery.games, Some(delivery.stored)),
                    None => return Ok(Outcome::Cancelled),
                }
            }
            (Place::Here { .. }, None) => return Ok(Outcome::Cancelled),
        };
        let wrong = |_| Error::Usage(format!("{}: not as many games as were asked for", S::number(pair)));
        Ok(Outcome::Played(games.try_into().map_err(wrong)?, stored))
    }
}
