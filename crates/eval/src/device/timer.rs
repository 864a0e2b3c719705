//! Times of kernels on the device, by timestamps around each dispatch.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use gputexel_io::{Error, Result};
use wgpu::{BufferUsages, Device, Features, MapMode, QuerySet, QuerySetDescriptor, QueryType, Queue};

/// Time that one slice may take before the device counts as hung.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of dispatches that are timed before the times are read; WebGPU's limit is twice as many timestamps.
const CAPACITY: u32 = 2048;

#[derive(Debug)]
pub struct Timer {
    queries: QuerySet,
    resolved: wgpu::Buffer,
    readable: wgpu::Buffer,
    /// Dispatches since times were last read, including those beyond the capacity.
    dispatches: AtomicU32,
    period: f64,
}

impl Timer {
    /// Creates a timer on a device; `None` if it has no timestamps.
    pub(crate) fn new(device: &Device, queue: &Queue) -> Option<Self> {
        if !device.features().contains(Features::TIMESTAMP_QUERY) {
            return None;
        }
        let count = 2 * CAPACITY;
        let queries = device.create_query_set(&QuerySetDescriptor {
            label: Some("times"),
            ty: QueryType::Timestamp,
            count,
        });
        let buffer = |usage| {
            let size = 8 * u64::from(count);
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("times"),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        Some(Self {
            queries,
            resolved: buffer(BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC),
            readable: buffer(BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            dispatches: AtomicU32::new(0),
            period: f64::from(queue.get_timestamp_period()),
        })
    }

    /// Returns where a pass writes its times; `None` when there is no more room.
    pub(crate) fn writes(&self) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let number = self.dispatches.fetch_add(1, Ordering::Relaxed);
        (number < CAPACITY).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * number),
            end_of_pass_write_index: Some(2 * number + 1),
        })
    }

    /// Returns the total seconds of dispatches since the last call; `None` if there were too many.
    pub(crate) fn take(&self, device: &Device, queue: &Queue) -> Result<Option<f64>> {
        let count = self.dispatches.swap(0, Ordering::Relaxed);
        if count == 0 || count > CAPACITY {
            return Ok((count == 0).then_some(0.0));
        }
        let bytes = 16 * u64::from(count);
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.resolve_query_set(&self.queries, 0..2 * count, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readable, 0, bytes);
        queue.submit([encoder.finish()]);
        let (sender, receiver) = mpsc::channel();
        self.readable.map_async(MapMode::Read, ..bytes, move |outcome| {
            let _ = sender.send(outcome);
        });
        let failed = |why: String| Error::Gpu(format!("reading times: {why}"));
        device
            .poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(ANSWER_TIMEOUT) })
            .map_err(|error| failed(error.to_string()))?;
        receiver
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        let ticks = {
            let view = self.readable.get_mapped_range(..bytes).map_err(|error| failed(error.to_string()))?;
            let times: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
            times.chunks_exact(2).map(|pair| pair[1].saturating_sub(pair[0])).sum::<u64>()
        };
        self.readable.unmap();
        Ok(Some(ticks as f64 * self.period * 1e-9))
    }
}
