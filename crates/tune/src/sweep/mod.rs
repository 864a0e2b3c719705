//! Sweeps: many runs with different settings, trained in parallel on folds of the games and ranked by their loss on
//! held-out positions.

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
