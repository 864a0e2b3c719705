//! Sweeps: many runs with settings of their own, trained side by side on folds of the games, and
//! ranked by the positions that each has not seen.
//!
//! Owns the grid of settings (`grid`), the parts that folds and sources cut a dataset into
//! (`plan`), the training of a portion of the runs as one population (`train`), the order of the
//! work with its stored state (`driver`), and the ranking (`ranking`). What is written or shown is
//! left to the caller.

mod config;
mod driver;
mod grid;
mod plan;
mod ranking;
mod train;

pub use config::{SweepConfig, SweepMethod, SweepOutputs, SweepRecord};
pub use driver::{
    MakeEvaluator, Retrained, SweepDriver, SweepEvent, SweepOutcome, SweepRun, recorded_runs, retrain,
};
pub use grid::{Axis, AxisKey, AxisValues, Grid, Setting};
pub use plan::Plan;
pub use ranking::{Estimate, Ranked, Ranking, rank};
pub use train::RunResult;
