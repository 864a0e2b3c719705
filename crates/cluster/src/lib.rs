//! Games on many machines, through a NATS server with JetStream.
//!
//! A [`Coordinator`] lets workers play the games of one run: it puts every pair into the work queue of the server and
//! waits for its games. A [`Worker`] takes pairs from the queue, plays them with engines of its own configuration and
//! sends the games back. Work is leased: work whose lease a worker does not renew goes to another. Of several results
//! for a pair the first counts. The journal of the run stays with the coordinator and is authoritative; the server may
//! lose everything.
//!
//! Trust is minimal. Workers execute nothing that comes over the wire and use none of it as a path; coordinators accept
//! games only from the worker that was given the pair, and replay them by the rules.

mod address;
mod coordinator;
mod fingerprint;
#[doc(hidden)]
pub mod heard;
mod identity;
mod queue;
mod refused;
mod speed;
mod wire;
mod worker;

pub use address::{Access, Address};
pub use coordinator::{Connection, Coordinator};
pub use fingerprint::{built_in_fingerprint, fingerprint};
pub use queue::Notify;
pub use refused::RefusedResults;
pub use speed::nodes_per_second;
pub use worker::{OfferedEngine, OptionText, Worker, WorkerConfig, WorkerSummary};
