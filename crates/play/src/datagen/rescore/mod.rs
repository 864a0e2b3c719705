//! New labels for positions: scores by an engine, scores and results by endgame tablebases.
//!
//! Positions are read and written as in a conversion, in their order. An engine's scores are kept in a journal next to
//! the output until that is complete, so that an interrupted rescoring can be resumed.

mod engine;
mod memory;
mod session;
mod tablebases;

pub use engine::{EngineOptions, Progress, Unscored};
pub use session::{RescoreOptions, RescoreReport, rescore};
pub use tablebases::{MaterialReport, Probe, Prober, TABLEBASE_WIN_CP, TablebaseReport, Tablebases};
