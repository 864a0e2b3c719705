pub use gputexel::evaluator::Backend;
use gputexel::evaluator::gpu::{BackendChoice, list_adapters};
use gputexel::io::parse_bytes;
use gputexel::{Error, Result};

use super::devices::select;
use super::team::{launched, own_device, team};

/// Flags that choose the backend.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// Device to compute on: auto (a real GPU if there is one, otherwise the CPU), gpu (also accepts a software
    /// adapter) or cpu
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    /// Adapter to compute on: its number, or part of its name; see `gputexel devices`
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// CPU threads [default: one per core]; does not change results
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Limit on GPU memory, for example 512M or 2G [default: no limit]; a dataset that takes more than half of it is
    /// streamed
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    gpu_memory: Option<u64>,
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
                Some(index) => gputexel::devices::open_at(choice, index),
            },
            Some(_) if choice == BackendChoice::Cpu => {
                Err(Error::Usage("--device selects what --backend cpu leaves out".to_string()))
            }
            Some(text) => {
                let adapters = list_adapters();
                let named = select(&adapters, Some(text))?;
                let usable = named.iter().find(|&&index| adapters[index].unusable.is_none());
                gputexel::devices::open_at(choice, *usable.unwrap_or(&named[0]))
            }
        };
        let mut backend = opened?.with_memory(self.gpu_memory);
        if let Some(team) = team() {
            backend = backend.with_team(team);
        }
        Ok(backend)
    }
}
