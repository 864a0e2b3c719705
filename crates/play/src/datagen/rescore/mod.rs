//! New labels for positions: scores by an engine, scores and results by endgame tablebases.

mod engine;
mod memory;
mod session;
mod tablebases;

pub use engine::{EngineOptions, Progress, Unscored};
pub use session::{RescoreOptions, RescoreReport, rescore};
pub use tablebases::{MaterialReport, Probe, Prober, TABLEBASE_WIN_CP, TablebaseReport, Tablebases};
