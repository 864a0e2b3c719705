//! Pairs of games or single ones, several at a time: the threads that matches, tuning runs and self-play
//! share. What is said of pairs below goes for whatever [`Encounter`] a schedule has.
//!
//! Owns the threads, their players, and when they end; [`dispatch_pairs`] has a thread wait for each pair that
//! others play. Which pair comes next, and what becomes of a
//! finished one, is decided by a [`Schedule`], which one thread at a time calls; what it decides may
//! therefore depend on all that was finished before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::dispatch::{Assignment, Dispatcher};
use super::game::{Encounter, Rules, Unplayed};
use super::openings::Opening;
use super::player::{Failure, Player};
use gputexel_io::{Error, Result};

/// Stack of a thread that plays: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// Threads at most.
const MAX_THREADS: u64 = 4096;

/// How often cancellation is looked for, and the watcher called.
const PULSE: Duration = Duration::from_millis(50);

/// Makes the players of each thread, and gets them ready for a pair.
pub trait Players: Sync {
    /// What is known of a pair before it is played.
    type Pair: Send;
    /// A player with whatever is needed to change its settings between pairs.
    type Player;

    /// A player of a side: 0 for A or plus, 1 for B or minus. Called once in each thread.
    ///
    /// # Errors
    /// Engines that cannot be started; [`Error::Interrupted`] ends the thread without an error.
    fn make(&self, side: usize) -> Result<Self::Player>;

    /// Gets the players ready for a pair, and says where it begins.
    ///
    /// # Errors
    /// Settings that an engine refuses; they end the whole.
    fn set_up(&self, players: &mut [Self::Player; 2], pair: &Self::Pair) -> Result<Opening>;

    /// The player as the rules of games see it.
    fn as_player(player: &mut Self::Player) -> &mut dyn Player;
}

/// Decides what is played next, and what becomes of it.
pub trait Schedule: Send {
    /// What is known of a pair before it is played.
    type Pair: Send;
    /// What is known of it afterwards.
    type Record: Encounter;

    /// The next pair to play; `None` ends the thread that asks.
    fn next(&mut self) -> Option<Self::Pair>;

    /// A pair was played to its end by a thread, counted from 1. Returns whether more are wanted.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn finished(&mut self, thread: usize, pair: Self::Pair, record: &Self::Record) -> Result<bool>;

    /// An engine could not be made ready for a pair, for the `attempts`th time in a row in this thread.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn not_ready(
        &mut self,
        pair: Self::Pair,
        unready: &Unready,
        attempts: u32,
    ) -> Result<NextStep<Self::Pair>>;

    /// A pair will not be played to its end, because no more games are wanted.
    ///
    /// # Errors
    /// Anything that makes going on pointless.
    fn cancelled(&mut self, pair: Self::Pair) -> Result<()>;
}

/// An engine that could not be made ready.
#[derive(Clone, Debug)]
pub struct Unready {
    /// Its side, 0 or 1.
    pub side: usize,
    /// Its name.
    pub name: String,
    /// What it reported.
    pub failure: Failure,
}

/// How a thread goes on after an engine was not ready.
pub enum NextStep<P> {
    /// It plays the same pair.
    Retry(P),
    /// It asks for the next pair.
    Ask,
    /// No more games are wanted.
    End,
}

/// Plays pairs with so many threads until the schedule has no more or `cancel` is set; games under way
/// are broken off then. `watch` sees the schedule about twenty times a second, from the calling thread.
///
/// # Errors
/// The first that the players or the schedule report; those of starting threads.
pub fn play_pairs<P, S>(
    players: &P,
    schedule: &mut S,
    rules: &Rules,
    threads: u64,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&S),
) -> Result<()>
where
    P: Players,
    S: Schedule<Pair = P::Pair>,
{
    run_threads(&Here { players, rules }, schedule, threads, cancel, watch)
}

/// Has pairs played elsewhere, so many at a time, until the schedule has no more or `cancel` is set. `assign`
/// says what there is to play. `watch` is that of [`play_pairs`].
///
/// # Errors
/// The first that the dispatcher, `assign` or the schedule report; those of starting threads.
pub fn dispatch_pairs<S: Schedule>(
    dispatcher: &dyn Dispatcher,
    assign: &Assign<'_, S::Pair>,
    schedule: &mut S,
    pairs: u64,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&S),
) -> Result<()> {
    run_threads(&Elsewhere { dispatcher, assign }, schedule, pairs, cancel, watch)
}

/// Says what there is to play in a pair.
pub type Assign<'a, P> = dyn Fn(&P) -> Result<Assignment> + Sync + 'a;

/// Where pairs are played.
trait Boards<P, R>: Sync {
    /// What a thread keeps between pairs.
    type Board;

    /// Called once in each thread.
    fn set_up(&self) -> Result<Self::Board>;

    /// Waits until a pair can be played; false when none will be because `over` is set.
    fn wait(&self, over: &AtomicBool) -> bool;

    /// There is no pair to play after all.
    fn free(&self) {}

    /// Plays a pair.
    fn play(&self, board: &mut Self::Board, pair: &P, over: &AtomicBool) -> Result<Outcome<R>>;
}

/// What became of a pair.
enum Outcome<R> {
    /// It was played; what is called once the schedule has it.
    Played(R, Option<Box<dyn FnOnce() + Send>>),
    Cancelled,
    NotReady(Unready),
}

/// Pairs between players of this process.
struct Here<'a, P> {
    players: &'a P,
    rules: &'a Rules,
}

impl<P: Players, R: Encounter> Boards<P::Pair, R> for Here<'_, P> {
    type Board = [P::Player; 2];

    fn set_up(&self) -> Result<Self::Board> {
        let first = self.players.make(0)?;
        Ok([first, self.players.make(1)?])
    }

    fn wait(&self, over: &AtomicBool) -> bool {
        !over.load(Ordering::Relaxed)
    }

    fn play(&self, board: &mut Self::Board, pair: &P::Pair, over: &AtomicBool) -> Result<Outcome<R>> {
        let opening = self.players.set_up(board, pair)?;
        let [first, second] = board;
        let (first, second) = (P::as_player(first), P::as_player(second));
        Ok(match R::play(first, second, &opening, self.rules, over) {
            Ok(record) => Outcome::Played(record, None),
            Err(Unplayed::Cancelled) => Outcome::Cancelled,
            Err(Unplayed::NotReady { name, failure }) => {
                let side = usize::from(name == second.name());
                Outcome::NotReady(Unready { side, name, failure })
            }
        })
    }
}

/// Pairs that others play.
struct Elsewhere<'a, P> {
    dispatcher: &'a dyn Dispatcher,
    assign: &'a Assign<'a, P>,
}

impl<P: Send, R: Encounter> Boards<P, R> for Elsewhere<'_, P> {
    type Board = ();

    fn set_up(&self) -> Result<()> {
        Ok(())
    }

    fn wait(&self, over: &AtomicBool) -> bool {
        self.dispatcher.wait_for_place(over)
    }

    fn free(&self) {
        self.dispatcher.free_place();
    }

    fn play(&self, (): &mut (), pair: &P, over: &AtomicBool) -> Result<Outcome<R>> {
        let assignment = (self.assign)(pair)?;
        let Some(delivery) = self.dispatcher.play(&assignment, over)? else { return Ok(Outcome::Cancelled) };
        let record = R::of_games(delivery.games).ok_or_else(|| {
            Error::Usage(format!("{}: not as many games as were asked for", assignment.number))
        })?;
        Ok(Outcome::Played(record, Some(delivery.stored)))
    }
}

fn run_threads<B, S>(
    boards: &B,
    schedule: &mut S,
    threads: u64,
    cancel: &AtomicBool,
    watch: &mut dyn FnMut(&S),
) -> Result<()>
where
    S: Schedule,
    B: Boards<S::Pair, S::Record>,
{
    let over = AtomicBool::new(false);
    let shared = Mutex::new(Shared { schedule, outcome: Ok(()) });
    let (alive, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        for number in 1..=threads.clamp(1, MAX_THREADS) as usize {
            let worker = Worker { boards, shared: &shared, over: &over, number };
            let alive = alive.clone();
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            let spawned = builder.spawn_scoped(scope, move || {
                let end = worker.work();
                worker.note(end);
                drop(alive);
            });
            if let Err(error) = spawned {
                locked(&shared).fail(Error::io("a thread", error));
                over.store(true, Ordering::Relaxed);
            }
        }
        drop(alive);
        while ended.recv_timeout(PULSE) != Err(mpsc::RecvTimeoutError::Disconnected) {
            if cancel.load(Ordering::Relaxed) {
                over.store(true, Ordering::Relaxed);
            }
            watch(locked(&shared).schedule);
        }
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    watch(shared.schedule);
    shared.outcome
}

/// What the threads share.
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

/// A thread that panicked has not left a change half done: pairs are told in one piece.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread: one pair after the other.
struct Worker<'a, 's, B, S> {
    boards: &'a B,
    shared: &'a Mutex<Shared<'s, S>>,
    /// Set when no more games are wanted.
    over: &'a AtomicBool,
    /// From 1.
    number: usize,
}

impl<B, S> Worker<'_, '_, B, S>
where
    S: Schedule,
    B: Boards<S::Pair, S::Record>,
{
    fn note(&self, end: Result<()>) {
        if let Err(error) = end {
            self.over.store(true, Ordering::Relaxed);
            locked(self.shared).fail(error);
        }
    }

    fn work(&self) -> Result<()> {
        let mut board = match self.boards.set_up() {
            // It is called off before this thread has played.
            Err(Error::Interrupted(_)) => return Ok(()),
            made => made?,
        };
        let mut attempts = 0;
        let mut again = None;
        loop {
            let next = match again.take() {
                None if !self.boards.wait(self.over) => return Ok(()),
                None => locked(self.shared).schedule.next(),
                retried => retried,
            };
            let Some(pair) = next else {
                self.boards.free();
                return Ok(());
            };
            match self.boards.play(&mut board, &pair, self.over)? {
                Outcome::Played(record, stored) => {
                    attempts = 0;
                    if !locked(self.shared).schedule.finished(self.number, pair, &record)? {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    if let Some(stored) = stored {
                        stored();
                    }
                }
                Outcome::Cancelled => return locked(self.shared).schedule.cancelled(pair),
                Outcome::NotReady(unready) => {
                    attempts += 1;
                    let mut shared = locked(self.shared);
                    match shared.schedule.not_ready(pair, &unready, attempts)? {
                        NextStep::Ask => {}
                        NextStep::End => self.over.store(true, Ordering::Relaxed),
                        NextStep::Retry(pair) if self.over.load(Ordering::Relaxed) => {
                            return shared.schedule.cancelled(pair);
                        }
                        NextStep::Retry(pair) => again = Some(pair),
                    }
                }
            }
        }
    }
}
