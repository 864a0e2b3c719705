//! Sweeps: many runs with different settings, trained in parallel on folds of the games and ranked by their loss on
//! held-out positions.

mod config;
mod driver;
mod grid;
mod plan;
mod ranking;
mod train;

pub use config::{SweepConfig, SweepMethod};
pub use driver::{MakeEvaluator, Retrained, SweepEvent, SweepOutcome, SweepRun, retrain, run_sweep};
pub use grid::{Axis, AxisKey, AxisValues, Grid, Setting};
pub use plan::Plan;
pub use ranking::{Estimate, Ranked, Ranking, rank};
pub use train::RunResult;
