//! An engine plays itself, each game from a different opening. The files of games are written from the journal when
//! playing ends, so that they do not depend on interruptions.

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
