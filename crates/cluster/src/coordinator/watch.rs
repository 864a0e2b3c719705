//! Monitors outstanding work: how many places workers have, whether the server still has the work, and what must be
//! taken back at the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::Stream;
use futures_util::TryStreamExt as _;

use super::Shared;
use crate::queue::{self, RESULTS, WORK, WORKERS, end_subject, result_subject, work_subject};
use crate::wire::Work;

/// Interval at which places are counted.
const TURN: Duration = Duration::from_millis(500);

/// Number of turns between two checks of the work.
const TURNS: u32 = 4;

/// Monitors the work until the runtime ends.
pub(super) async fn look_after(shared: Arc<Shared>) {
    for turn in 1u32.. {
        tokio::time::sleep(TURN).await;
        let consumer = shared.context.get_consumer_from_stream::<pull::Config, _, _>(WORKERS, WORK).await;
        match consumer {
            Ok(consumer) => {
                let info = consumer.cached_info();
                let places = info.num_waiting + info.num_ack_pending;
                shared.pending().note_places(places, Instant::now());
            }
            // A server that has lost its streams gets new ones; one that is unreachable is tried again.
            Err(_) => drop(queue::set_up(&shared.context, shared.lease).await),
        }
        if turn.is_multiple_of(TURNS) {
            send_missing(&shared).await;
        }
    }
}

/// Sends again the work that the server should have but lacks.
async fn send_missing(shared: &Shared) {
    let Ok(work) = shared.context.get_stream(WORK).await else { return };
    let Ok(there) = numbers(&work, &shared.identity.run).await else { return };
    let missing = shared.pending().missing(&there);
    for (number, payload) in missing {
        if shared.pending().wants(number) && shared.send(number, payload).await.is_ok() {
            shared.pending().sent(number);
        }
    }
}

/// Returns the numbers of the work of a run that the server has.
async fn numbers(work: &Stream, run: &str) -> Result<BTreeMap<u64, String>, String> {
    let mut subjects = work
        .info_with_subjects(work_subject(run, "*"))
        .await
        .map_err(|e| format!("the stream {WORK}: {e}"))?;
    let mut there = BTreeMap::new();
    while let Some((subject, _)) = subjects.try_next().await.map_err(|e| format!("the stream {WORK}: {e}"))? {
        if let Some(number) = subject.rsplit('.').next().and_then(|number| number.parse().ok()) {
            there.insert(number, subject);
        }
    }
    Ok(there)
}

/// Returns earlier work of a run that the server still has, by number, as digests.
///
/// # Errors
/// The server's message.
pub(super) async fn work_of_run(work: &Stream, run: &str) -> Result<BTreeMap<u64, String>, String> {
    let mut left = BTreeMap::new();
    for (number, subject) in numbers(work, run).await? {
        // Work that is finished meanwhile is no longer there.
        let Ok(message) = work.get_last_raw_message_by_subject(&subject).await else { continue };
        if let Ok(work) = Work::read(&message.payload) {
            left.insert(number, work.task.digest());
        }
    }
    Ok(left)
}

/// Takes back the work of one pair, unless a worker has taken it.
pub(super) async fn take_back_one(shared: &Shared, number: u64) {
    if let Ok(work) = shared.context.get_stream(WORK).await {
        let _ = work.purge().filter(work_subject(&shared.identity.run, number)).await;
    }
}

/// Takes back all work that the run has on the server, and notifies workers.
pub(super) async fn take_back(shared: &Shared) {
    let run = &shared.identity.run;
    if let Ok(work) = shared.context.get_stream(WORK).await {
        let _ = work.purge().filter(work_subject(run, "*")).await;
    }
    let client = shared.context.client();
    let _ = client.publish(end_subject(run), "".into()).await;
    let _ = client.flush().await;
    if let Ok(results) = shared.context.get_stream(RESULTS).await {
        let _ = results.delete_consumer(run).await;
        let _ = results.purge().filter(result_subject(run)).await;
    }
    let _ = client.flush().await;
}
