//! The choice of a backend: a real GPU if there is one, else the CPU.

use std::sync::Arc;

use crate::device::may_have_gpu;
use gputexel_dataset::Layout;
use gputexel_io::{Error, Result};

use crate::Evaluator;
use crate::cpu::CpuEvaluator;
use crate::divided::{Divided, Division, ListedDevice, Speeds, Team, divide};
use crate::fallback::{FallbackEvaluator, MakeFallback, StatsObserver};
use crate::gpu::{self, AdapterSummary, BackendChoice, GpuContext, GpuOptions};

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
    devices: Devices,
    why: String,
    memory: Option<u64>,
    stats: Option<StatsObserver>,
    speeds: Speeds,
    team: Option<Arc<dyn Team>>,
}

enum Devices {
    Cpu,
    Gpu(GpuContext),
    Several(Vec<ListedDevice>),
    Custom(Box<MakeEvaluator>),
}

impl Backend {
    pub fn open(choice: BackendChoice) -> Result<Self> {
        Self::open_vetted(choice, |_| Ok(()))
    }

    pub(crate) fn open_vetted(
        choice: BackendChoice,
        vet: impl Fn(&GpuContext) -> Result<()>,
    ) -> Result<Self> {
        let backend =
            |gpu: Option<GpuContext>, why| Ok(Self::new(choice, gpu.map_or(Devices::Cpu, Devices::Gpu), why));
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
        Self::new(BackendChoice::Cpu, Devices::Custom(Box::new(make)), why.into())
    }

    fn new(choice: BackendChoice, devices: Devices, why: String) -> Self {
        Self { choice, devices, why, memory: None, stats: None, speeds: Speeds::default(), team: None }
    }

    /// Creates a backend of several devices, which share the [sections](Layout::sections) of a layout in proportion to
    /// the given shares, or to their speed.
    ///
    /// # Errors
    /// [`Error::Usage`] for no devices.
    pub fn several(choice: BackendChoice, devices: Vec<ListedDevice>) -> Result<Self> {
        if devices.is_empty() {
            return Err(Error::Usage("no device is listed".to_string()));
        }
        Ok(Self::new(choice, Devices::Several(devices), "as listed".to_string()))
    }

    #[must_use]
    pub fn with_team(mut self, team: Arc<dyn Team>) -> Self {
        self.team = Some(team);
        self
    }

    /// Creates an evaluator for some or all sections of a layout, without its [team](Self::with_team), that can return
    /// their sums.
    pub fn of_sections<'a>(&self, layout: &'a Layout) -> Result<Divided<'a>> {
        self.divided(layout, Division { own: layout.sections(), helpers: Vec::new(), idle: 0 })
    }

    /// Divides the sections that a division among processes leaves to this one among its devices.
    fn divided<'a>(&self, layout: &'a Layout, division: Division) -> Result<Divided<'a>> {
        let single = [ListedDevice { context: self.gpu().cloned(), share: None }];
        let devices = if let Devices::Several(devices) = &self.devices { &devices[..] } else { &single };
        let Division { own: sections, mut helpers, idle } = division;
        let local = divide(devices, &self.speeds, layout, sections, self.memory)?;
        helpers.extend(local.helpers);
        let falls_back = self.choice == BackendChoice::Auto;
        let mut divided = Divided::try_new(layout, local.own, helpers, falls_back)?;
        divided.idle = idle + local.idle;
        Ok(divided)
    }

    /// Limits the memory used on the GPU, in bytes; a dataset that takes more than half of it is streamed.
    #[must_use]
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Returns the adapter that computes; `None` for the CPU and for custom evaluators.
    pub fn adapter(&self) -> Option<&AdapterSummary> {
        self.gpu().map(GpuContext::summary)
    }

    fn gpu(&self) -> Option<&GpuContext> {
        if let Devices::Gpu(context) = &self.devices { Some(context) } else { None }
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
    /// [`Error::Gpu`] when the GPU was requested and fails; with `auto` the CPU takes over, now or later. Errors of
    /// custom evaluators.
    pub fn evaluator<'a>(&self, layout: &'a Layout) -> Result<(Box<dyn Evaluator + 'a>, String)> {
        let cpu = || -> Box<dyn Evaluator + 'a> { Box::new(CpuEvaluator::new(layout)) };
        let mut why = Some(self.why.clone());
        let mut fallback: Option<MakeFallback<'a>> = None;
        let evaluator: Box<dyn Evaluator + 'a> = match (&self.team, &self.devices) {
            (Some(_), _) | (None, Devices::Several(_)) => {
                let division = match &self.team {
                    Some(team) => team.divide(layout)?,
                    None => Division { own: layout.sections(), helpers: Vec::new(), idle: 0 },
                };
                why = None;
                Box::new(self.divided(layout, division)?)
            }
            (None, Devices::Gpu(context)) => {
                let options = GpuOptions { memory_bytes: self.memory, ..GpuOptions::new(context) };
                match (gpu::open(context, layout, options), self.choice) {
                    (Ok(gpu), choice) => {
                        fallback = (choice == BackendChoice::Auto).then(|| Box::new(cpu) as _);
                        gpu
                    }
                    (Err(error), BackendChoice::Auto) => {
                        why = Some(error.to_string());
                        cpu()
                    }
                    (Err(error), _) => return Err(error),
                }
            }
            (None, Devices::Custom(make)) => make(layout)?,
            (None, Devices::Cpu) => cpu(),
        };
        let description = evaluator.describe();
        let line = why.map_or_else(|| description.clone(), |why| with_reason(&description, &why));
        Ok((Box::new(FallbackEvaluator::open(evaluator, fallback, self.stats)), line))
    }
}

fn with_reason(description: &str, why: &str) -> String {
    match description.strip_suffix(')') {
        Some(open) => format!("{open}; {why})"),
        None => format!("{description} ({why})"),
    }
}
