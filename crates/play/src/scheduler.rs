//! Threads that play pairs of games, or single ones, in parallel. A [`Schedule`] decides which comes next; one
//! thread at a time calls it.

use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::game::{GameRecord, Rules, Unplayed, play_games};
use super::openings::Opening;
use super::player::{Failure, Player};
use super::pool::STACK_BYTES;
use gputexel_io::{Error, Result, StopFlag};

const STARTS: u32 = 3;
const MAX_THREADS: u64 = 4096;
const PULSE: Duration = Duration::from_millis(50);

/// `N` games belong together: a pair, or a single game.
pub trait Schedule<const N: usize>: Send {
    type Pair: Send;

    /// `None` ends the calling thread.
    fn next(&mut self) -> Option<Self::Pair>;

    /// `thread` counts from 1. True if more are wanted; errors end everything.
    fn finished(&mut self, thread: usize, pair: Self::Pair, games: &[GameRecord; N]) -> Result<bool>;

    /// An engine could not be prepared, `attempts` times in a row in this thread.
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

    fn cancelled(&mut self, _pair: Self::Pair) -> Result<()> {
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Unready {
    pub side: usize,
    pub name: String,
    pub failure: Failure,
}

pub enum NextStep<P> {
    Retry(P),
    Ask,
    End,
}

pub struct Venue<'a, P, T> {
    pub players: Players<'a, P, T>,
    pub opening: &'a (dyn Fn(&P) -> Opening + Sync),
    pub rules: Rules,
}

pub struct Players<'a, P, T = Box<dyn Player>> {
    /// The player of a side: 0 for A or plus, 1 for B or minus; called once in each thread. [`Error::Interrupted`]
    /// ends the thread without an error.
    pub make: Box<dyn Fn(usize) -> Result<T> + Sync + 'a>,
    /// Before each pair; errors end everything.
    pub prepare: Box<dyn Fn(&mut [T; 2], &P) -> Result<()> + Sync + 'a>,
}

impl<'a, P> Players<'a, P> {
    pub fn new(make: impl Fn(usize) -> Result<Box<dyn Player>> + Sync + 'a) -> Self {
        Self { make: Box::new(make), prepare: Box::new(|_, _| Ok(())) }
    }
}

/// Plays until the schedule has no more or `stop` is set, which aborts games in progress. `watch` is called with the
/// schedule about twenty times per second, from the calling thread.
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

enum Outcome<const N: usize> {
    Played([GameRecord; N]),
    Cancelled,
    NotReady(Unready),
}

struct Shared<'s, S> {
    schedule: &'s mut S,
    outcome: Result<()>,
}

impl<S> Shared<'_, S> {
    fn fail(&mut self, error: Error) {
        if self.outcome.is_ok() {
            self.outcome = Err(error);
        }
    }
}

/// A thread that panicked has not left a change half done, since pairs are reported as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Worker<'a, 's, P, T, S> {
    venue: &'a Venue<'a, P, T>,
    shared: &'a Mutex<Shared<'s, S>>,
    over: &'a StopFlag,
    number: usize,
}

impl<P, T: AsMut<dyn Player>, S> Worker<'_, '_, P, T, S> {
    fn work<const N: usize>(&self) -> Result<()>
    where
        S: Schedule<N, Pair = P>,
    {
        let make = &self.venue.players.make;
        let mut players = match make(0).and_then(|first| Ok([first, make(1)?])) {
            // Cancelled before this thread has played.
            Err(Error::Interrupted(_)) => return Ok(()),
            made => made?,
        };
        let mut attempts = 0;
        let mut again = None;
        loop {
            let next = match again.take() {
                None if self.over.is_set() => return Ok(()),
                None => locked(self.shared).schedule.next(),
                retried => retried,
            };
            let Some(pair) = next else { return Ok(()) };
            match self.play::<N>(&mut players, &pair)? {
                Outcome::Played(games) => {
                    attempts = 0;
                    let mut shared = locked(self.shared);
                    if !shared.schedule.finished(self.number, pair, &games)? {
                        self.over.set();
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

    fn play<const N: usize>(&self, players: &mut [T; 2], pair: &P) -> Result<Outcome<N>> {
        let Venue { players: Players { prepare, .. }, opening, rules } = self.venue;
        prepare(players, pair)?;
        let [first, second] = players.each_mut().map(AsMut::as_mut);
        match play_games(first, second, &opening(pair), rules, self.over) {
            Ok(games) => Ok(Outcome::Played(games)),
            Err(Unplayed::Cancelled) => Ok(Outcome::Cancelled),
            Err(Unplayed::NotReady { name, failure }) => {
                let side = usize::from(name == second.name());
                Ok(Outcome::NotReady(Unready { side, name, failure }))
            }
        }
    }
}
