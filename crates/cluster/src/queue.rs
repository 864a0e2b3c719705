//! The queue on the server: its streams, its subjects, and who may do what with them.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::Context;
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};

/// Told what a user wants to know, a sentence at a time.
pub type Notify = Arc<dyn Fn(&str) + Send + Sync>;

/// The stream of work that nobody has done.
pub(crate) const WORK: &str = "GPUTEXEL_WORK";

/// The stream of answers that no coordinator has stored.
pub(crate) const RESULTS: &str = "GPUTEXEL_RESULTS";

/// What all workers take work from.
pub(crate) const WORKERS: &str = "workers";

/// How long a worker may be silent about work that it has taken, unless said otherwise.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// What is left on the server that long has no coordinator any more.
const MAX_AGE: Duration = Duration::from_secs(7 * 86_400);

/// Bytes of each stream: nobody fills a disk by sending rubbish.
const MAX_BYTES: i64 = 1 << 30;

/// How long the server remembers which answers it has, to drop those that are sent twice.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Work that may be out at a time, of all runs.
const MAX_OUT: i64 = 65_536;

/// Workers' slots that may wait at a time.
const MAX_WAITING: i64 = 8192;

/// How long the server keeps what it knows of who took the results of a run.
const FORGET: Duration = Duration::from_secs(7 * 86_400);

/// The subject of some work; `*` or `>` for `number` stands for all of a run.
pub(crate) fn work_subject(run: &str, number: impl std::fmt::Display) -> String {
    format!("gputexel.work.{run}.{number}")
}

/// The subject of answers.
pub(crate) fn result_subject(run: &str) -> String {
    format!("gputexel.result.{run}")
}

/// The subject on which a run says that no more games are wanted.
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

/// The streams, and what workers take work from, made where they are missing. `lease` is changed only where one is
/// given.
///
/// # Errors
/// What the server says.
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

/// What the coordinator of a run takes its answers from.
///
/// # Errors
/// What the server says.
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
