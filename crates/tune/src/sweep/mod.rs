//! Sweeps: many runs with different settings, trained in parallel on folds of the games and ranked by their loss on
//! held-out positions.
//!
//! Owns the grid of settings (`grid`), the partition of a dataset into parts by fold and source (`plan`), the
//! training of a portion of the runs as one population (`train`), the order of work and its stored state
//! (`driver`), and the ranking (`ranking`). Output is left to the caller.

mod config;
mod driver;
mod grid;
mod merge;
mod part;
mod plan;
mod ranking;
mod train;

pub use config::{SweepConfig, SweepMethod, SweepOutputs, SweepRecord};
pub use driver::{
    MakeEvaluator, Retrained, SweepDriver, SweepEvent, SweepOutcome, SweepRun, recorded_runs, retrain,
};
pub use grid::{Axis, AxisKey, AxisValues, Grid, Setting};
pub use merge::merged;
pub use part::SweepPart;
pub use plan::Plan;
pub use ranking::{Estimate, Ranked, Ranking, rank};
pub use train::RunResult;
