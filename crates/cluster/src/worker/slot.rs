//! One slot of a worker: takes work, plays it, sends the games, and starts over.

use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{PullConsumer, pull};
use async_nats::jetstream::context::Context;
use async_nats::jetstream::message::AckKind;
use futures_util::StreamExt as _;
use gputexel_io::StopFlag;
use gputexel_play::{StoredCourse, TimeControl, Unplayed, play_games};
use tokio::runtime::Handle;

use super::seats::{Offer, Pulse, Seats, Watched};
use super::summary::Tally;
use crate::queue::{LEASE, Notify, WORK, WORKERS, result_subject};
use crate::wire::{Answer, BadWork, Job, Work};

/// Time that the server may hold a request for work; the end of the worker waits at most this long.
const PATIENCE: Duration = Duration::from_secs(3);

/// Pause before the next request or message to the server.
const PAUSE: Duration = Duration::from_millis(300);

/// Time after which declined work goes to another worker.
const HAND_ON: Duration = Duration::from_secs(1);

/// Pauses after work was declined, seconds: from the first to the longest.
const DECLINED: (u64, u64) = (1, 30);

/// Time for which results are retried when the server is unreachable.
const HAND_IN: Duration = Duration::from_secs(3600);

/// State shared by the slots of a worker.
pub(super) struct Shared {
    pub context: Context,
    pub runtime: Handle,
    pub name: String,
    pub offer: Offer,
    /// Nodes per second with all slots busy.
    pub nodes_per_second: u64,
    pub stop: StopFlag,
    pub notify: Notify,
    pub tally: Tally,
    /// The games in progress: their runs, and the flags that end them.
    pub games: Mutex<Vec<(String, Arc<StopFlag>)>>,
    /// Reasons that were already reported.
    pub told: Mutex<HashSet<String>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.stop.is_set()
    }

    fn tell_once(&self, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < 100 && told.insert(text.clone()) {
            (self.notify)(&text);
        }
    }

    /// Ends the games of a run.
    pub fn end(&self, run: &str) {
        let games = self.games.lock().unwrap_or_else(PoisonError::into_inner);
        games.iter().filter(|(of, _)| of == run).for_each(|(_, over)| over.set());
    }
}

/// Outcome of work.
enum Done {
    Played(Vec<StoredCourse>),
    /// This worker cannot play it.
    Declined(String),
    /// The worker stops, or the run has ended.
    CalledOff,
}

/// Plays until the worker stops.
pub(super) fn work(shared: &Shared) {
    let mut seats = Seats::new(shared.stop.clone());
    let mut pause = DECLINED.0;
    let mut consumer = None;
    while !shared.is_over() {
        let Some((message, lease)) = next(shared, &mut consumer) else { continue };
        let work = match Work::read(&message.payload) {
            Ok(work) => work,
            Err(unreadable) => {
                shared.tally.unreadable.fetch_add(1, Ordering::Relaxed);
                shared.tell_once(format!("refused work: {unreadable}"));
                acknowledge(
                    shared,
                    &message,
                    match unreadable {
                        BadWork::OtherVersion(_) => AckKind::Nak(Some(HAND_ON)),
                        // Nobody else could do it either.
                        BadWork::Unreadable(_) => AckKind::Term,
                    },
                );
                wait(shared, PAUSE);
                continue;
            }
        };
        match play(shared, &mut seats, &work, &message, lease) {
            Done::Played(games) => {
                pause = DECLINED.0;
                let count = games.len() as u64;
                if hand_in(shared, &work, &Answer::games(&work, &shared.name, games)) {
                    shared.tally.games.fetch_add(count, Ordering::Relaxed);
                    acknowledge(shared, &message, AckKind::Ack);
                }
            }
            Done::CalledOff => {
                shared.tally.broken_off.fetch_add(1, Ordering::Relaxed);
                acknowledge(shared, &message, AckKind::Nak(None));
            }
            Done::Declined(reason) => {
                seats.clear();
                shared.tally.declined.fetch_add(1, Ordering::Relaxed);
                shared.tell_once(format!("declined work: {reason}"));
                acknowledge(shared, &message, AckKind::Nak(Some(HAND_ON)));
                hand_in(shared, &work, &Answer::refusal(&work, &shared.name, &reason));
                wait(shared, Duration::from_secs(pause));
                pause = (2 * pause).min(DECLINED.1);
            }
        }
    }
}

fn wait(shared: &Shared, time: Duration) {
    let turn = Duration::from_millis(50);
    let mut left = time;
    while !shared.is_over() && !left.is_zero() {
        std::thread::sleep(turn.min(left));
        left = left.saturating_sub(turn);
    }
}

/// Requests work from the server, with the time for which it is leased; `None` when there is none now.
fn next(shared: &Shared, consumer: &mut Option<PullConsumer>) -> Option<(Message, Duration)> {
    let asked = shared.runtime.block_on(async {
        if consumer.is_none() {
            let found = shared.context.get_consumer_from_stream::<pull::Config, _, _>(WORKERS, WORK).await;
            // There is none before the first run.
            *consumer = found.ok();
        }
        let batch = consumer.as_ref()?.batch().max_messages(1).expires(PATIENCE).messages().await;
        let mut batch = batch.ok()?;
        // The server answers in time, unless it was unreachable and has forgotten the request.
        let patience = PATIENCE + Duration::from_secs(1);
        let stopped = async {
            while !shared.is_over() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::select! {
            message = tokio::time::timeout(patience, batch.next()) => match message {
                Ok(Some(Ok(message))) => Some(Ok(message)),
                Ok(None) => Some(Err(true)),
                Ok(Some(Err(_))) | Err(_) => Some(Err(false)),
            },
            () = stopped => Some(Err(true)),
        }
    });
    match asked {
        Some(Ok(message)) => {
            let lease = consumer.as_ref().map(|consumer| consumer.cached_info().config.ack_wait);
            Some((message, lease.unwrap_or(LEASE)))
        }
        Some(Err(true)) => None,
        Some(Err(false)) | None => {
            *consumer = None;
            wait(shared, PAUSE);
            None
        }
    }
}

fn acknowledge(shared: &Shared, message: &Message, kind: AckKind) {
    // If the message is lost, the server gives the work to another worker, and of two results one counts.
    let _ = shared.runtime.block_on(message.ack_with(kind));
}

/// Sends an answer until the server has it, or for so long that it cannot be needed any more.
fn hand_in(shared: &Shared, work: &Work, answer: &Answer) -> bool {
    let mut headers = HeaderMap::new();
    // The same for every attempt, so that the server keeps one of them.
    let id = format!("{}-{:016x}", work.ticket, rand::random::<u64>());
    headers.insert(async_nats::header::NATS_MESSAGE_ID, id.as_str());
    let (subject, payload) = (result_subject(&work.run), answer.to_bytes());
    let begin = std::time::Instant::now();
    let mut goodbye = 3;
    while begin.elapsed() < HAND_IN && goodbye > 0 {
        let sent = shared.runtime.block_on(async {
            let sent =
                shared.context.publish_with_headers(subject.clone(), headers.clone(), payload.clone().into());
            sent.await.ok()?.await.ok()
        });
        if sent.is_some() {
            return true;
        }
        if answer.reason().is_some() {
            return false;
        }
        goodbye -= i32::from(shared.is_over());
        std::thread::sleep(PAUSE);
    }
    false
}

fn play(shared: &Shared, seats: &mut Seats, work: &Work, message: &Message, lease: Duration) -> Done {
    let job = match work.task.job() {
        Ok(job) => job,
        Err(reason) => return Done::Declined(reason),
    };
    let pulse = Pulse::new();
    pulse.expect(Duration::from_secs(60));
    let _lease = Lease::hold(shared, message, lease, pulse.clone());
    let over = Arc::new(StopFlag::new());
    let entry = (work.run.clone(), over.clone());
    shared.games.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    let done = play_job(shared, seats, &job, &pulse, &over);
    shared.games.lock().unwrap_or_else(PoisonError::into_inner).retain(|(_, flag)| !Arc::ptr_eq(flag, &over));
    done
}

fn play_job(shared: &Shared, seats: &mut Seats, job: &Job, pulse: &Pulse, over: &StopFlag) -> Done {
    if let Err(reason) = seats.prepare(&job.sides, &shared.offer) {
        return if shared.is_over() { Done::CalledOff } else { Done::Declined(reason) };
    }
    let Some([a, b]) = seats.players() else { return Done::CalledOff };
    let (mut a, mut b) = (Watched { player: a, pulse }, Watched { player: b, pulse });
    let mut rules = job.rules;
    if let Some(theirs) = job.nodes_per_second {
        rules.time_controls = rules.time_controls.map(|limit| scaled(limit, theirs, shared.nodes_per_second));
    }
    match play_games(&mut a, &mut b, &job.opening, &rules, job.games, over) {
        Ok(games) => Done::Played(games.iter().map(StoredCourse::new).collect()),
        Err(Unplayed::Cancelled) => Done::CalledOff,
        Err(Unplayed::NotReady { name, failure }) => Done::Declined(format!("side {name}: {failure}")),
    }
}

/// Converts a time limit from one machine to another, by their nodes per second; other limits are unchanged.
fn scaled(limit: TimeControl, theirs: u64, ours: u64) -> TimeControl {
    // A factor above ten is a mistake, not a machine.
    let factor = (theirs.max(1) as f64 / ours.max(1) as f64).clamp(0.1, 10.0);
    match limit {
        TimeControl::Nodes(_) | TimeControl::Depth(_) => limit,
        TimeControl::MoveTime(time) => TimeControl::MoveTime(time.mul_f64(factor)),
        TimeControl::Clock { base, increment, moves } => {
            TimeControl::Clock { base: base.mul_f64(factor), increment: increment.mul_f64(factor), moves }
        }
    }
}

/// Extends the lease of some work for as long as its game makes progress.
struct Lease(tokio::task::JoinHandle<()>);

impl Lease {
    fn hold(shared: &Shared, message: &Message, lease: Duration, pulse: Pulse) -> Self {
        let (message, every) = (message.clone(), lease / 4);
        Self(shared.runtime.spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                if pulse.is_alive() {
                    let _ = message.ack_with(AckKind::Progress).await;
                }
            }
        }))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_speed_of_the_machine_and_nodes_do_not() {
        for (limit, theirs, ours, wanted) in [
            ("time=10+0.1", 1_000_000, 500_000, "time=20+0.2"),
            ("time=40/60", 1_000_000, 2_000_000, "time=40/30"),
            ("move-time=100", 300, 100, "move-time=300"),
            // Nobody waits a hundred times as long.
            ("move-time=100", 1_000_000, 1, "move-time=1000"),
            ("nodes=5000", 1_000_000, 1, "nodes=5000"),
            ("depth=8", 1, 1_000_000, "depth=8"),
        ] {
            assert_eq!(scaled(limit.parse().unwrap(), theirs, ours).to_string(), wanted);
        }
    }
}
