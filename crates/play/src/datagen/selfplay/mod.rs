//! An engine plays itself, many games at a time, each from an opening of its own.
//!
//! [`SelfPlay`] keeps every game in a journal (`selfplay.jsonl`) as it is finished, so that a process that is
//! killed loses only games under way. The files of games are written from the journal when playing ends, in the
//! order of the games' numbers and each as a whole: they are the same whether the process was interrupted or not,
//! and, where moves do not depend on time, for any number of games at a time.

mod config;
mod output;
mod record;
mod schedule;
mod session;
mod tally;

pub use config::{SelfPlayConfig, SelfPlayOptions};
pub use output::{GameFormat, WrittenFile, is_quiet};
pub use session::{Changes, FinishedSelfPlay, SelfPlay};
pub use tally::{SelfPlaySummary, SelfPlayTally, Stop};
