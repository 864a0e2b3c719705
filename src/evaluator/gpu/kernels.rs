//! The kernels: their sources, the structs that they share with the host, and their pipelines.
//!
//! Owns which WGSL files make a kernel and which constants specialize it. Knows nothing of
//! datasets; buffers are bound by the callers.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use super::GpuContext;
use crate::error::Result;

/// Threads a workgroup; WebGPU promises 256.
pub const WORKGROUP: usize = 256;

/// Workgroup memory that WebGPU promises, in f32: the residuals of a block fill it at most.
pub const RESIDUALS: usize = 4096;

/// Largest block of the transposed dataset.
pub const MAX_BLOCK: usize = 1024;

/// `Uniforms` of `structs.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Uniforms {
    /// Number of features F.
    pub features: u32,
    /// Reals a row of tables, slabs and losses.
    pub stride: u32,
    /// `vec4` a position record.
    pub record: u32,
    /// Segments a chunk of the first reduction.
    pub chunk: u32,
    /// 1 / phase maximum.
    pub scale: f32,
    /// Exponent of the power loss.
    pub power: f32,
    /// Pads to 32 bytes.
    pub reserved_0: u32,
    /// Pads to 32 bytes.
    pub reserved_1: u32,
}

/// `Segment` of `structs.wgsl`: consecutive positions of one bucket.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Segment {
    /// First position, counted from the start of the shard.
    pub first: u32,
    /// Position after the last.
    pub end: u32,
    /// Transposed block that the first position opens.
    pub block: u32,
    /// Taper: row group of the blended tables.
    pub taper: u32,
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Blended tables from parameters.
    Blend,
    /// Losses.
    Loss,
    /// Losses and slabs of gradients.
    Gradient,
    /// Slabs to partial mg and eg gradients.
    Reduce,
    /// Partial gradients to totals.
    Total,
    /// Scores of one member.
    Scores,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 6] =
        [Self::Blend, Self::Loss, Self::Gradient, Self::Reduce, Self::Total, Self::Scores];

    /// Name of its file, without ending.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blend => "blend",
            Self::Loss => "loss",
            Self::Gradient => "gradient",
            Self::Reduce => "reduce",
            Self::Total => "total",
            Self::Scores => "scores",
        }
    }

    fn body(self) -> &'static str {
        macro_rules! source {
            ($($file:literal),+) => {
                concat!($(include_str!(concat!("../../../shaders/", $file, ".wgsl"))),+)
            };
        }
        match self {
            Self::Blend => source!("structs", "blend"),
            Self::Loss => source!("structs", "common", "loss"),
            Self::Gradient => source!("structs", "common", "gradient"),
            Self::Reduce => source!("structs", "reduce"),
            Self::Total => source!("structs", "total"),
            Self::Scores => source!("structs", "common", "scores"),
        }
    }

    /// Its WGSL: with four members a lane or one, for rows of ±1 or rows with coefficients.
    pub fn source(self, vector: bool, unit: bool) -> String {
        let real = if vector { "vec4<f32>" } else { "f32" };
        format!("alias Real = {real};\nconst UNIT = {unit};\n{}", self.body())
    }
}

/// What a pipeline is specialized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// Members a tile: 1, or 4 a lane.
    pub tile: usize,
    /// Whether rows have no coefficients.
    pub unit: bool,
    /// Loss: 0 squared, 1 cross-entropy, 2 power.
    pub loss: u32,
}

impl Variant {
    /// Members a `Real`.
    pub fn width(self) -> usize {
        if self.tile == 1 { 1 } else { 4 }
    }
}

/// Positions a block of the transposed dataset for a tile of members.
pub fn block_length(tile: usize) -> usize {
    (RESIDUALS / tile).min(MAX_BLOCK)
}

/// Compiled pipelines.
#[derive(Debug, Default)]
pub struct Pipelines {
    compiled: HashMap<Variant, wgpu::ComputePipeline>,
}

impl Pipelines {
    /// The pipeline of a variant, compiled on first use.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu) when the device rejects the shader.
    pub fn get(&mut self, context: &GpuContext, variant: Variant) -> Result<wgpu::ComputePipeline> {
        if let Some(pipeline) = self.compiled.get(&variant) {
            return Ok(pipeline.clone());
        }
        let lanes = (variant.tile / variant.width()) as f64;
        let mut constants = vec![("WORKGROUP", WORKGROUP as f64)];
        if matches!(variant.kernel, Kernel::Loss | Kernel::Gradient | Kernel::Scores) {
            constants.extend([("LANES", lanes), ("LOSS", f64::from(variant.loss))]);
        }
        if variant.kernel == Kernel::Gradient {
            constants.push(("BLOCK", block_length(variant.tile) as f64));
        }
        let source = variant.kernel.source(variant.width() == 4, variant.unit);
        let label = Some(variant.kernel.name());
        let device = context.device();
        let pipeline = context.guard(|| {
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Wgsl(source.into()),
            });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label,
                layout: None,
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &constants,
                    // Every element is written before it is read.
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        })?;
        self.compiled.insert(variant, pipeline.clone());
        Ok(pipeline)
    }
}
