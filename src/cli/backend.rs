//! The choice of a backend, the only place where it is made.

use gputexel::dataset::Layout;
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::gpu::{BackendChoice, GpuContext, GpuEvaluator, GpuOptions, list_adapters};
use gputexel::evaluator::{DeviceSteps, Evaluations, Evaluator, Population, Request, Stats};
use gputexel::{Error, Result};

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
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    gpu_memory: Option<u64>,
    /// Print GPU statistics to standard error at the end: dispatches, submissions, bytes
    #[arg(long)]
    stats: bool,
}

/// A number of bytes, with K, M or G for powers of 1,024.
fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<u64>().ok().filter(|&number| number > 0 && number <= u64::MAX >> shift);
    number.map(|number| number << shift).ok_or_else(|| "expected a size such as 64M or 2G".to_string())
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

/// A backend that was opened, and why it was chosen.
pub struct Backend {
    choice: BackendChoice,
    gpu: Option<GpuContext>,
    memory: Option<u64>,
    stats: bool,
    why: String,
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
        let (memory, stats) = (self.gpu_memory, self.stats);
        let backend = |gpu, why| Ok(Backend { choice, gpu, memory, stats, why });
        if choice == BackendChoice::Cpu {
            return backend(None, "requested".to_string());
        }
        let (adapter, why) = choice.pick(&list_adapters());
        if adapter.is_none() && choice == BackendChoice::Auto {
            return backend(None, why);
        }
        match GpuContext::try_new(choice == BackendChoice::Gpu) {
            Ok(context) => backend(Some(context), why),
            Err(error) if choice == BackendChoice::Auto => backend(None, error.to_string()),
            Err(error) => Err(error),
        }
    }
}

impl Backend {
    /// Has an evaluator tell what it did, if that was asked for.
    fn heard<'a>(&self, evaluator: Box<dyn Evaluator + 'a>) -> Box<dyn Evaluator + 'a> {
        if self.stats { Box::new(Heard(evaluator)) } else { evaluator }
    }

    /// An evaluator of the layout, and a line that says which and why.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the GPU was asked for and refuses; with `auto` the CPU takes over.
    pub fn evaluator<'a>(&self, layout: &'a Layout) -> Result<(Box<dyn Evaluator + 'a>, String)> {
        let mut why = self.why.clone();
        if let Some(context) = &self.gpu {
            let options = GpuOptions { memory_bytes: self.memory, ..GpuOptions::new(context) };
            match GpuEvaluator::with_options(context, layout, options) {
                Ok(gpu) => {
                    let evaluator: Box<dyn Evaluator> = Box::new(gpu);
                    let line = format!("{} ({why})", evaluator.describe());
                    return Ok((self.heard(evaluator), line));
                }
                Err(error) if self.choice == BackendChoice::Auto => why = error.to_string(),
                Err(error) => return Err(error),
            }
        }
        let evaluator: Box<dyn Evaluator> = Box::new(CpuEvaluator::new(layout));
        let line = format!("{} ({why})", evaluator.describe());
        Ok((self.heard(evaluator), line))
    }

    /// What goes on where a device failed: the CPU, unless the GPU was insisted on.
    pub fn replacement<'a>(&self, layout: &'a Layout) -> Option<Box<dyn Evaluator + 'a>> {
        (self.choice == BackendChoice::Auto).then(|| self.heard(Box::new(CpuEvaluator::new(layout))))
    }
}

/// An evaluator that says on standard error what it did when it is done with.
struct Heard<'a>(Box<dyn Evaluator + 'a>);

impl Evaluator for Heard<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.0.evaluate(population, request)
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn device_steps(&mut self) -> Option<&mut dyn DeviceSteps> {
        self.0.device_steps()
    }

    fn stats(&self) -> Option<Stats> {
        self.0.stats()
    }
}

impl Drop for Heard<'_> {
    fn drop(&mut self) {
        let counted = self.0.stats().map_or("no statistics available".to_string(), |stats| stats.to_string());
        eprintln!("{}: {counted}", self.0.describe());
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_size("64M"), Ok(64 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert_eq!(parse_size("1000"), Ok(1000));
        for bad in ["", "M", "0", "-1", "1.5G", "64MB", "99999999999999G", "\u{e9}"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
