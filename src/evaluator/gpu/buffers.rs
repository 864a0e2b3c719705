//! Device memory that lives from call to call: scratch buffers that grow, and the way back to the
//! host. Owns no layout of what is inside.

use wgpu::{BufferUsages, CommandEncoder, MapMode};

use super::GpuContext;
use super::context::ANSWER_TIMEOUT;
use crate::error::{Error, Result};

/// A buffer that is replaced by a larger one where it is too small.
#[derive(Debug)]
pub(super) struct Scratch {
    label: &'static str,
    usage: BufferUsages,
    buffer: Option<wgpu::Buffer>,
}

impl Scratch {
    pub(super) fn new(label: &'static str, usage: BufferUsages) -> Self {
        Self { label, usage, buffer: None }
    }

    /// A buffer of at least `bytes`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device has no room.
    pub(super) fn reserve(&mut self, context: &GpuContext, bytes: u64) -> Result<wgpu::Buffer> {
        let bytes = bytes.max(16).next_multiple_of(16);
        if let Some(buffer) = self.buffer.as_ref().filter(|buffer| buffer.size() >= bytes) {
            return Ok(buffer.clone());
        }
        // The old one goes first: both together may not fit.
        self.buffer = None;
        let buffer = context.guard(|| {
            context.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                size: bytes,
                usage: self.usage,
                mapped_at_creation: false,
            })
        })?;
        self.buffer = Some(buffer.clone());
        Ok(buffer)
    }
}

/// Results on their way to the host. Several submissions may be under way; the mapping of the
/// buffer waits for the last.
#[derive(Debug)]
pub(super) struct Readback {
    scratch: Scratch,
    used: u64,
}

impl Readback {
    pub(super) fn new() -> Self {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        Self { scratch: Scratch::new("readback", usage), used: 0 }
    }

    /// Begins anew with room for `bytes`.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device has no room.
    pub(super) fn begin(&mut self, context: &GpuContext, bytes: u64) -> Result<()> {
        self.used = 0;
        self.scratch.reserve(context, bytes).map(|_| ())
    }

    /// Bytes still free.
    pub(super) fn room(&self) -> u64 {
        self.scratch.buffer.as_ref().map_or(0, wgpu::Buffer::size) - self.used
    }

    /// Appends the first `bytes` of a buffer; room for them was asked for by `begin`.
    pub(super) fn push(&mut self, encoder: &mut CommandEncoder, from: &wgpu::Buffer, bytes: u64) {
        if let Some(to) = &self.scratch.buffer {
            encoder.copy_buffer_to_buffer(from, 0, to, self.used, bytes);
            self.used += bytes;
        }
    }

    /// Waits for all that was pushed and hands it over.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device failed meanwhile.
    pub(super) fn finish<T>(&mut self, context: &GpuContext, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        let Some(buffer) = self.scratch.buffer.clone().filter(|_| self.used > 0) else {
            return Ok(read(&[]));
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let used = std::mem::take(&mut self.used);
        let submission = context.guard(|| {
            buffer.map_async(MapMode::Read, ..used, move |outcome| {
                // The receiver is gone only where the wait below failed first.
                let _ = sender.send(outcome);
            });
            context.queue().submit([])
        })?;
        context.wait(submission)?;
        let failed =
            |what: String| Error::Gpu(format!("{}: reading results: {what}", context.summary().name));
        // Another thread that polls the device may be the one that calls back.
        receiver
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|e| failed(e.to_string()))?
            .map_err(|e| failed(e.to_string()))?;
        let value = match buffer.get_mapped_range(..used) {
            Ok(view) => Ok(read(&bytemuck::pod_collect_to_vec::<u8, f32>(&view))),
            Err(error) => Err(failed(error.to_string())),
        };
        buffer.unmap();
        value
    }
}
