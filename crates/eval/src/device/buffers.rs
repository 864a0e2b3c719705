//! Device memory that persists between calls: buffers that grow, and readback to the host.

use wgpu::{BufferUsages, CommandEncoder, MapMode};

use super::meter::{DeviceBuffer, Gpu};
use super::timer::ANSWER_TIMEOUT;
use gputexel_io::{Error, Result};

/// Worked in by kernels only.
pub const STORAGE: BufferUsages = BufferUsages::STORAGE;
/// Written by the host.
pub const INPUT: BufferUsages = STORAGE.union(BufferUsages::COPY_DST);
pub const OUTPUT: BufferUsages = STORAGE.union(BufferUsages::COPY_SRC);
pub const UNIFORM: BufferUsages = BufferUsages::UNIFORM.union(BufferUsages::COPY_DST);
/// Written, read and copied.
pub const STATE: BufferUsages = INPUT.union(BufferUsages::COPY_SRC);

/// A buffer that is replaced by a larger one when it is too small.
#[derive(Debug)]
pub struct GrowingBuffer {
    label: &'static str,
    usage: BufferUsages,
    buffer: Option<DeviceBuffer>,
}

impl GrowingBuffer {
    pub fn new(label: &'static str, usage: BufferUsages) -> Self {
        Self { label, usage, buffer: None }
    }

    pub fn reserve(&mut self, gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
        if let Some(buffer) = self.buffer.as_ref().filter(|buffer| buffer.raw().size() >= bytes) {
            return Ok(buffer.raw().clone());
        }
        // The old one is freed first: both together may not fit.
        self.buffer = None;
        let buffer = gpu.allocate(self.label, bytes, self.usage)?;
        let raw = buffer.raw().clone();
        self.buffer = Some(buffer);
        Ok(raw)
    }

    pub fn fill(&mut self, gpu: &Gpu, bytes: &[u8]) -> Result<wgpu::Buffer> {
        let buffer = self.reserve(gpu, bytes.len() as u64)?;
        gpu.write(&buffer, 0, bytes)?;
        Ok(buffer)
    }
}

/// Results on their way to the host, from any number of submissions.
#[derive(Debug)]
pub struct Readback {
    buffer: GrowingBuffer,
    used: u64,
}

impl Default for Readback {
    fn default() -> Self {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        Self { buffer: GrowingBuffer::new("readback", usage), used: 0 }
    }
}

impl Readback {
    pub fn begin(&mut self, gpu: &Gpu, bytes: u64) -> Result<()> {
        self.used = 0;
        self.buffer.reserve(gpu, bytes).map(|_| ())
    }

    /// Appends the first `bytes` of a buffer; [`begin`](Self::begin) must have reserved room for them.
    pub fn push(&mut self, encoder: &mut CommandEncoder, from: &wgpu::Buffer, bytes: u64) {
        if let Some(to) = &self.buffer.buffer {
            encoder.copy_buffer_to_buffer(from, 0, to.raw(), self.used, bytes);
            self.used += bytes;
        }
    }

    /// Waits for everything that was pushed, the last of it in `submission`, and passes it to `read`.
    pub fn finish<T>(
        &mut self,
        gpu: &Gpu,
        submission: wgpu::SubmissionIndex,
        read: impl FnOnce(&[f32]) -> T,
    ) -> Result<T> {
        let Some(buffer) = self.buffer.buffer.as_ref().filter(|_| self.used > 0) else {
            return Ok(read(&[]));
        };
        let buffer = buffer.raw().clone();
        let (sender, receiver) = std::sync::mpsc::channel();
        let used = std::mem::take(&mut self.used);
        gpu.count_down(used);
        let context = gpu.context();
        context.guard(|| {
            buffer.map_async(MapMode::Read, ..used, move |outcome| {
                // The receiver is gone only if the wait below failed first.
                let _ = sender.send(outcome);
            });
        })?;
        gpu.wait(submission)?;
        let failed =
            |what: String| Error::Gpu(format!("{}: reading results: {what}", context.summary().name));
        // Another thread that polls the device may be the one that calls back.
        receiver
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|e| failed(e.to_string()))?
            .map_err(|e| failed(e.to_string()))?;
        let value = match buffer.get_mapped_range(..used) {
            Ok(view) => Ok(match bytemuck::try_cast_slice(&view) {
                Ok(floats) => read(floats),
                Err(_) => read(&bytemuck::pod_collect_to_vec::<u8, f32>(&view)),
            }),
            Err(error) => Err(failed(error.to_string())),
        };
        buffer.unmap();
        value
    }
}
