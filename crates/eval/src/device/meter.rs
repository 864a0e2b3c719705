//! The device as one evaluator uses it: every buffer, transfer, dispatch and submission is guarded, counted, and
//! subject to a memory limit here.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use wgpu::{BindGroup, BufferBinding, BufferUsages, CommandEncoder, ComputePipeline};

use super::GpuContext;
use super::context::KernelSource;
use super::timer::Timer;
use gputexel_io::{Error, Result};

/// Bytes per piece of an upload, and bytes that may wait for a submission: the host holds a second copy of them.
const PIECE: usize = 32 << 20;

const CONVERTED: usize = 1 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    pub dispatches: u64,
    pub submissions: u64,
    pub waits: u64,
    pub pipelines: u64,
    pub bind_groups: u64,
    pub bytes_up: u64,
    /// Bytes fetched from the device.
    pub bytes_down: u64,
    /// Maximum bytes of buffers at any time.
    pub peak_bytes: u64,
    /// Seconds that the host waited for the device.
    pub seconds: f64,
}

impl Stats {
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            dispatches: self.dispatches + other.dispatches,
            submissions: self.submissions + other.submissions,
            waits: self.waits + other.waits,
            pipelines: self.pipelines + other.pipelines,
            bind_groups: self.bind_groups + other.bind_groups,
            bytes_up: self.bytes_up + other.bytes_up,
            bytes_down: self.bytes_down + other.bytes_down,
            peak_bytes: self.peak_bytes + other.peak_bytes,
            seconds: self.seconds + other.seconds,
        }
    }
}

impl std::fmt::Display for Stats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "{} dispatches in {} submissions, {:.1} MiB up, {:.1} MiB down, at most {:.1} MiB held, {} waits of {:.2} s",
            self.dispatches,
            self.submissions,
            mib(self.bytes_up),
            mib(self.bytes_down),
            mib(self.peak_bytes),
            self.waits,
            self.seconds
        )
    }
}

#[derive(Debug, Default)]
struct Counted {
    stats: Stats,
    used: u64,
    /// Bytes of writes that wait for a submission.
    queued: u64,
    refused: bool,
}

const MAX_BIND_GROUPS: usize = 4096;

/// Key of a bind group: its kernel, and for each binding the buffer, the offset and the size.
type Bound = (ComputePipeline, Vec<(wgpu::Buffer, u64, Option<NonZeroU64>)>);

#[derive(Debug, Default)]
struct Shared {
    counted: Mutex<Counted>,
    bind_groups: Mutex<HashMap<Bound, BindGroup>>,
}

impl Shared {
    fn count<T>(&self, change: impl FnOnce(&mut Counted) -> T) -> T {
        change(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn bind_groups(&self) -> MutexGuard<'_, HashMap<Bound, BindGroup>> {
        self.bind_groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A device with its counters, its bind groups and its limit; clones share all but the limit.
#[derive(Clone, Debug)]
pub struct Gpu {
    context: GpuContext,
    shared: Arc<Shared>,
    limit: Option<u64>,
}

/// A buffer that returns its bytes to the limit when it is dropped.
#[derive(Debug)]
pub struct DeviceBuffer {
    buffer: wgpu::Buffer,
    shared: Arc<Shared>,
}

impl DeviceBuffer {
    pub fn raw(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        // Bind groups would keep its memory.
        self.shared
            .bind_groups()
            .retain(|(_, bound), _| bound.iter().all(|(buffer, ..)| *buffer != self.buffer));
        self.shared.count(|counted| counted.used -= self.buffer.size());
    }
}

impl Gpu {
    /// Creates a device whose buffers may take `limit` bytes together; `None` for no limit.
    pub fn new(context: &GpuContext, limit: Option<u64>) -> Self {
        Self { context: context.clone(), shared: Arc::default(), limit }
    }

    pub fn context(&self) -> &GpuContext {
        &self.context
    }

    #[cfg(test)]
    pub(crate) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    pub fn used(&self) -> u64 {
        self.shared.count(|counted| counted.used)
    }

    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.limit.is_none_or(|limit| self.used() + bytes <= limit)
    }

    pub(crate) fn take_refusal(&self) -> bool {
        self.shared.count(|counted| std::mem::take(&mut counted.refused))
    }

    pub fn stats(&self) -> Stats {
        self.shared.count(|counted| counted.stats)
    }

    pub(crate) fn count_down(&self, bytes: u64) {
        self.shared.count(|counted| counted.stats.bytes_down += bytes);
    }

    pub fn allocate(&self, label: &str, bytes: u64, usage: BufferUsages) -> Result<DeviceBuffer> {
        let bytes = bytes.max(16).next_multiple_of(16);
        let used = self.used();
        if self.limit.is_some_and(|limit| used + bytes > limit) {
            return Err(self.refuse(format!(
                "{label} of {bytes} bytes beside {used} exceed the {} bytes allowed",
                self.limit.unwrap_or(0)
            )));
        }
        let descriptor =
            wgpu::BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation: false };
        match self.context.guard_memory(|| self.context.device().create_buffer(&descriptor))? {
            Some(buffer) => {
                self.shared.count(|counted| {
                    counted.used += bytes;
                    counted.stats.peak_bytes = counted.stats.peak_bytes.max(counted.used);
                });
                Ok(DeviceBuffer { buffer, shared: Arc::clone(&self.shared) })
            }
            None => Err(self.refuse(format!(
                "{} is out of memory: {label} of {bytes} bytes beside {used}",
                self.context.summary().name
            ))),
        }
    }

    fn refuse(&self, why: String) -> Error {
        self.shared.count(|counted| counted.refused = true);
        Error::Gpu(why)
    }

    fn guard<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        let out = || self.refuse(format!("{} is out of memory", self.context.summary().name));
        self.context.guard_memory(work)?.ok_or_else(out)
    }

    /// Returns the pipeline of a kernel, without run-time checks: see [`GpuContext::trusted_pipeline`].
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device rejects the kernel.
    ///
    /// # Safety
    /// As [`GpuContext::trusted_pipeline`].
    pub unsafe fn trusted_pipeline(&self, kernel: &KernelSource<'_>) -> Result<ComputePipeline> {
        // SAFETY: as the caller promises.
        let (pipeline, compiled) = unsafe { self.context.trusted_pipeline(kernel)? };
        self.shared.count(|counted| counted.stats.pipelines += u64::from(compiled));
        Ok(pipeline)
    }

    fn count_up(&self, bytes: u64) {
        self.shared.count(|counted| {
            counted.stats.bytes_up += bytes;
            counted.queued += bytes;
        });
    }

    /// Queues a write at an offset in bytes, executed at the beginning of the next submission.
    pub fn write(&self, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) -> Result<()> {
        self.count_up(bytes.len() as u64);
        self.guard(|| self.context.queue().write_buffer(buffer, offset, bytes))
    }

    /// Queues a write of numbers as f32, from an offset in bytes on, without a full copy on the host; converts them on
    /// all threads.
    pub(crate) fn write_floats(&self, buffer: &wgpu::Buffer, offset: u64, values: &[f64]) -> Result<()> {
        let Some(size) = NonZeroU64::new(4 * values.len() as u64) else { return Ok(()) };
        self.count_up(size.get());
        self.guard(|| {
            let Some(mut view) = self.context.queue().write_buffer_with(buffer, offset, size) else { return };
            let (blocks, mut rest) = view.slice(..).into_chunks::<{ 4 * CONVERTED }>();
            let (whole, more) = values.split_at(blocks.len() * CONVERTED);
            let blocks: Vec<_> = blocks.into_iter().zip(whole.chunks(CONVERTED)).collect();
            blocks.into_par_iter().with_min_len(32).for_each(|(block, values)| {
                let mut floats = [0f32; CONVERTED];
                floats.iter_mut().zip(values).for_each(|(float, &value)| *float = value as f32);
                block.write(bytemuck::cast(floats));
            });
            let more: Vec<f32> = more.iter().map(|&value| value as f32).collect();
            rest.copy_from_slice(bytemuck::cast_slice(&more));
        })
    }

    /// Creates a storage buffer that holds `bytes`. What is small arrives with the next submission; of more, pieces are
    /// awaited, so that little is held twice.
    pub fn upload(&self, label: &str, bytes: &[u8]) -> Result<DeviceBuffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let buffer = self.allocate(label, bytes.len() as u64, usage)?;
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            self.write(buffer.raw(), (i * PIECE) as u64, piece)?;
            if self.shared.count(|counted| counted.queued) >= PIECE as u64 {
                let submission = self.submit(None)?;
                self.wait(submission)?;
            }
        }
        Ok(buffer)
    }

    pub fn encoder(&self) -> CommandEncoder {
        self.context.device().create_command_encoder(&Default::default())
    }

    pub fn submit(&self, encoder: Option<CommandEncoder>) -> Result<wgpu::SubmissionIndex> {
        self.shared.count(|counted| {
            counted.stats.submissions += 1;
            counted.queued = 0;
        });
        self.guard(|| self.context.queue().submit(encoder.map(CommandEncoder::finish)))
    }

    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<Duration> {
        let start = Instant::now();
        let outcome = self.context.wait(submission);
        let took = start.elapsed();
        self.shared.count(|counted| {
            counted.stats.waits += 1;
            counted.stats.seconds += took.as_secs_f64();
        });
        outcome.map(|()| took)
    }

    pub fn dispatch(
        &self,
        encoder: &mut CommandEncoder,
        pipeline: &ComputePipeline,
        bindings: &[BufferBinding<'_>],
        groups: [u32; 2],
    ) -> Result<()> {
        self.shared.count(|counted| counted.stats.dispatches += 1);
        let group = self.bind_group(pipeline, bindings)?;
        self.guard(|| {
            let timestamp_writes = self.context.timer().and_then(Timer::writes);
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: None, timestamp_writes });
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(groups[0], groups[1], 1);
        })
    }

    fn bind_group(&self, pipeline: &ComputePipeline, bindings: &[BufferBinding<'_>]) -> Result<BindGroup> {
        let bound = bindings.iter().map(|binding| (binding.buffer.clone(), binding.offset, binding.size));
        let bound = (pipeline.clone(), bound.collect());
        if let Some(group) = self.shared.bind_groups().get(&bound) {
            return Ok(group.clone());
        }
        let entries: Vec<_> = (0..)
            .zip(bindings)
            .map(|(binding, resource)| wgpu::BindGroupEntry {
                binding,
                resource: wgpu::BindingResource::Buffer(resource.clone()),
            })
            .collect();
        let group = self.guard(|| {
            self.context.device().create_bind_group(&wgpu::BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &entries,
            })
        })?;
        self.shared.count(|counted| counted.stats.bind_groups += 1);
        let mut groups = self.shared.bind_groups();
        if groups.len() >= MAX_BIND_GROUPS {
            groups.clear();
        }
        groups.insert(bound, group.clone());
        Ok(group)
    }
}

pub fn whole(buffer: &wgpu::Buffer) -> BufferBinding<'_> {
    BufferBinding { buffer, offset: 0, size: None }
}

pub fn part(buffer: &wgpu::Buffer, bytes: u64) -> BufferBinding<'_> {
    BufferBinding { buffer, offset: 0, size: std::num::NonZeroU64::new(bytes) }
}
