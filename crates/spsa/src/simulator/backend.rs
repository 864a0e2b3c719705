//! What simulates: the CPU, or a GPU where that is faster.

use std::sync::atomic::AtomicBool;

use gputexel_files::{Error, Result};
use gputexel_gpu::{BackendChoice, GpuContext};

use super::{Outcome, Scenario, simulate, simulate_on_gpu};

/// Repeats from which `auto` takes a GPU: fewer leave most of one idle.
const MIN_GPU_REPEATS: usize = 4096;
/// Iterations up to which it does: later steps are lost in 32 bits.
const MAX_GPU_ITERATIONS: u64 = 1 << 22;

/// Simulates scenarios on a GPU that is opened when it is first needed, or on the CPU.
pub struct Simulator {
    choice: BackendChoice,
    gpu: Option<GpuContext>,
    /// Whether there is nothing to open (any more).
    settled: bool,
    /// Refuses GPUs that are not to be used.
    vet: fn(&GpuContext) -> Result<()>,
}

/// What came of a simulated scenario, and where it was simulated.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The gains.
    pub outcome: Outcome,
    /// The name of the GPU that simulated, in 32 bits; `None` for the CPU.
    pub gpu: Option<String>,
    /// Why a GPU that was taken of itself failed, so that the CPU simulated.
    pub fallback: Option<String>,
}

impl Simulator {
    /// A simulator for some scenarios: on the GPU where there is a real one and scenarios have 4,096
    /// repeats or more (`Auto`), always (`Gpu`, also a software adapter), or never (`Cpu`).
    ///
    /// # Errors
    /// [`Error::Setting`], named `backend`, for scenarios that a GPU that was asked for cannot simulate;
    /// [`Error::Gpu`] when it cannot be had.
    pub fn open<'a>(
        choice: BackendChoice,
        scenarios: impl IntoIterator<Item = &'a Scenario>,
    ) -> Result<Self> {
        Self::open_vetted(choice, scenarios, |_| Ok(()))
    }

    /// As [`open`](Self::open), but a GPU that `vet` refuses is not used.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and those of `vet` for a GPU that was asked for.
    pub fn open_vetted<'a>(
        choice: BackendChoice,
        scenarios: impl IntoIterator<Item = &'a Scenario>,
        vet: fn(&GpuContext) -> Result<()>,
    ) -> Result<Self> {
        if choice != BackendChoice::Gpu {
            return Ok(Self { choice, gpu: None, settled: choice == BackendChoice::Cpu, vet });
        }
        if let Some(what) = scenarios.into_iter().find_map(Scenario::needs_tuner) {
            return Err(Error::setting(
                "backend",
                "gpu",
                format!("{what}: can only be simulated on the CPU"),
            ));
        }
        let context = GpuContext::try_new(true)?;
        vet(&context)?;
        Ok(Self { choice, gpu: Some(context), settled: true, vet })
    }

    /// Simulates a scenario; `progress` sees the iterations that are done.
    ///
    /// # Errors
    /// Those of [`simulate`], and [`Error::Gpu`] when a GPU that was asked for fails; with `Auto` the CPU
    /// takes over.
    pub fn simulate(
        &mut self,
        scenario: &Scenario,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Simulated> {
        let (context, mut fallback) = self.gpu_for(scenario);
        if let Some(context) = context {
            match simulate_on_gpu(&context, scenario, cancel, progress) {
                Err(Error::Gpu(why) | Error::Usage(why)) if self.choice == BackendChoice::Auto => {
                    fallback = Some(why);
                    self.gpu = None;
                }
                outcome => {
                    let gpu = Some(context.summary().name.clone());
                    return outcome.map(|outcome| Simulated { outcome, gpu, fallback });
                }
            }
        }
        simulate(scenario, cancel, progress).map(|outcome| Simulated { outcome, gpu: None, fallback })
    }

    /// The GPU for a scenario, if it is to be simulated on one, or why one that there is was refused.
    fn gpu_for(&mut self, scenario: &Scenario) -> (Option<GpuContext>, Option<String>) {
        let fits = scenario.repeats >= MIN_GPU_REPEATS
            && scenario.settings.schedule.iterations <= MAX_GPU_ITERATIONS
            && scenario.needs_tuner().is_none();
        if self.choice == BackendChoice::Auto && !fits {
            return (None, None);
        }
        let mut refused = None;
        if !std::mem::replace(&mut self.settled, true) {
            // Without a real GPU the CPU is what was asked for.
            self.gpu = GpuContext::try_new(false).ok();
            if let Some(Err(why)) = self.gpu.as_ref().map(self.vet) {
                (self.gpu, refused) = (None, Some(why.to_string()));
            }
        }
        (self.gpu.clone(), refused)
    }
}
