//! The open device, its limits, and how its failures become [`Error::Gpu`] instead of a panic. Knows
//! nothing of datasets or kernels.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wgpu::{Device, DeviceDescriptor, ErrorFilter, Limits, Queue};

use super::adapter::{AdapterSummary, BackendChoice, adapters, kernel_limits};
use gputexel_files::{Error, Result};

/// How long one slice may take before the device counts as hung. Slices are cut to well under a
/// second; a software adapter on a busy machine is what needs the rest.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

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
    /// where `allow_software`. Buffers and workgroup memory may be as large as the adapter allows.
    ///
    /// # Errors
    /// [`Error::Gpu`] when there is no such adapter or its driver refuses.
    pub fn try_new(allow_software: bool) -> Result<Self> {
        Self::open(allow_software, kernel_limits)
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
                Some(AdapterSummary { name, unusable: Some(why), .. }) => {
                    format!("no adapter: '{name}' cannot be used: {why}")
                }
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
