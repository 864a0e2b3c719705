//! Whole tuning runs: from positions and settings to parameters and their files.

#![allow(missing_docs, reason = "internal crate; the library's front door is documented")]

mod basis;
mod blend;
pub mod comparison;
mod conclusion;
mod doubts;
mod event;
mod inputs;
mod joint_scale;
mod memory;
mod page;
mod pieces;
mod resume;
mod session;
mod settings;
mod start;
mod strength;
mod summary;
pub mod sweeps;
mod traced;
mod tuned;
mod tuner;
mod uncertainty;

pub use basis::BasisSettings;
pub use blend::{BlendSettings, BlendShare};
pub use doubts::{Doubts, wrong_trace};
pub use event::{Deciding, RunEvent, RunObserver, Start};
pub use inputs::{are_datasets, begins_as_dataset, datasets_of, default_features, extract};
pub use page::{Positions, ReportData, run_report};
pub use resume::Finished;
pub use settings::{ChooseOptimizer, OptimizerChoice, RunOutput, TunerSettings};
pub use strength::PriorStrength;
pub use summary::run_summary;
pub use tuned::{AgainstResults, FAR_CP, SwarmLosses, Tuned, WEAK_SUPPORT, write_report};
pub use tuner::{Reopened, Tuner};
pub use uncertainty::{Answer, BEYOND, Findings, GroupErrors, OFF_OPTIMUM};

/// Returns true if there are fewer than ten positions per coordinate, which makes results noise.
pub(crate) fn are_few(positions: u64, coordinates: usize) -> bool {
    positions < 10 * coordinates as u64
}
