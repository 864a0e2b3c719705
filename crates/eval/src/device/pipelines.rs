//! Compiled kernels, keyed by their source, so that evaluators of one device share them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use wgpu::{ComputePipeline, Device, ShaderRuntimeChecks};

/// Source of a pipeline; its entry point is `main`.
#[derive(Clone, Copy, Debug)]
pub struct KernelSource<'a> {
    /// Name for drivers and messages.
    pub name: &'a str,
    pub source: &'a str,
    /// Values of its `override` declarations.
    pub constants: &'a [(&'a str, f64)],
}

/// Source, constants as bits, and whether checks are compiled in.
type Key = (String, Vec<(String, u64)>, bool);

#[derive(Debug, Default)]
pub(crate) struct Pipelines {
    compiled: Mutex<HashMap<Key, ComputePipeline>>,
}

impl Pipelines {
    /// Returns the pipeline of a kernel, and true if it had to be compiled. Other callers wait meanwhile, so that none
    /// is compiled twice.
    pub(crate) fn get<E>(
        &self,
        kernel: &KernelSource<'_>,
        checked: bool,
        compile: impl FnOnce() -> Result<ComputePipeline, E>,
    ) -> Result<(ComputePipeline, bool), E> {
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

///
/// # Safety
/// Unchecked conditions must hold: see [`GpuContext::trusted_pipeline`](crate::device::GpuContext::trusted_pipeline).
pub(crate) unsafe fn compile(
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
