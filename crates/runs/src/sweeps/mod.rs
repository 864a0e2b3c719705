//! Complete sweeps: many tuning runs with different settings, trained in parallel on folds of the games and ranked by
//! their loss on held-out games; and the loss as a function of K, for which nothing is trained.
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
//! # Ok(())
//! # }
//! ```

mod results;
mod scale;
mod settings;

pub use results::{BestParameters, SweepResults};
pub use scale::{ScalePoint, ScaleSummary, ScaleSweep, ScaleSweepResults};
pub use settings::{MAX_RUNS, SweepSettings};
