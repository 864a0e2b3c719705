//! Device memory that persists between calls: buffers that grow, and readback to the host. Owns no layout of the
//! contents.

use wgpu::{BufferUsages, CommandEncoder, MapMode};

use super::meter::{DeviceBuffer, Gpu};
use super::timer::ANSWER_TIMEOUT;
use gputexel_io::{Error, Result};

/// A buffer that is replaced by a larger one when it is too small.
#[derive(Debug)]
pub struct GrowingBuffer {
    label: &'static str,
    usage: BufferUsages,
    buffer: Option<DeviceBuffer>,
}

impl GrowingBuffer {
    /// Returns a buffer for kernels to work in.
    pub fn storage(label: &'static str) -> Self {
        Self { label, usage: BufferUsages::STORAGE, buffer: None }
    }

    /// Returns a buffer that the host writes.
    pub fn input(label: &'static str) -> Self {
        Self { label, usage: BufferUsages::STORAGE | BufferUsages::COPY_DST, buffer: None }
    }

    pub fn output(label: &'static str) -> Self {
        Self { label, usage: BufferUsages::STORAGE | BufferUsages::COPY_SRC, buffer: None }
    }

    pub fn uniform(label: &'static str) -> Self {
        Self { label, usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST, buffer: None }
    }

    /// Returns a buffer that is written, read and copied.
    pub fn state(label: &'static str) -> Self {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
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

    /// Reserves a buffer and queues a write of its contents.
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
        Self { buffer: GrowingBuffer { label: "readback", usage, buffer: None }, used: 0 }
    }
}

impl Readback {
    /// Starts over with room for `bytes`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device has no room.
    pub fn begin(&mut self, gpu: &Gpu, bytes: u64) -> Result<()> {
        self.used = 0;
        self.buffer.reserve(gpu, bytes).map(|_| ())
    }

    /// Appends the first `bytes` of a buffer; `begin` must have reserved room for them.
    pub fn push(&mut self, encoder: &mut CommandEncoder, from: &wgpu::Buffer, bytes: u64) {
        self.push_from(encoder, from, 0, bytes);
    }

    /// As [`push`](Self::push), starting at an offset in bytes.
    pub(crate) fn push_from(
        &mut self,
        encoder: &mut CommandEncoder,
        from: &wgpu::Buffer,
        offset: u64,
        bytes: u64,
    ) {
        if let Some(to) = &self.buffer.buffer {
            encoder.copy_buffer_to_buffer(from, offset, to.raw(), self.used, bytes);
            self.used += bytes;
        }
    }

    /// Waits for everything that was pushed, the last of it in `submission`, and passes it to `read`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device failed meanwhile.
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
