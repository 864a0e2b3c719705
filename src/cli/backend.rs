//! The choice of a backend, the only place where it is made.

use gputexel::dataset::Layout;
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::gpu::{BackendChoice, GpuContext, GpuEvaluator, list_adapters};
use gputexel::evaluator::{Evaluator, WithCurvatureFrom};
use gputexel::{Error, Result};

/// Flags that say what computes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Backend")]
pub struct BackendArgs {
    /// What computes: auto (a real GPU where there is one, else the CPU), gpu (also a software
    /// adapter) or cpu
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: String,
    /// CPU threads [default: one a core]; results do not depend on it
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// A backend that was opened, and why it was chosen.
pub struct Backend {
    choice: BackendChoice,
    gpu: Option<GpuContext>,
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
        if let Some(threads) = self.threads {
            if threads == 0 || threads > 4096 {
                return Err(Error::Usage(format!("{threads} threads: must be from 1 to 4096")));
            }
            // Fails only where the pool exists already, which no command does before this.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        }
        if choice == BackendChoice::Cpu {
            return Ok(Backend { choice, gpu: None, why: "asked for".to_string() });
        }
        let (adapter, why) = choice.pick(&list_adapters());
        if adapter.is_none() && choice == BackendChoice::Auto {
            return Ok(Backend { choice, gpu: None, why });
        }
        match GpuContext::try_new(choice == BackendChoice::Gpu) {
            Ok(context) => Ok(Backend { choice, gpu: Some(context), why }),
            Err(error) if choice == BackendChoice::Auto => {
                Ok(Backend { choice, gpu: None, why: error.to_string() })
            }
            Err(error) => Err(error),
        }
    }
}

impl Backend {
    /// An evaluator of the layout, and a line that says which and why.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the GPU was asked for and refuses; with `auto` the CPU takes over.
    pub fn evaluator<'a>(
        &self,
        layout: &'a Layout,
        curvature: bool,
    ) -> Result<(Box<dyn Evaluator + 'a>, String)> {
        let mut why = self.why.clone();
        if let Some(context) = &self.gpu {
            match GpuEvaluator::try_new(context, layout) {
                Ok(gpu) => {
                    let gpu: Box<dyn Evaluator> = Box::new(gpu);
                    let evaluator = match curvature && !gpu.has_curvature() {
                        true => Box::new(WithCurvatureFrom::new(gpu, Box::new(CpuEvaluator::new(layout)))),
                        false => gpu,
                    };
                    let line = format!("{} ({why})", evaluator.describe());
                    return Ok((evaluator, line));
                }
                Err(error) if self.choice == BackendChoice::Auto => why = error.to_string(),
                Err(error) => return Err(error),
            }
        }
        let evaluator = Box::new(CpuEvaluator::new(layout));
        let line = format!("{} ({why})", evaluator.describe());
        Ok((evaluator, line))
    }

    /// What goes on where a device failed: the CPU, unless the GPU was insisted on.
    pub fn replacement<'a>(&self, layout: &'a Layout) -> Option<Box<dyn Evaluator + 'a>> {
        (self.choice == BackendChoice::Auto)
            .then(|| Box::new(CpuEvaluator::new(layout)) as Box<dyn Evaluator>)
    }
}
