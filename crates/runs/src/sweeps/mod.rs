//! Complete sweeps: many tuning runs with different settings, trained in parallel on folds of the games, ranked by
//! their loss on held-out games, recorded and resumed.
//!
//! ```no_run
//! use gputexel_eval::{Backend, gpu::BackendChoice};
//! use gputexel_io::StopFlag;
//! use gputexel_runs::sweeps::SweepSettings;
//!
//! # fn main() -> gputexel_io::Result<()> {
//! let data = gputexel_dataset::read("games.bin".as_ref())?;
//! let axes = vec!["l2=1e-6:1e-3:8:log".to_string()];
//! let settings = SweepSettings { axes, ..SweepSettings::default() };
//! let results = settings.run(&data, &Backend::open(BackendChoice::Auto)?, &StopFlag::new())?;
//! println!("{}", results.ranking.ranked[0].held_out.mean);
//! results.write_to("sweep")?;
//! # Ok(())
//! # }
//! ```
//!
//! [`SweepSettings`] become a configuration, [`SweepResults`] are its results, and [`BestParameters`] are those trained with the best settings on all
//! positions. [`SweepFiles`] adds output files: they are checked before the sweep begins, and a resumed sweep writes
//! them, too. The runs themselves are trained by [`gputexel_tune::sweep`]. [`ScaleSweep`] only varies K, and trains
//! nothing.

mod best;
mod files;
mod page;
mod results;
mod scale;
mod settings;
mod started;

pub use best::BestParameters;
pub use files::write_csv;
pub use page::{is_sweep, sweep_report};
pub use results::SweepResults;
pub use scale::{ScaleBase, ScalePoint, ScaleSummary, ScaleSweep, ScaleSweepResults};
pub use settings::{MAX_RUNS, SweepSettings};
pub use started::{StartedSweep, SweepEnd, SweepFiles};
