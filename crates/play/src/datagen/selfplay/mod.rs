//! An engine plays itself, many games in parallel, each from a different opening.
//!
//! [`SelfPlay`] keeps every finished game in a journal (`selfplay.jsonl`), so that a killed process loses only games in
//! progress. The files of games are written from the journal when playing ends, in the order of the games' numbers and
//! each as a whole. They do not depend on interruptions and, if moves do not depend on time, on the concurrency.

mod config;
mod output;
mod record;
mod schedule;
mod session;
mod tally;

pub use config::{SelfPlayConfig, SelfPlayOptions};
pub use output::{GameFormat, WrittenFile, is_quiet};
pub use session::{FinishedSelfPlay, SelfPlay};
pub use tally::SelfPlayTally;
