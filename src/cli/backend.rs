//! The flags that choose a backend.

pub use gputexel::evaluator::Backend;
use gputexel::evaluator::gpu::BackendChoice;
use gputexel::evaluator::{Stats, StatsObserver};
use gputexel::{Error, Result, parse_bytes};

/// Flags that say what computes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// What to compute on: auto (a real GPU if there is one, otherwise the CPU), gpu (also accepts
    /// a software adapter) or cpu
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    /// CPU threads [default: one per core]; results do not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Limit on GPU memory, for example 512M or 2G [default: all of it]; a dataset that
    /// takes more than half of it is streamed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    gpu_memory: Option<u64>,
    /// Print GPU statistics to standard error at the end: dispatches, submissions, bytes
    #[arg(long)]
    stats: bool,
}

/// Sets the number of threads, if one was asked for.
///
/// # Errors
/// [`Error::Usage`] for numbers that make no sense.
pub fn set_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    if threads == 0 || threads > 4096 {
        return Err(Error::Usage(format!("{threads} threads: must be from 1 to 4096")));
    }
    // Fails only where the pool exists already, which no command does before this.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    Ok(())
}

impl BackendArgs {
    /// Opens the backend and sets the number of threads.
    ///
    /// # Errors
    /// [`Error::Usage`] for unknown names, [`Error::Gpu`] when a GPU was asked for and cannot be
    /// had.
    pub fn open(&self) -> Result<Backend> {
        let choice: BackendChoice = self.backend.parse()?;
        set_threads(self.threads)?;
        let backend = gputexel::devices::open(choice)?.with_memory(self.gpu_memory);
        Ok(backend.with_stats(self.stats.then_some(print_stats as StatsObserver)))
    }
}

fn print_stats(evaluator: &str, stats: Option<Stats>) {
    let counted = stats.map_or("nothing was counted".to_string(), |stats| stats.to_string());
    note!("{evaluator}: {counted}");
}
