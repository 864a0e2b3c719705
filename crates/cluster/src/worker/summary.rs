//! Statistics of a worker.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Running counts.
#[derive(Default)]
pub(super) struct Tally {
    pub games: AtomicU64,
    pub declined: AtomicU64,
    pub unreadable: AtomicU64,
    pub broken_off: AtomicU64,
}

/// Statistics of a worker from its start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkerSummary {
    /// Its name.
    pub name: String,
    /// Games that were played and sent.
    pub games: u64,
    /// Work that it declined.
    pub declined: u64,
    /// Messages that were not valid work.
    pub unreadable: u64,
    /// Pairs that were aborted because it was stopped or their run had ended.
    pub broken_off: u64,
}

impl Tally {
    pub fn summary(&self, name: &str) -> WorkerSummary {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        WorkerSummary {
            name: name.to_string(),
            games: get(&self.games),
            declined: get(&self.declined),
            unreadable: get(&self.unreadable),
            broken_off: get(&self.broken_off),
        }
    }
}
