//! Runs with real games: pairs between two perturbed sides, several at a time, whose scores go to the
//! tuner as they are finished.
//!
//! [`SpsaRun`] plays a whole run and keeps it in a folder; [`Verification`] plays its result against its
//! start. Owns the journal from which a killed run is resumed, and the values of the engines. The threads, the rules
//! of games and the dialog with engines are those of [`matches`](mod@gputexel_play).
//!
//! Updates are asynchronous, as in `spsa.pl`: a pair moves the values as they are when it ends. With
//! one pair at a time and deterministic engines, a run depends on its
//! configuration alone, whether it was interrupted or not.

mod directions;
mod journal;
mod playing;
mod results;
mod session;
mod setup;
mod sides;
mod state;
mod verification;

pub use directions::{Direction, Directions};
pub use gputexel_play::Stop;
pub use journal::{Events, GameNote, Header, JOURNAL, PlayedPair, RunEvent, read};
pub use results::{ParameterSummary, RunSummary, ValueWarning, write_values};
pub use session::SpsaRun;
pub use sides::{TunedEngine, TunedPlayer};
pub use state::RunState;
pub use verification::{Verification, Verified, VerifyOptions};
