//! Threads that play pairs of games or single ones in parallel, used by matches, tuning runs and self-play. "Pair"
//! below stands for any [`Encounter`] of a schedule.
//!
//! Owns the threads, their players, and when they end; [`dispatch_pairs`] uses a thread to wait for each pair that
//! others play. A [`Schedule`] decides which pair comes next, and handles finished ones. Only one thread calls it at a
//! time, so its decisions may depend on everything finished before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use super::dispatch::{Assignment, Dispatcher};
use super::game::{Encounter, Rules, Unplayed};
use super::openings::Opening;
use super::player::{Failure, Player};
use gputexel_io::{Error, Result};

/// Stack size of a playing thread: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// Maximum number of threads.
const MAX_THREADS: u64 = 4096;

/// Interval at which cancellation is checked and the watcher called.
const PULSE: Duration = Duration::from_millis(50);

/// Creates the players of each thread, and prepares them for a pair.
pub trait Players: Sync {
    /// Description of a pair before it is played.
    type Pair: Send;
    /// A player with everything needed to change its settings between pairs.
    type Player;

    /// Creates a player of a side: 0 for A or plus, 1 for B or minus. Called once in each thread.
    ///
    /// # Errors
    /// Engines that cannot be started; [`Error::Interrupted`] ends the thread without an error.
    fn make(&self, side: usize) -> Result<Self::Player>;

    /// Prepares the players for a pair, and returns its opening.
    ///
    /// # Errors
    /// Settings that an engine refuses; they end everything.
    fn set_up(&self, players: &mut [Self::Player; 2], pair: &Self::Pair) -> Result<Opening>;

    /// Returns the player as the rules of games see it.
    fn as_player(player: &mut Self::Player) -> &mut dyn Player;
}

/// Decides what is played next, and handles results.
pub trait Schedule: Send {
    /// Description of a pair before it is played.
    type Pair: Send;
    /// Result of a pair.
    type Record: Encounter;

    /// Returns the next pair to play; `None` ends the calling thread.
    fn next(&mut self) -> Option<Self::Pair>;

    /// Handles a pair that was played to its end by a thread, counted from 1. Returns true if more are wanted.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn finished(&mut self, thread: usize, pair: Self::Pair, record: &Self::Record) -> Result<bool>;

    /// Handles an engine that could not be prepared for a pair, for the `attempts`th time in a row in this thread.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn not_ready(
        &mut self,
        pair: Self::Pair,
        unready: &Unready,
        attempts: u32,
    ) -> Result<NextStep<Self::Pair>>;

    /// Handles a pair that will not be played to its end, because no more games are wanted.
    ///
    /// # Errors
    /// Any error that makes continuing pointless.
    fn cancelled(&mut self, pair: Self::Pair) -> Result<()>;
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

/// Plays pairs with several threads until the schedule has no more or `cancel` is set; games in progress are aborted
/// then. `watch` is called with the schedule about twenty times per second, from the calling thread.
///
/// # Errors
/// The first error of the players or the schedule; errors of starting threads.
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

/// Lets pairs be played elsewhere, several in parallel, until the schedule has no more or `cancel` is set. `assign`
/// describes a pair. `watch` is as in [`play_pairs`].
///
/// # Errors
/// The first error of the dispatcher, `assign` or the schedule; errors of starting threads.
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

/// Describes the games of a pair.
pub type Assign<'a, P> = dyn Fn(&P) -> Result<Assignment> + Sync + 'a;

/// Place where pairs are played.
trait Boards<P, R>: Sync {
    /// State that a thread keeps between pairs.
    type Board;

    /// Creates the state; called once in each thread.
    fn set_up(&self) -> Result<Self::Board>;

    /// Waits until a pair can be played; returns false if `over` is set.
    fn wait(&self, over: &AtomicBool) -> bool;

    /// Frees the place, because there is no pair to play.
    fn free(&self) {}

    /// Plays a pair.
    fn play(&self, board: &mut Self::Board, pair: &P, over: &AtomicBool) -> Result<Outcome<R>>;
}

/// Outcome of a pair.
enum Outcome<R> {
    /// It was played; with a function to call once the schedule has it.
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
struct Worker<'a, 's, B, S> {
    boards: &'a B,
    shared: &'a Mutex<Shared<'s, S>>,
    /// Set when no more games are wanted.
    over: &'a AtomicBool,
    /// Counted from 1.
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
            // Cancelled before this thread has played.
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
