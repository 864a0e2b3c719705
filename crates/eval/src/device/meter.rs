//! The device as one evaluator uses it: every buffer, transfer, dispatch and submission is guarded, counted, and
//! subject to a memory limit here.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use wgpu::BufferUsages;

use super::GpuContext;
use super::timer::Timer;
use crate::device::{KernelSource, Stats};
use gputexel_io::{Error, Result};

/// Bytes per piece of an upload, and bytes that may wait for a submission: the host holds a second copy of them.
const PIECE: usize = 32 << 20;

const CONVERTED: usize = 1 << 10;

#[derive(Debug, Default)]
struct Counters {
    used: AtomicU64,
    peak: AtomicU64,
    refused: AtomicBool,
    dispatches: AtomicU64,
    submissions: AtomicU64,
    waits: AtomicU64,
    /// Bytes of writes that wait for a submission.
    queued: AtomicU64,
    pipelines: AtomicU64,
    bind_groups: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
    waited_ns: AtomicU64,
}

const MAX_BIND_GROUPS: usize = 4096;

/// Key of a bind group: its kernel, and for each binding the buffer, the offset and the size.
type Bound = (wgpu::ComputePipeline, Vec<(wgpu::Buffer, u64, Option<NonZeroU64>)>);

/// State shared by clones.
#[derive(Debug, Default)]
struct Shared {
    counters: Counters,
    bind_groups: Mutex<HashMap<Bound, wgpu::BindGroup>>,
}

impl Shared {
    fn bind_groups(&self) -> MutexGuard<'_, HashMap<Bound, wgpu::BindGroup>> {
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
    /// Returns the buffer itself, for bindings and copies.
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
        self.shared.counters.used.fetch_sub(self.buffer.size(), Ordering::Relaxed);
    }
}

impl Gpu {
    /// Creates a device whose buffers may take `limit` bytes together; `None` for no limit.
    pub fn new(context: &GpuContext, limit: Option<u64>) -> Self {
        Self { context: context.clone(), shared: Arc::default(), limit }
    }

    /// Returns the open device.
    pub fn context(&self) -> &GpuContext {
        &self.context
    }

    #[cfg(test)]
    pub(crate) fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// Returns the bytes that buffers take.
    pub fn used(&self) -> u64 {
        self.shared.counters.used.load(Ordering::Relaxed)
    }

    /// Returns true if the limit leaves room for `bytes` more.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.limit.is_none_or(|limit| self.used() + bytes <= limit)
    }

    pub(crate) fn take_refusal(&self) -> bool {
        self.shared.counters.refused.swap(false, Ordering::Relaxed)
    }

    /// Returns the counters so far.
    pub fn stats(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.shared.counters;
        Stats {
            dispatches: get(&c.dispatches),
            submissions: get(&c.submissions),
            waits: get(&c.waits),
            pipelines: get(&c.pipelines),
            bind_groups: get(&c.bind_groups),
            bytes_up: get(&c.up),
            bytes_down: get(&c.down),
            peak_bytes: get(&c.peak),
            seconds: get(&c.waited_ns) as f64 * 1e-9,
        }
    }

    pub(crate) fn count_down(&self, bytes: u64) {
        self.shared.counters.down.fetch_add(bytes, Ordering::Relaxed);
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
                let used = self.shared.counters.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
                self.shared.counters.peak.fetch_max(used, Ordering::Relaxed);
                Ok(DeviceBuffer { buffer, shared: Arc::clone(&self.shared) })
            }
            None => Err(self.refuse(format!(
                "{} is out of memory: {label} of {bytes} bytes beside {used}",
                self.context.summary().name
            ))),
        }
    }

    fn refuse(&self, why: String) -> Error {
        self.shared.counters.refused.store(true, Ordering::Relaxed);
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
    pub unsafe fn trusted_pipeline(&self, kernel: &KernelSource<'_>) -> Result<wgpu::ComputePipeline> {
        // SAFETY: as the caller promises.
        let (pipeline, compiled) = unsafe { self.context.trusted_pipeline(kernel)? };
        self.shared.counters.pipelines.fetch_add(u64::from(compiled), Ordering::Relaxed);
        Ok(pipeline)
    }

    fn count_up(&self, bytes: u64) {
        self.shared.counters.up.fetch_add(bytes, Ordering::Relaxed);
        self.shared.counters.queued.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Queues a write at an offset in bytes, executed at the beginning of the next submission.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the bytes do not fit the buffer, or the device is lost.
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

    /// Creates a storage buffer that holds `bytes`. What is small arrives with the next submission; of more, pieces
    /// are awaited, so that little is held twice.
    pub fn upload(&self, label: &str, bytes: &[u8]) -> Result<DeviceBuffer> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let buffer = self.allocate(label, bytes.len() as u64, usage)?;
        for (i, piece) in bytes.chunks(PIECE).enumerate() {
            self.write(buffer.raw(), (i * PIECE) as u64, piece)?;
            if self.shared.counters.queued.load(Ordering::Relaxed) >= PIECE as u64 {
                let submission = self.submit(None)?;
                self.wait(submission)?;
            }
        }
        Ok(buffer)
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.context.device().create_command_encoder(&Default::default())
    }

    /// Submits what was encoded, and the writes that are queued.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device refuses or is lost.
    pub fn submit(&self, encoder: Option<wgpu::CommandEncoder>) -> Result<wgpu::SubmissionIndex> {
        self.shared.counters.submissions.fetch_add(1, Ordering::Relaxed);
        self.shared.counters.queued.store(0, Ordering::Relaxed);
        self.guard(|| self.context.queue().submit(encoder.map(wgpu::CommandEncoder::finish)))
    }

    /// Waits until a submission is done; returns the time waited.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device is lost or does not answer.
    pub fn wait(&self, submission: wgpu::SubmissionIndex) -> Result<Duration> {
        self.shared.counters.waits.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        let outcome = self.context.wait(submission);
        let took = start.elapsed();
        self.shared.counters.waited_ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        outcome.map(|()| took)
    }

    /// Encodes a separate pass, bindings numbered from 0.
    ///
    /// # Errors
    /// [`Error::Gpu`] when a binding does not fit its kernel.
    pub fn dispatch(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        pipeline: &wgpu::ComputePipeline,
        bindings: &[wgpu::BufferBinding<'_>],
        groups: [u32; 2],
    ) -> Result<()> {
        self.shared.counters.dispatches.fetch_add(1, Ordering::Relaxed);
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

    fn bind_group(
        &self,
        pipeline: &wgpu::ComputePipeline,
        bindings: &[wgpu::BufferBinding<'_>],
    ) -> Result<wgpu::BindGroup> {
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
        self.shared.counters.bind_groups.fetch_add(1, Ordering::Relaxed);
        let mut groups = self.shared.bind_groups();
        if groups.len() >= MAX_BIND_GROUPS {
            groups.clear();
        }
        groups.insert(bound, group.clone());
        Ok(group)
    }
}

pub fn whole(buffer: &wgpu::Buffer) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: None }
}

pub fn part(buffer: &wgpu::Buffer, bytes: u64) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: std::num::NonZeroU64::new(bytes) }
}
