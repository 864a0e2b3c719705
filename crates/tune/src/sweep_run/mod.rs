//! Complete sweeps: many tuning runs with different settings, trained in parallel on folds of the games, ranked by
//! their loss on held-out games, recorded and resumed.
//!
//! ```no_run
//! use gputexel_tune::sweep_run::Sweep;
//!
//! # fn main() -> gputexel_io::Result<()> {
//! let data = gputexel_dataset::read("games.bin".as_ref())?;
//! let results = Sweep::builder(&data).axis("l2", "1e-6:1e-3:8:log").folds(5).run()?;
//! println!("{}", results.ranking.ranked[0].held_out.mean);
//! results.write_to("sweep")?;
//! # Ok(())
//! # }
//! ```
//!
//! [`SweepBuilder`] turns settings into a configuration, [`SweepSession`] runs it, with or without a folder to resume
//! it from, [`SweepResults`] are its results, and [`BestParameters`] are those trained with the best settings on all
//! positions. [`SweepFiles`] adds output files: they are checked before the sweep begins, and a resumed sweep writes
//! them, too. The runs themselves are trained by [`crate::sweep`]. [`ScaleSweep`] only varies K, and trains
//! nothing.

mod best;
mod builder;
mod chart;
mod files;
mod page;
mod parts;
mod results;
mod scale;
mod session;
mod started;

pub use best::BestParameters;
pub use builder::{MAX_RUNS, SweepBuilder};
pub use files::{write_csv, write_scale_csv};
pub use page::{is_sweep, sweep_report};
pub use results::SweepResults;
pub use scale::{ScaleBase, ScalePoint, ScaleSummary, ScaleSweep, ScaleSweepResults};
pub use session::SweepSession;
pub use started::{StartedSweep, SweepEnd, SweepFiles};

use std::path::Path;

use gputexel_dataset::Dataset;
use gputexel_io::Result;

/// Entry points of sweeps.
///
/// A long sweep is kept in a folder, from which any process can resume it:
///
/// ```no_run
/// use gputexel_eval::Backend;
/// use gputexel_eval::gpu::BackendChoice;
/// use gputexel_io::StopFlag;
/// use gputexel_tune::sweep_run::Sweep;
///
/// # fn main() -> gputexel_io::Result<()> {
/// let data = gputexel_dataset::read("games.bin".as_ref())?;
/// Sweep::builder(&data).datasets(&["games.bin"]).axis("l2", "0,1e-4").folder("sweep").run()?;
/// // If that was interrupted:
/// let sweep = Sweep::resume("sweep")?;
/// let end = sweep.run(&Backend::open(BackendChoice::Auto)?, &StopFlag::new())?;
/// println!("{:?}", end.results.best());
/// end.finish()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub enum Sweep {}

impl Sweep {
    /// Returns a builder for a sweep over a dataset, every setting at its default.
    pub fn builder(data: &Dataset) -> SweepBuilder<'_> {
        SweepBuilder::new(data)
    }

    /// Opens a sweep that was begun in a folder, with its original settings and dataset.
    pub fn resume(folder: impl AsRef<Path>) -> Result<StartedSweep> {
        SweepFiles::default().resume(folder)
    }
}
