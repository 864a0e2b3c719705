//! The open device, its limits and its kernels, and conversion of its failures to [`Error::Gpu`] instead of a panic.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::{
    Adapter, ComputePipeline, Device, DeviceDescriptor, Features, Limits, Queue, ShaderRuntimeChecks,
};

use super::adapter::{AdapterSummary, BackendChoice, NO_ADAPTER, adapters, kernel_limits, summaries};
use super::timer::{ANSWER_TIMEOUT, Timer};
use gputexel_io::{Error, Result};

/// Switches the run-time checks of kernels on (`1`) or off (`0`), regardless of the build.
const CHECKS_VARIABLE: &str = "GPUTEXEL_SHADER_CHECKS";

thread_local! {
    /// The first error of the work that this thread guards; outer `None`: it guards nothing.
    static GUARDED: RefCell<Option<Option<wgpu::Error>>> = const { RefCell::new(None) };
}

#[derive(Clone, Debug)]
pub struct GpuContext {
    device: Device,
    queue: Queue,
    summary: AdapterSummary,
    failure: Arc<Mutex<Option<String>>>,
    pipelines: Arc<Pipelines>,
    /// True if trusted kernels are compiled with run-time checks, too.
    checks: bool,
    timer: Option<Arc<Timer>>,
}

impl GpuContext {
    /// Opens the preferred adapter: discrete, integrated, virtual, other; a software adapter only if `allow_software`.
    pub fn try_new(allow_software: bool) -> Result<Self> {
        Self::open(allow_software, kernel_limits)
    }

    /// Opens the adapter that a choice selects, and returns the reason; `None`, with the reason, for the CPU.
    pub(crate) fn try_chosen(choice: BackendChoice) -> Result<(Option<Self>, String)> {
        let adapters = adapters();
        let summaries = summaries(&adapters);
        match choice.pick(&summaries) {
            (Some(index), why) => Ok((Some(Self::request(&adapters[index], kernel_limits)?), why)),
            (None, _) if choice == BackendChoice::Gpu => Err(none_of(&summaries)),
            (None, why) => Ok((None, why)),
        }
    }

    pub fn try_at(index: usize) -> Result<Self> {
        let adapters = adapters();
        let Some(adapter) = adapters.get(index) else {
            return Err(Error::Gpu(format!("there are {} adapters, none of number {index}", adapters.len())));
        };
        let summary = AdapterSummary::new(&adapter.get_info(), &adapter.limits());
        match summary.unusable {
            Some(why) => Err(Error::Gpu(format!("{} cannot be used: {why}", summary.name))),
            None => Self::request(adapter, kernel_limits),
        }
    }

    /// As [`try_new`](Self::try_new), but with only the limits that WebGPU guarantees everywhere.
    pub fn with_default_limits(allow_software: bool) -> Result<Self> {
        Self::open(allow_software, |_| Limits::default())
    }

    fn open(allow_software: bool, wanted: impl Fn(&Limits) -> Limits) -> Result<Self> {
        let adapters = adapters();
        let summaries = summaries(&adapters);
        let choice = if allow_software { BackendChoice::Gpu } else { BackendChoice::Auto };
        match choice.pick(&summaries) {
            (Some(index), _) => Self::request(&adapters[index], wanted),
            (None, _) => Err(none_of(&summaries)),
        }
    }

    fn request(adapter: &Adapter, wanted: impl Fn(&Limits) -> Limits) -> Result<Self> {
        let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor {
            label: Some("gputexel"),
            // For benchmarks; costs nothing unless there is a timer.
            required_features: adapter.features() & Features::TIMESTAMP_QUERY,
            required_limits: wanted(&adapter.limits()),
            ..Default::default()
        }))
        .map_err(|error| Error::Gpu(format!("{}: {}", adapter.get_info().name, one_line(&error))))?;
        Ok(Self::from_device(device, queue))
    }

    pub fn from_device(device: Device, queue: Queue) -> Self {
        let failure = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&failure);
        device.set_device_lost_callback(move |reason, message| {
            let message = if message.is_empty() { format!("{reason:?}").to_lowercase() } else { message };
            note(&slot, format!("device lost: {}", message.lines().next().unwrap_or_default()));
        });
        let slot = Arc::clone(&failure);
        // Called on the thread that made the mistake, before the faulty call returns. Scopes would do the same at the
        // cost of three, one for each kind of error, around every call.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            let unguarded = GUARDED.with_borrow_mut(|guarded| match guarded {
                Some(first) => {
                    first.get_or_insert(error);
                    None
                }
                None => Some(error),
            });
            if let Some(error) = unguarded {
                note(&slot, one_line(&error));
            }
        }));
        let summary = AdapterSummary::new(&device.adapter_info(), &device.limits());
        let checks = match std::env::var(CHECKS_VARIABLE).as_deref() {
            Ok("0") => false,
            Ok("1") => true,
            _ => cfg!(debug_assertions),
        };
        Self { device, queue, summary, failure, pipelines: Arc::default(), checks, timer: None }
    }

    /// Returns the same device, whose [trusted kernels](Self::trusted_pipeline) are compiled from now on with or
    /// without run-time checks.
    #[must_use]
    pub fn with_shader_checks(mut self, checks: bool) -> Self {
        self.checks = checks;
        self
    }

    #[must_use]
    pub(crate) fn with_timer(mut self) -> Self {
        self.timer = Timer::new(&self.device, &self.queue).map(Arc::new);
        self
    }

    pub(crate) fn timer(&self) -> Option<&Timer> {
        self.timer.as_deref()
    }

    /// Returns the seconds that kernels ran since the last call; `None` without a [timer](Self::with_timer), or if
    /// there were too many to be timed.
    pub(crate) fn take_kernel_seconds(&self) -> Result<Option<f64>> {
        self.timer.as_ref().map_or(Ok(None), |timer| timer.take(&self.device, &self.queue))
    }

    pub fn summary(&self) -> &AdapterSummary {
        &self.summary
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    pub fn check(&self) -> Result<()> {
        // A loss is only reported when polling.
        let _ = self.device.poll(wgpu::PollType::Poll);
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.as_ref().map_or(Ok(()), |message| Err(Error::Gpu(message.clone())))
    }

    /// Returns the pipeline of a kernel, compiled if necessary, and true if it was compiled now. It has no checks of
    /// indices and no bounds on loops, unless the context [enables them](Self::with_shader_checks) for all kernels.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device rejects the kernel.
    ///
    /// # Safety
    /// In every dispatch each index must be inside its buffer or array, and each loop must end.
    pub unsafe fn trusted_pipeline(&self, kernel: &KernelSource<'_>) -> Result<(ComputePipeline, bool)> {
        let checks = ShaderRuntimeChecks {
            bounds_checks: self.checks,
            force_loop_bounding: self.checks,
            ..ShaderRuntimeChecks::checked()
        };
        // SAFETY: as the caller promises.
        let compile = || unsafe { compile(&self.device, kernel, checks) };
        self.pipelines.get(kernel, self.checks, || self.guard(compile))
    }

    /// Runs `work` and turns errors that the device reports for it into an error.
    pub fn guard<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.guard_memory(work)?.ok_or_else(|| Error::Gpu(format!("{} is out of memory", self.summary.name)))
    }

    /// As [`guard`](Self::guard), but `None` if the device is out of memory.
    pub(crate) fn guard_memory<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        let guard = Guard { outer: GUARDED.replace(Some(None)) };
        let value = work();
        let first = GUARDED.with_borrow_mut(|guarded| guarded.as_mut().and_then(Option::take));
        drop(guard);
        if first.is_some() {
            self.check()?;
        }
        match first {
            None => Ok(Some(value)),
            Some(wgpu::Error::OutOfMemory { .. }) => Ok(None),
            Some(error) => Err(Error::Gpu(one_line(&error))),
        }
    }

    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<()> {
        let poll = wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(ANSWER_TIMEOUT) };
        let outcome = self.device.poll(poll);
        if outcome.is_err() {
            self.check()?;
        }
        outcome.map(|_| ()).map_err(|error| match error {
            wgpu::PollError::Timeout => {
                Error::Gpu(format!("{} gave no answer in {ANSWER_TIMEOUT:?}", self.summary.name))
            }
            other => Error::Gpu(one_line(&other)),
        })
    }
}

/// Source of a pipeline; its entry point is `main`.
#[derive(Clone, Copy, Debug)]
pub struct KernelSource<'a> {
    pub name: &'a str,
    pub source: &'a str,
    pub constants: &'a [(&'a str, f64)],
}

/// Source, constants as bits, and whether checks are compiled in.
type Key = (String, Vec<(String, u64)>, bool);

#[derive(Debug, Default)]
struct Pipelines {
    compiled: Mutex<HashMap<Key, ComputePipeline>>,
}

impl Pipelines {
    /// Returns the pipeline of a kernel, and true if it had to be compiled. Other callers wait meanwhile, so that none
    /// is compiled twice.
    fn get(
        &self,
        kernel: &KernelSource<'_>,
        checked: bool,
        compile: impl FnOnce() -> Result<ComputePipeline>,
    ) -> Result<(ComputePipeline, bool)> {
        let constants = kernel.constants.iter().map(|(name, value)| (name.to_string(), value.to_bits()));
        let key = (kernel.source.to_string(), constants.collect(), checked);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = compiled.get(&key) {
            return Ok((pipeline.clone(), false));
        }
        let pipeline = compile()?;
        compiled.insert(key, pipeline.clone());
        Ok((pipeline, true))
    }
}

/// # Safety
/// Unchecked conditions must hold: see [`GpuContext::trusted_pipeline`].
unsafe fn compile(
    device: &Device,
    kernel: &KernelSource<'_>,
    checks: ShaderRuntimeChecks,
) -> ComputePipeline {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(kernel.name),
        source: wgpu::ShaderSource::Wgsl(kernel.source.into()),
    };
    // SAFETY: as the caller promises.
    let module = unsafe { device.create_shader_module_trusted(descriptor, checks) };
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.name),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: kernel.constants,
            // Every element is written before it is read.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    })
}

/// Restores what a thread guarded before, whatever happens to the work.
struct Guard {
    outer: Option<Option<wgpu::Error>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDED.set(self.outer.take());
    }
}

fn none_of(adapters: &[AdapterSummary]) -> Error {
    Error::Gpu(match adapters.first() {
        None => format!("no adapter: {NO_ADAPTER}"),
        Some(AdapterSummary { name, unusable: Some(why), .. }) => {
            format!("no adapter: '{name}' cannot be used: {why}")
        }
        Some(first) => format!(
            "no adapter: only the software adapter '{}' was found, which is slower than the CPU",
            first.name
        ),
    })
}

fn note(slot: &Mutex<Option<String>>, message: String) {
    slot.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
}

/// Formats an error with its causes on one line; drivers and validators like to draw pictures.
fn one_line(error: &dyn std::error::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        for line in error.to_string().lines().map(str::trim).filter(|line| !line.is_empty()) {
            // A cause is often part of what it caused.
            if !parts.iter().any(|part| part.contains(line)) {
                parts.push(line.trim_end_matches(':').to_string());
            }
        }
        next = error.source();
    }
    parts.truncate(4);
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_go_to_the_guard_of_their_thread_and_others_are_remembered() {
        let (device, queue) = Device::noop(&DeviceDescriptor::default());
        let context = GpuContext::from_device(device, queue);
        let buffer = |bytes| {
            let usage = wgpu::BufferUsages::STORAGE;
            let size = bytes;
            context.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let outer = context.guard(|| {
            let inner = context.guard(|| buffer(u64::MAX / 2)).unwrap_err().to_string();
            assert!(inner.starts_with("GPU: ") && inner.lines().count() == 1, "{inner}");
        });
        outer.unwrap();
        context.guard(|| buffer(16)).unwrap();
        context.check().unwrap();
        buffer(u64::MAX / 2);
        let first = context.check().unwrap_err().to_string();
        assert!(first.contains("9223372036854775807"), "{first}");
    }
}
