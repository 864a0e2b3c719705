//! The side of a run: puts pairs into the queue, waits for their games, and ensures that none is lost.
//!
//! Threads of the run call [`Coordinator::play`] and wait. Two tasks in the background do the rest: one takes answers
//! from the server ([`inbox`]), one monitors outstanding work ([`watch`]).

mod inbox;
mod pending;
mod watch;

use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::context::{Context, PublishErrorKind};
use async_nats::jetstream::stream::Stream;
use gputexel_io::{Error, Result, StopFlag};
use gputexel_play::{Assignment, Delivery, Dispatcher, Rules};
use tokio::runtime::Runtime;

use crate::address::Access;
use crate::identity::Identity;
use crate::queue::{self, Notify, work_subject};
use crate::refused::RefusedResults;
use crate::speed::nodes_per_second;
use crate::wire::Work;
use pending::{Claim, Pending};

/// Interval at which a waiting thread checks for cancellation.
const PULSE: Duration = Duration::from_millis(50);

/// Pause before a message is sent again that the server did not take.
const PAUSE: Duration = Duration::from_millis(300);

/// Time that the end of a run waits for a server that does not respond.
const FAREWELL: Duration = Duration::from_secs(3);

/// A connection to a queue, not yet used by a run.
pub struct Connection {
    runtime: Runtime,
    context: Context,
    streams: [Stream; 2],
    lease: Option<Duration>,
    place: String,
    notify: Notify,
}

impl Connection {
    /// Connects to a queue, and creates missing parts of it. `lease` is the time that a worker may be silent about a
    /// pair before another gets it, for all runs of the queue; `None` leaves it unchanged, 60 s in a new queue.
    ///
    /// # Errors
    /// [`Error::Setting`], named `queue-lease`, for less than a second or more than a day; [`Error::Input`] when
    /// the server cannot be reached, refuses, or has no JetStream.
    pub fn open(access: &Access, lease: Option<Duration>, notify: Notify) -> Result<Self> {
        let day = Duration::from_secs(86_400);
        if let Some(lease) = lease.filter(|lease| !(Duration::from_secs(1)..=day).contains(lease)) {
            let reason = "expected seconds, from 1 to 86400";
            return Err(Error::setting("queue-lease", lease.as_secs_f64(), reason));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|e| Error::io("a thread", e))?;
        let place = access.address.to_string();
        let (context, streams) = runtime.block_on(async {
            let client = access.connect("gputexel coordinator", "_INBOX", notify.clone()).await?;
            let context = async_nats::jetstream::new(client);
            let streams = queue::set_up(&context, lease).await;
            Ok::<_, Error>((context, streams.map_err(|reason| Error::input(Path::new(&place), reason))?))
        })?;
        Ok(Self { runtime, context, streams, lease, place, notify })
    }
}

/// Lets the workers of a queue play the games of one run.
pub struct Coordinator {
    runtime: Option<Runtime>,
    shared: Arc<Shared>,
}

/// State shared by threads and tasks.
struct Shared {
    context: Context,
    lease: Option<Duration>,
    identity: Identity,
    notify: Notify,
    pending: Mutex<Pending>,
    refused: Mutex<RefusedResults>,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        locked(&self.pending)
    }

    fn refused(&self) -> MutexGuard<'_, RefusedResults> {
        locked(&self.refused)
    }

    /// Sends work, once.
    ///
    /// # Errors
    /// True if another attempt is worthwhile, and the server's message.
    async fn send(&self, number: u64, payload: Vec<u8>) -> std::result::Result<(), (bool, String)> {
        let subject = work_subject(&self.identity.run, number);
        let headers = HeaderMap::new();
        let failed = |e: async_nats::jetstream::context::PublishError| {
            (e.kind() != PublishErrorKind::MaxPayloadExceeded, e.to_string())
        };
        let sent =
            self.context.publish_with_headers(subject, headers, payload.into()).await.map_err(failed)?;
        sent.await.map(drop).map_err(failed)
    }
}

/// Locks a mutex; a thread that panicked leaves no inconsistent state behind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Coordinator {
    /// Begins a run with a folder, which stores the name of the run in the queue. The speed of this machine is measured
    /// if `rules` have time limits.
    ///
    /// # Errors
    /// [`Error::Input`] when the server refuses; errors of reading and writing the folder.
    pub fn begin(connection: Connection, folder: &Path, rules: &Rules) -> Result<Self> {
        let Connection { runtime, context, streams: [work, results], lease, place, notify } = connection;
        let timed = rules.time_controls.iter().any(|limit| limit.is_timed());
        let identity = Identity::of_folder(folder, || timed.then(|| nodes_per_second(1)))?;
        let shared = runtime.block_on(async {
            let refused = |reason: String| Error::input(Path::new(&place), reason);
            let answers = queue::answers(&results, &identity.run).await.map_err(refused)?;
            let left = watch::work_of_run(&work, &identity.run).await.map_err(refused)?;
            let (pending, refused) = (Mutex::new(Pending::new(left)), Mutex::default());
            let shared = Arc::new(Shared { context, lease, pending, refused, identity, notify });
            tokio::spawn(inbox::receive(shared.clone(), Some(answers)));
            tokio::spawn(watch::look_after(shared.clone()));
            Ok::<_, Error>(shared)
        })?;
        Ok(Self { runtime: Some(runtime), shared })
    }

    /// Returns the results that came back so far and were not used.
    pub fn refused(&self) -> RefusedResults {
        let unasked = self.shared.pending().unasked();
        let refused = self.shared.refused().clone();
        RefusedResults { late: refused.late + unasked, ..refused }
    }

    /// Leaves the queue: outstanding work is taken back, and workers that play for the run are told to stop. If the
    /// server does not respond, this gives up after three seconds.
    pub fn leave(&self) {
        let Some(runtime) = &self.runtime else { return };
        runtime.block_on(async {
            let _ = tokio::time::timeout(FAREWELL, watch::take_back(&self.shared)).await;
        });
    }

    /// Sends work until the server has it; returns false when `over` was set meanwhile.
    fn send(&self, runtime: &Runtime, number: u64, payload: &[u8], over: &StopFlag) -> Result<bool> {
        while !over.is_set() {
            match runtime.block_on(self.shared.send(number, payload.to_vec())) {
                Ok(()) => return Ok(true),
                Err((true, _)) => std::thread::sleep(PAUSE),
                Err((false, reason)) => {
                    return Err(Error::Usage(format!("pair {number} cannot be sent: {reason}")));
                }
            }
        }
        Ok(false)
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_millis(200));
        }
    }
}

impl Dispatcher for Coordinator {
    fn wait_for_place(&self, over: &StopFlag) -> bool {
        while !over.is_set() {
            if self.shared.pending().take_place() {
                return true;
            }
            std::thread::sleep(PULSE);
        }
        false
    }

    fn free_place(&self) {
        self.shared.pending().free_place();
    }

    fn play(&self, assignment: &Assignment, over: &StopFlag) -> Result<Option<Delivery>> {
        let Some(runtime) = &self.runtime else { return Ok(None) };
        let (number, work) = (assignment.number, Work::new(&self.shared.identity, assignment)?);
        let claim = self.shared.pending().claim(&work, assignment);
        let (answers, sent) = match claim {
            Claim::Answered(delivery) => {
                self.shared.pending().give_up(number);
                return Ok(Some(delivery));
            }
            Claim::Wait { answers, sent, outdated } => {
                if outdated {
                    runtime.block_on(watch::take_back_one(&self.shared, number));
                }
                (answers, sent)
            }
        };
        let sent = sent || self.send(runtime, number, &work.to_bytes(), over)?;
        self.shared.pending().sent(number);
        while sent && !over.is_set() {
            match answers.recv_timeout(PULSE) {
                Ok(delivery) => {
                    self.shared.pending().give_up(number);
                    return Ok(Some(delivery));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.shared.pending().give_up(number);
        Ok(None)
    }
}
