//! New scores for positions by an engine.

mod engine;
mod memory;
mod session;

pub use engine::{EngineOptions, Progress, Unscored};
pub use session::{RescoreOptions, RescoreReport, rescore};
