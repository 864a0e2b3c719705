//! Adapters and the device: which GPU is used and why, its limits, and how its failures become
//! [`Error::Gpu`] instead of a panic. Knows nothing of datasets or kernels.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use wgpu::{
    Adapter, AdapterInfo, Backends, Device, DeviceDescriptor, DeviceType, ErrorFilter, Instance,
    InstanceDescriptor, Limits, Queue,
};

use gputexel_files::{Error, Result};

/// How long one slice may take before the device counts as hung. Slices are cut to well under a
/// second; a software adapter on a busy machine is what needs the rest.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Which backend a user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// A real GPU where there is one, otherwise the CPU.
    #[default]
    Auto,
    /// The GPU, or a software adapter where there is no GPU.
    Gpu,
    /// The CPU.
    Cpu,
}

impl std::str::FromStr for BackendChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu),
            "cpu" => Ok(Self::Cpu),
            _ => Err(Error::Usage(format!("backend '{text}': expected auto, gpu or cpu"))),
        }
    }
}

impl std::fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
        })
    }
}

impl BackendChoice {
    /// The adapter that this choice takes from a list, and why, in a phrase; `None` for the CPU
    /// backend, or for [`Self::Gpu`] on a machine without any adapter.
    pub fn pick(self, adapters: &[AdapterSummary]) -> (Option<usize>, String) {
        if self == Self::Cpu {
            return (None, "the CPU was asked for".into());
        }
        let best = (0..adapters.len()).min_by_key(|&i| (adapters[i].rank(), i));
        match best {
            None if self == Self::Auto => (None, "no GPU adapter was found".into()),
            None => (None, "there is no GPU adapter to use".into()),
            Some(i) if !adapters[i].software => {
                (Some(i), format!("it is the first {} in order of preference", adapters[i].kind))
            }
            Some(_) if self == Self::Auto => (None, "only a software adapter was found".into()),
            Some(i) => (Some(i), "there is no real GPU; a software adapter is slower than the CPU".into()),
        }
    }
}

/// What there is to know about an adapter before it is opened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdapterSummary {
    /// Its name as its driver gives it.
    pub name: String,
    /// The programming interface behind it: `vulkan`, `metal` or `dx12`.
    pub backend: String,
    /// `discrete GPU`, `integrated GPU`, `virtual GPU`, `other` or `software`.
    pub kind: String,
    /// Whether it is a program that runs on the CPU.
    pub software: bool,
    /// Driver and version.
    pub driver: String,
    /// Largest buffer, bytes.
    pub max_buffer_bytes: u64,
    /// Largest part of a buffer that a kernel sees, bytes.
    pub max_binding_bytes: u64,
    /// Workgroup memory, bytes.
    pub workgroup_memory_bytes: u32,
    /// Threads a workgroup.
    pub workgroup_threads: u32,
    /// Least and largest subgroup size.
    pub subgroup_sizes: (u32, u32),
}

impl AdapterSummary {
    fn new(info: &AdapterInfo, limits: &Limits) -> Self {
        Self {
            name: info.name.clone(),
            backend: info.backend.to_str().to_string(),
            kind: kind_name(info.device_type).to_string(),
            software: info.device_type == DeviceType::Cpu,
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_string(),
            max_buffer_bytes: limits.max_buffer_size,
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            workgroup_memory_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_threads: limits.max_compute_invocations_per_workgroup,
            subgroup_sizes: (info.subgroup_min_size, info.subgroup_max_size),
        }
    }

    fn rank(&self) -> usize {
        KINDS.iter().position(|&(_, name)| name == self.kind).unwrap_or(KINDS.len())
    }
}

/// Adapter types in order of preference.
const KINDS: [(DeviceType, &str); 5] = [
    (DeviceType::DiscreteGpu, "discrete GPU"),
    (DeviceType::IntegratedGpu, "integrated GPU"),
    (DeviceType::VirtualGpu, "virtual GPU"),
    (DeviceType::Other, "other"),
    (DeviceType::Cpu, "software"),
];

fn kind_name(kind: DeviceType) -> &'static str {
    KINDS.iter().find(|&&(k, _)| k == kind).map_or("other", |&(_, name)| name)
}

/// Native backends only: OpenGL has neither the limits nor the speed.
const BACKENDS: Backends = Backends::VULKAN.union(Backends::METAL).union(Backends::DX12);

// Mesa's device-select layer tries to reach a Wayland display from here, and says so on standard
// error where there is none ("XDG_RUNTIME_DIR is invalid"); NODEVICE_SELECT=1 keeps it quiet.
fn adapters() -> Vec<Adapter> {
    let instance = Instance::new(InstanceDescriptor {
        backends: BACKENDS,
        ..InstanceDescriptor::new_without_display_handle()
    });
    pollster::block_on(instance.enumerate_adapters(BACKENDS))
}

/// All adapters of this machine, software ones included.
pub fn list_adapters() -> Vec<AdapterSummary> {
    adapters().iter().map(|adapter| AdapterSummary::new(&adapter.get_info(), &adapter.limits())).collect()
}

/// An open device and its queue. Cheap to clone; clones share the device.
#[derive(Clone, Debug)]
pub struct GpuContext {
    device: Device,
    queue: Queue,
    summary: AdapterSummary,
    /// Why the device was lost, or an error that no scope caught.
    failure: Arc<Mutex<Option<String>>>,
}

impl GpuContext {
    /// Opens the preferred adapter: discrete, integrated, virtual, other; a software adapter only
    /// where `allow_software`. Buffers may be as large as the adapter allows.
    ///
    /// # Errors
    /// [`Error::Gpu`] when there is no such adapter or its driver refuses.
    pub fn try_new(allow_software: bool) -> Result<Self> {
        Self::open(allow_software, |limits| Limits {
            max_buffer_size: limits.max_buffer_size,
            max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
            ..Limits::default()
        })
    }

    /// As [`try_new`](Self::try_new), but with no more than WebGPU promises everywhere.
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new).
    pub fn with_default_limits(allow_software: bool) -> Result<Self> {
        Self::open(allow_software, |_| Limits::default())
    }

    fn open(allow_software: bool, wanted: impl Fn(&Limits) -> Limits) -> Result<Self> {
        let adapters = adapters();
        let summaries: Vec<_> =
            adapters.iter().map(|a| AdapterSummary::new(&a.get_info(), &a.limits())).collect();
        let choice = if allow_software { BackendChoice::Gpu } else { BackendChoice::Auto };
        let (Some(index), _) = choice.pick(&summaries) else {
            return Err(Error::Gpu(match summaries.first() {
                None => "no adapter: no driver for Vulkan, Metal or Direct3D 12 was found".into(),
                Some(first) => format!(
                    "no adapter: only the software adapter '{}' was found, which is slower than the CPU",
                    first.name
                ),
            }));
        };
        let (device, queue) = pollster::block_on(adapters[index].request_device(&DeviceDescriptor {
            label: Some("gputexel"),
            required_limits: wanted(&adapters[index].limits()),
            ..Default::default()
        }))
        .map_err(|error| Error::Gpu(format!("{}: {}", summaries[index].name, one_line(&error))))?;
        Ok(Self::from_device(device, queue))
    }

    /// Wraps a device that was opened elsewhere.
    pub fn from_device(device: Device, queue: Queue) -> Self {
        let failure = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&failure);
        device.set_device_lost_callback(move |reason, message| {
            let message = if message.is_empty() { format!("{reason:?}").to_lowercase() } else { message };
            note(&slot, format!("device lost: {}", message.lines().next().unwrap_or_default()));
        });
        let slot = Arc::clone(&failure);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| note(&slot, one_line(&error))));
        let summary = AdapterSummary::new(&device.adapter_info(), &device.limits());
        Self { device, queue, summary, failure }
    }

    /// The adapter, with the limits that hold on this device.
    pub fn summary(&self) -> &AdapterSummary {
        &self.summary
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Whether the device still works.
    ///
    /// # Errors
    /// [`Error::Gpu`] when it was lost, or failed where nobody could be told.
    pub fn check(&self) -> Result<()> {
        // A loss is told to those who ask.
        let _ = self.device.poll(wgpu::PollType::Poll);
        let failure = self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        failure.as_ref().map_or(Ok(()), |message| Err(Error::Gpu(message.clone())))
    }

    /// Runs `work` and turns what the device finds wrong with it into an error.
    ///
    /// # Errors
    /// [`Error::Gpu`] with the first line of the device's own complaint.
    pub fn guard<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        self.guard_memory(work)?.ok_or_else(|| Error::Gpu(format!("{} is out of memory", self.summary.name)))
    }

    /// As [`guard`](Self::guard), but `None` where the device has no memory left.
    ///
    /// # Errors
    /// As [`guard`](Self::guard), but for memory that runs out.
    pub fn guard_memory<T>(&self, work: impl FnOnce() -> T) -> Result<Option<T>> {
        let filters = [ErrorFilter::Internal, ErrorFilter::OutOfMemory, ErrorFilter::Validation];
        let mut scopes: Vec<_> = filters.map(|filter| self.device.push_error_scope(filter)).into();
        let value = work();
        let mut first = None;
        // Scopes nest: the last one pushed is the first one popped.
        while let Some(scope) = scopes.pop() {
            first = first.or(pollster::block_on(scope.pop()));
        }
        if first.is_some() {
            self.check()?;
        }
        match first {
            None => Ok(Some(value)),
            Some(wgpu::Error::OutOfMemory { .. }) => Ok(None),
            Some(error) => Err(Error::Gpu(one_line(&error))),
        }
    }

    /// Waits until a submission is done.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device is lost or does not answer.
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

fn note(slot: &Mutex<Option<String>>, message: String) {
    slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(message);
}

/// An error with its causes on one line; drivers and validators like to draw pictures.
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

    fn summary(kind: &str) -> AdapterSummary {
        AdapterSummary {
            name: kind.into(),
            backend: "vulkan".into(),
            kind: kind.into(),
            software: kind == "software",
            driver: String::new(),
            max_buffer_bytes: 0,
            max_binding_bytes: 0,
            workgroup_memory_bytes: 0,
            workgroup_threads: 0,
            subgroup_sizes: (0, 0),
        }
    }

    #[test]
    fn software_is_never_chosen_silently() {
        let all = ["software", "integrated GPU", "discrete GPU", "discrete GPU"].map(summary);
        assert_eq!(BackendChoice::Auto.pick(&all).0, Some(2));
        assert_eq!(BackendChoice::Auto.pick(&all[..2]).0, Some(1));
        assert_eq!(BackendChoice::Auto.pick(&all[..1]).0, None);
        assert_eq!(BackendChoice::Gpu.pick(&all[..1]).0, Some(0));
        assert_eq!(BackendChoice::Gpu.pick(&[]).0, None);
        assert_eq!(BackendChoice::Cpu.pick(&all).0, None);
    }
}
