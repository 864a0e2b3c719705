//! Runs with real games: pairs between two perturbed sides, several at a time, whose scores go to the tuner as they
//! are finished.

mod conclusion;
mod directions;
mod journal;
mod playing;
mod results;
mod session;
mod setup;
mod sides;
mod state;
mod verification;

pub use conclusion::{conclude, conclude_test};
pub use directions::{Direction, Directions};
pub use gputexel_play::Stop;
pub use journal::{Events, GameNote, Header, JOURNAL, PlayedPair, RunEvent, read};
pub use results::{summary, write_values};
pub use session::SpsaRun;
pub use setup::Setup;
pub use sides::{TunedEngine, TunedPlayer};
pub use state::RunState;
pub use verification::{Verification, Verified, VerifyOptions};
