//! What simulates: the CPU, or a GPU where it is worth its while.

use std::sync::atomic::AtomicBool;

use gputexel::evaluator::gpu::{BackendChoice, GpuContext};
use gputexel::spsa::simulator::{Outcome, Scenario, simulate, simulate_on_gpu};
use gputexel::{Error, Result};

use super::super::backend::set_threads;

/// Repeats from which `auto` takes a GPU: fewer leave most of one idle.
const MANY_REPEATS: usize = 4096;
/// Iterations up to which it does: later steps are lost in 32 bits.
const MAX_ITERATIONS: u64 = 1 << 22;

/// Flags that say what simulates.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// What to simulate on: auto (a real GPU if there is one and for at least 4,096 repeats, otherwise
    /// the CPU), gpu (also accepts a software adapter; 32-bit numbers) or cpu
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    /// CPU threads [default: one per core]; results do not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// A backend, opened when it is first needed.
pub struct Backend {
    choice: BackendChoice,
    gpu: Option<GpuContext>,
    /// Whether there is nothing to open (any more).
    settled: bool,
}

impl BackendArgs {
    /// The backend for some scenarios; sets the number of threads.
    ///
    /// # Errors
    /// [`Error::Usage`] for unknown names and for scenarios that a GPU that was asked for cannot
    /// simulate, [`Error::Gpu`] when it cannot be had.
    pub fn open<'a>(&self, scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<Backend> {
        let choice: BackendChoice = self.backend.parse()?;
        set_threads(self.threads)?;
        if choice != BackendChoice::Gpu {
            return Ok(Backend { choice, gpu: None, settled: choice == BackendChoice::Cpu });
        }
        if let Some(what) = scenarios.into_iter().find_map(Scenario::needs_tuner) {
            return Err(Error::Usage(format!("--backend gpu: {what}: can only be simulated on the CPU")));
        }
        Ok(Backend { choice, gpu: Some(GpuContext::try_new(true)?), settled: true })
    }
}

impl Backend {
    /// Simulates a scenario; also the name of the GPU that did.
    ///
    /// # Errors
    /// Those of [`simulate`], and [`Error::Gpu`] when a GPU that was asked for fails; with `auto`
    /// the CPU takes over.
    pub fn simulate(
        &mut self,
        scenario: &Scenario,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Outcome, Option<String>)> {
        if let Some(context) = self.gpu_for(scenario) {
            match simulate_on_gpu(&context, scenario, cancel, progress) {
                Err(Error::Gpu(why) | Error::Usage(why)) if self.choice == BackendChoice::Auto => {
                    eprintln!("gputexel: warning: {why}; continuing on the CPU");
                    self.gpu = None;
                }
                outcome => return outcome.map(|outcome| (outcome, Some(context.summary().name.clone()))),
            }
        }
        simulate(scenario, cancel, progress).map(|outcome| (outcome, None))
    }

    fn gpu_for(&mut self, scenario: &Scenario) -> Option<GpuContext> {
        let fits = scenario.repeats >= MANY_REPEATS
            && scenario.settings.schedule.iterations <= MAX_ITERATIONS
            && scenario.needs_tuner().is_none();
        if self.choice == BackendChoice::Auto && !fits {
            return None;
        }
        if !std::mem::replace(&mut self.settled, true) {
            // Without a real GPU the CPU is what was asked for.
            self.gpu = GpuContext::try_new(false).ok();
        }
        self.gpu.clone()
    }
}
