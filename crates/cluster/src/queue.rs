//! The queue on the server: its streams, its subjects, and permissions for them.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};

/// Receives messages for the user, a sentence at a time.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// Stream of work that nobody has done.
pub(crate) const WORK: &str = "GPUTEXEL_WORK";

/// Stream of answers that no coordinator has stored.
pub(crate) const RESULTS: &str = "GPUTEXEL_RESULTS";

/// Consumer from which all workers take work.
pub(crate) const WORKERS: &str = "workers";

/// Default time that a worker may be silent about work that it has taken.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// Work that stays on the server this long has no coordinator any more.
const MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// Maximum size of each stream: nobody can fill a disk by sending garbage.
const MAX_BYTES: i64 = 1 << 30;

/// Time for which the server remembers its answers, to drop duplicates.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Maximum amount of outstanding work, of all runs.
const MAX_OUT: i64 = 65_536;

/// Maximum number of waiting worker slots.
const MAX_WAITING: i64 = 8192;

/// Time for which the server keeps its state of who took the results of a run.
const FORGET: Duration = Duration::from_secs(7 * 86_400);

/// Returns the subject of some work; `*` or `>` for `number` stands for all of a run.
pub(crate) fn work_subject(run: &str, number: impl std::fmt::Display) -> String {
    format!("gputexel.work.{run}.{number}")
}

/// Returns the subject of answers.
pub(crate) fn result_subject(run: &str) -> String {
    format!("gputexel.result.{run}")
}

/// Returns the subject on which a run announces that it needs no more games.
pub(crate) fn end_subject(run: &str) -> String {
    format!("gputexel.end.{run}")
}

fn config(name: &str, subject: &str) -> stream::Config {
    stream::Config {
        name: name.to_string(),
        subjects: vec![subject.to_string()],
        retention: RetentionPolicy::WorkQueue,
        discard: if name == WORK { DiscardPolicy::New } else { DiscardPolicy::Old },
        max_bytes: MAX_BYTES,
        max_age: MAX_AGE,
        duplicate_window: DUPLICATES,
        ..stream::Config::default()
    }
}

/// Returns the streams, and the consumer from which workers take work; creates missing ones. `lease` is changed only if
/// given.
///
/// # Errors
/// The server's message.
pub(crate) async fn set_up(context: &Context, lease: Option<Duration>) -> Result<[Stream; 2], String> {
    let work = context.get_or_create_stream(config(WORK, "gputexel.work.*.*")).await;
    let work = work.map_err(|e| format!("the stream {WORK}: {e}"))?;
    let results = context.get_or_create_stream(config(RESULTS, "gputexel.result.*")).await;
    let results = results.map_err(|e| format!("the stream {RESULTS}: {e}"))?;
    let consumer = pull::Config {
        durable_name: Some(WORKERS.to_string()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: lease.unwrap_or(LEASE),
        max_ack_pending: MAX_OUT,
        max_waiting: MAX_WAITING,
        ..pull::Config::default()
    };
    let made = match lease {
        Some(_) => work.create_consumer(consumer).await.map(drop).map_err(|e| e.to_string()),
        None => work.get_or_create_consumer(WORKERS, consumer).await.map(drop).map_err(|e| e.to_string()),
    };
    made.map_err(|e| format!("the consumer {WORKERS}: {e}"))?;
    Ok([work, results])
}

/// Returns the consumer from which the coordinator of a run takes its answers.
///
/// # Errors
/// The server's message.
pub(crate) async fn answers(results: &Stream, run: &str) -> Result<PullConsumer, String> {
    let config = pull::Config {
        durable_name: Some(run.to_string()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: LEASE,
        max_ack_pending: MAX_OUT,
        filter_subject: result_subject(run),
        inactive_threshold: FORGET,
        ..pull::Config::default()
    };
    results.get_or_create_consumer(run, config).await.map_err(|e| format!("the consumer of results: {e}"))
}
