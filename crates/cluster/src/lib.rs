//! Games on many machines, by way of a NATS server with JetStream.
//!
//! A [`Coordinator`] has the games of one run played: it puts every pair into the work queue of the server and
//! waits for its games. A [`Worker`] takes pairs from the queue, plays them with engines of its own configuration and
//! sends the games back. Work is leased: what a worker has taken and does not keep asking for goes to another.
//! Of several results for a pair the first counts. The journal of the run stays with the coordinator and is the
//! truth; the server may lose everything.
//!
//! Nobody is trusted further than necessary. Workers run nothing that comes over the wire and use none of it as a
//! path; coordinators accept games only from whoever was given the pair, and replay them by the rules.

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
