//! The side of a playing machine: takes pairs from the queue and plays them with its own engines.

mod config;
mod seats;
mod slot;
mod summary;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use gputexel_io::{Error, Result, StopFlag};
use tokio::runtime::Runtime;

pub use config::{OfferedEngine, OptionText, WorkerConfig};
pub use summary::WorkerSummary;

use crate::address::Access;
use crate::fingerprint::built_in_fingerprint;
use crate::queue::{Notify, end_subject};
use crate::speed::nodes_per_second;
use config::TriedEngine;
use seats::Offer;
use slot::Shared;

/// Stack size of a playing thread: in-process searches recurse.
const STACK_BYTES: usize = 16 << 20;

/// Time that the end of a worker waits for a server that does not respond.
const FAREWELL: Duration = Duration::from_secs(2);

/// A worker that has joined a queue.
pub struct Worker {
    runtime: Runtime,
    shared: Arc<Shared>,
    concurrency: usize,
}

impl Worker {
    /// Tests the engines, measures the machine and joins the queue. Once `stop` is set, games are aborted and others
    /// get their pairs.
    ///
    /// # Errors
    /// Errors of starting engines; [`Error::Input`] when the server cannot be reached or refuses.
    pub fn join(
        config: &WorkerConfig,
        access: &Access,
        stop: impl Into<StopFlag>,
        notify: Notify,
    ) -> Result<Self> {
        let engines = config.engines.iter().map(TriedEngine::try_out).collect::<Result<_>>()?;
        let offer = Offer { built_in: config.built_in.unwrap_or(true), engines };
        let (name, concurrency) = (config.name(), config.concurrency());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|e| Error::io("a thread", e))?;
        let client = runtime.block_on(access.connect(
            &format!("gputexel worker {name}"),
            &access.worker_inbox(),
            notify.clone(),
        ))?;
        // The context starts tasks of its own.
        let entered = runtime.enter();
        let shared = Arc::new(Shared {
            context: async_nats::jetstream::new(client),
            runtime: runtime.handle().clone(),
            name,
            offer,
            nodes_per_second: nodes_per_second(concurrency),
            stop: stop.into(),
            notify,
            tally: summary::Tally::default(),
            games: Mutex::default(),
            told: Mutex::new(HashSet::new()),
        });
        drop(entered);
        runtime.spawn(hear_of_ends(shared.clone()));
        Ok(Self { runtime, shared, concurrency })
    }

    /// Returns the name of the worker.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Returns the number of pairs in parallel.
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Returns nodes per second of the built-in engine, per slot with all slots busy.
    pub fn nodes_per_second(&self) -> u64 {
        self.shared.nodes_per_second
    }

    /// Returns the offered engines, with their fingerprints.
    pub fn engines(&self) -> Vec<(String, String)> {
        let Offer { built_in, engines } = &self.shared.offer;
        let own = built_in.then(|| ("the built-in engine".to_string(), built_in_fingerprint()));
        own.into_iter().chain(engines.iter().map(|e| (e.program(), e.fingerprint.clone()))).collect()
    }

    /// Plays until it is stopped.
    ///
    /// # Errors
    /// [`Error::Io`] when a thread cannot be started.
    pub fn run(self) -> Result<WorkerSummary> {
        let shared = &self.shared;
        let started = std::thread::scope(|scope| {
            for _ in 0..self.concurrency {
                let slot = std::thread::Builder::new().stack_size(STACK_BYTES);
                if let Err(error) = slot.spawn_scoped(scope, || slot::work(shared)) {
                    shared.stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    return Err(Error::io("a thread", error));
                }
            }
            Ok(())
        });
        let client = shared.context.client();
        self.runtime.block_on(async {
            let _ = tokio::time::timeout(FAREWELL, client.flush()).await;
        });
        let summary = shared.tally.summary(&shared.name);
        self.runtime.shutdown_timeout(Duration::from_millis(200));
        started.map(|()| summary)
    }
}

/// Aborts the games of runs that need no more.
async fn hear_of_ends(shared: Arc<Shared>) {
    let Ok(mut ends) = shared.context.client().subscribe(end_subject("*")).await else { return };
    while let Some(message) = ends.next().await {
        if let Some(run) = message.subject.rsplit('.').next() {
            shared.end(run);
        }
    }
}
