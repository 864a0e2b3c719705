//! The choice of a backend: a real GPU if there is one, else the CPU.

use std::sync::Arc;

use crate::device::{Stats, may_have_gpu};
use gputexel_dataset::Layout;
use gputexel_io::Result;

use crate::cpu::CpuEvaluator;
use crate::divided::{Divided, Division, ListedDevice, Speeds, Team, divide};
use crate::gpu::{AdapterSummary, BackendChoice, GpuContext, GpuEvaluator, GpuOptions, GpuProgramEvaluator};
use crate::{
    DeviceSteps, Evaluations, Evaluator, Fallback, FallbackEvaluator, Population, ProductRequest, Products,
    Request,
};

/// Called when an evaluator is dropped, with its description and its statistics, if it keeps any.
pub type StatsObserver = fn(&str, Option<Stats>);

/// Creates an evaluator for a layout.
type MakeEvaluator = dyn for<'l> Fn(&'l Layout) -> Result<Box<dyn Evaluator + 'l>> + Send + Sync;

/// An open backend, and the reason for its choice. Creates evaluators.
///
/// ```
/// use gputexel_eval::Backend;
/// use gputexel_eval::gpu::BackendChoice;
///
/// let backend = Backend::open(BackendChoice::Cpu)?.with_memory(None);
/// # Ok::<(), gputexel_io::Error>(())
/// ```
///
/// A custom evaluator can be used wherever a backend is accepted:
///
/// ```
/// use gputexel_eval::Backend;
/// use gputexel_eval::cpu::CpuEvaluator;
///
/// let backend = Backend::custom("mine", |layout| Ok(Box::new(CpuEvaluator::new(layout))));
/// ```
pub struct Backend {
    choice: BackendChoice,
    gpu: Option<GpuContext>,
    custom: Option<Box<MakeEvaluator>>,
    memory: Option<u64>,
    stats: Option<StatsObserver>,
    why: String,
    /// Several devices that share the work.
    devices: Vec<ListedDevice>,
    speeds: Speeds,
    team: Option<Arc<dyn Team>>,
}

impl Backend {
    /// Opens the chosen backend. With [`BackendChoice::Auto`] the CPU is used if there is no real GPU or it
    /// cannot be opened, and takes over if it fails later.
    ///
    /// # Errors
    /// [`Error::Gpu`](gputexel_io::Error::Gpu) when a GPU was requested and is not available.
    pub fn open(choice: BackendChoice) -> Result<Self> {
        Self::open_vetted(choice, |_| Ok(()))
    }

    /// As [`open`](Self::open), but a GPU that `vet` refuses is treated as one that cannot be opened.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open), and of `vet` when a GPU was requested.
    pub fn open_vetted(choice: BackendChoice, vet: impl Fn(&GpuContext) -> Result<()>) -> Result<Self> {
        let backend = |gpu, why| Ok(Self::new(choice, gpu, why));
        if choice == BackendChoice::Cpu {
            return backend(None, "requested".to_string());
        }
        if choice == BackendChoice::Auto && !may_have_gpu() {
            return backend(None, "this machine has no GPU".to_string());
        }
        let opened = GpuContext::try_chosen(choice);
        match opened.and_then(|(gpu, why)| gpu.as_ref().map_or(Ok(()), &vet).map(|()| (gpu, why))) {
            Ok((gpu, why)) => backend(gpu, why),
            Err(error) if choice == BackendChoice::Auto => backend(None, error.without_advice().to_string()),
            Err(error) => Err(error),
        }
    }

    /// Returns the given backend, or else one that is opened into `opened`: a real GPU if there is one, else the CPU.
    pub fn given_or_auto<'a>(given: Option<&'a Self>, opened: &'a mut Option<Self>) -> Result<&'a Self> {
        match given {
            Some(backend) => Ok(backend),
            None => Ok(opened.insert(Self::open(BackendChoice::Auto)?)),
        }
    }

    /// Creates a backend with custom evaluators; `why` is shown in addition to their
    /// [description](Evaluator::describe).
    pub fn custom(
        why: impl Into<String>,
        make: impl for<'l> Fn(&'l Layout) -> Result<Box<dyn Evaluator + 'l>> + Send + Sync + 'static,
    ) -> Self {
        let custom = Some(Box::new(make) as Box<MakeEvaluator>);
        Self { custom, ..Self::new(BackendChoice::Cpu, None, why.into()) }
    }

    fn new(choice: BackendChoice, gpu: Option<GpuContext>, why: String) -> Self {
        let (custom, memory, stats, team) = (None, None, None, None);
        let (devices, speeds) = (Vec::new(), Speeds::default());
        Self { choice, gpu, custom, memory, stats, why, devices, speeds, team }
    }

    /// Creates a backend of several devices, which share the [sections](Layout::sections) of a layout in proportion to
    /// the given shares, or to their speed. Results depend neither on their number nor on the assignment of sections,
    /// as long as all devices are of one kind.
    ///
    /// # Errors
    /// [`Error::Usage`](gputexel_io::Error::Usage) for no devices.
    pub fn several(choice: BackendChoice, devices: Vec<ListedDevice>) -> Result<Self> {
        if devices.is_empty() {
            return Err(gputexel_io::Error::Usage("no device is listed".to_string()));
        }
        Ok(Self { devices, ..Self::new(choice, None, "as listed".to_string()) })
    }

    /// Divides the sections of layouts among processes.
    #[must_use]
    pub fn with_team(mut self, team: Arc<dyn Team>) -> Self {
        self.team = Some(team);
        self
    }

    /// Creates an evaluator for some or all sections of a layout, without its [team](Self::with_team), that can return
    /// their sums.
    ///
    /// # Errors
    /// Errors of [`evaluator`](Self::evaluator).
    pub fn of_sections<'a>(&self, layout: &'a Layout) -> Result<Divided<'a>> {
        self.divided(layout, Division { own: layout.sections(), helpers: Vec::new(), idle: 0 })
    }

    /// Divides the sections that a division among processes leaves to this one among its devices.
    fn divided<'a>(&self, layout: &'a Layout, division: Division) -> Result<Divided<'a>> {
        let single = [ListedDevice { context: self.gpu.clone(), share: None }];
        let devices = if self.devices.is_empty() { &single[..] } else { &self.devices };
        let Division { own: sections, mut helpers, idle } = division;
        let local = divide(devices, &self.speeds, layout, sections, self.memory)?;
        helpers.extend(local.helpers);
        let falls_back = self.choice == BackendChoice::Auto;
        Ok(Divided::try_new(layout, local.own, helpers, falls_back)?.with_idle(idle + local.idle))
    }

    /// Limits the memory used on the GPU, in bytes; a dataset that takes more than half of it is streamed.
    #[must_use]
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Returns the adapter that computes; `None` for the CPU and for custom evaluators.
    pub fn adapter(&self) -> Option<&AdapterSummary> {
        self.gpu.as_ref().map(GpuContext::summary)
    }

    /// Makes every evaluator report its statistics when it is dropped.
    #[must_use]
    pub fn with_stats(mut self, observer: Option<StatsObserver>) -> Self {
        self.stats = observer;
        self
    }

    /// Creates an evaluator for the layout, and a line that describes it and the reason for its choice.
    ///
    /// # Errors
    /// [`Error::Gpu`](gputexel_io::Error::Gpu) when the GPU was requested and fails; with `auto` the CPU takes over,
    /// now or later. Errors of custom evaluators.
    pub fn evaluator<'a>(&self, layout: &'a Layout) -> Result<(Box<dyn Evaluator + 'a>, String)> {
        if self.team.is_some() || !self.devices.is_empty() {
            let division = match &self.team {
                Some(team) => team.divide(layout)?,
                None => Division { own: layout.sections(), helpers: Vec::new(), idle: 0 },
            };
            let evaluator = opened(self.stats, Box::new(self.divided(layout, division)?));
            let line = evaluator.describe();
            return Ok((evaluator, line));
        }
        let (mut why, stats) = (self.why.clone(), self.stats);
        let cpu = move || opened(stats, Box::new(CpuEvaluator::new(layout)));
        if let Some(context) = &self.gpu {
            let options = GpuOptions { memory_bytes: self.memory, ..GpuOptions::new(context) };
            let gpu: Result<Box<dyn Evaluator + 'a>> = match layout.program() {
                None => GpuEvaluator::with_options(context, layout, options).map(|gpu| Box::new(gpu) as _),
                Some(_) => {
                    GpuProgramEvaluator::with_options(context, layout, options).map(|gpu| Box::new(gpu) as _)
                }
            };
            match gpu {
                Ok(gpu) => {
                    let line = with_reason(&gpu.describe(), &why);
                    let gpu = opened(stats, gpu);
                    return Ok(match self.choice {
                        BackendChoice::Auto => (Box::new(FallbackEvaluator::new(gpu, cpu)), line),
                        _ => (gpu, line),
                    });
                }
                Err(error) if self.choice == BackendChoice::Auto => why = error.to_string(),
                Err(error) => return Err(error),
            }
        }
        let evaluator = match &self.custom {
            Some(make) => opened(stats, make(layout)?),
            None => cpu(),
        };
        let line = with_reason(&evaluator.describe(), &why);
        Ok((evaluator, line))
    }
}

/// Returns the description and the reason, in at most one pair of parentheses.
fn with_reason(description: &str, why: &str) -> String {
    match description.strip_suffix(')') {
        Some(open) => format!("{open}; {why})"),
        None => format!("{description} ({why})"),
    }
}

fn opened<'a>(stats: Option<StatsObserver>, evaluator: Box<dyn Evaluator + 'a>) -> Box<dyn Evaluator + 'a> {
    Box::new(Opened { evaluator, stats })
}

/// An evaluator whose answers are checked, and that reports its statistics when dropped, if requested.
struct Opened<'a> {
    evaluator: Box<dyn Evaluator + 'a>,
    stats: Option<StatsObserver>,
}

impl Evaluator for Opened<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        let mut answer = self.evaluator.evaluate(population, request)?;
        request.check(population, &mut answer)?;
        Ok(answer)
    }

    fn products(&mut self, population: &Population, request: &ProductRequest) -> Result<Products> {
        let answer = self.evaluator.products(population, request)?;
        answer.check(population, request)?;
        Ok(answer)
    }

    fn describe(&self) -> String {
        self.evaluator.describe()
    }

    fn device_steps(&mut self) -> Option<&mut dyn DeviceSteps> {
        self.evaluator.device_steps()
    }

    fn stats(&self) -> Option<Stats> {
        self.evaluator.stats()
    }

    fn take_fallback(&mut self) -> Option<Fallback> {
        self.evaluator.take_fallback()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.stats {
            observer(&self.evaluator.describe(), self.evaluator.stats());
        }
    }
}
