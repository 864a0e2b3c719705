use std::sync::atomic::{AtomicBool, Ordering};

pub use gputexel::evaluator::Backend;
use gputexel::evaluator::divided::DeviceList;
use gputexel::evaluator::gpu::{BackendChoice, list_adapters};
use gputexel::evaluator::{Stats, StatsObserver};
use gputexel::io::parse_bytes;
use gputexel::{Error, Result};

use super::team::{launched, own_device, team};

/// Flags that choose the backend.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// Device to compute on: auto (a real GPU if there is one, otherwise the CPU), gpu (also accepts a software
    /// adapter) or cpu
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    /// Devices to share the work: all (every real GPU), or a list of adapters and cpu, such as 0,1 or 0=3,cpu=1 with
    /// shares [default: shares by measured speed]; see docs/scale.md
    #[arg(long, value_name = "LIST")]
    device: Option<String>,
    /// CPU threads [default: one per core]; does not change results
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Limit on GPU memory, for example 512M or 2G [default: no limit]; a dataset that takes more than half of it is
    /// streamed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    gpu_memory: Option<u64>,
    /// Print GPU statistics to standard error at the end: dispatches, submissions, bytes
    #[arg(long)]
    pub(super) stats: bool,
}

pub fn program() -> String {
    launched().unwrap_or_else(|| "gputexel".to_string())
}

/// Warns if several processes each do the whole work.
fn warn_of_launcher() {
    let count = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    let [size, rank] = [["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"], ["OMPI_COMM_WORLD_RANK", "PMI_RANK"]]
        .map(|names| names.into_iter().find_map(count));
    if let (Some(size @ 2..), Some(0), None) = (size, rank, team()) {
        note!(
            "gputexel: warning: this is one of {size} processes that all do the same; those of gputexel-mpi share the work"
        );
    }
}

pub fn set_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    if threads == 0 || threads > 4096 {
        return Err(Error::Usage(format!("{threads} threads: must be from 1 to 4096")));
    }
    // This fails only if the pool already exists, and no command creates one earlier.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    Ok(())
}

impl BackendArgs {
    pub fn open(&self) -> Result<Backend> {
        let choice: BackendChoice = self.backend.parse()?;
        warn_of_launcher();
        set_threads(self.threads)?;
        let opened = match self.device.as_deref() {
            None => match own_device().filter(|_| choice != BackendChoice::Cpu) {
                None => gputexel::devices::open(choice),
                Some(list) => gputexel::devices::open_several(choice, &list),
            },
            Some(_) if choice == BackendChoice::Cpu => {
                Err(Error::Usage("--device lists what --backend cpu leaves out".to_string()))
            }
            Some(text) => {
                let list = DeviceList::parse(text, &list_adapters())?;
                gputexel::devices::open_several(choice, &list)
            }
        };
        let mut backend = opened?.with_memory(self.gpu_memory);
        if let Some(team) = team() {
            backend = backend.with_team(team);
        }
        Ok(backend.with_stats(self.stats.then_some(print_stats as StatsObserver)))
    }
}

/// Evaluators come and go during a run; the note that the CPU has no statistics is printed once.
static SAID_NONE: AtomicBool = AtomicBool::new(false);

fn print_stats(evaluator: &str, stats: Option<Stats>) {
    match stats {
        Some(stats) => note!("{evaluator}: {stats}"),
        None if SAID_NONE.swap(true, Ordering::Relaxed) => {}
        None => note!("{evaluator}: no statistics: --stats counts what a GPU is given to do"),
    }
}
