//! One call on one chunk of members: parameters up, passes encoded and submitted slice by slice,
//! results back. Owns the scratch memory that calls share; what is computed where is in `shaders/`.

use std::collections::VecDeque;
use std::ops::Range;

use wgpu::BufferUsages;

use super::buffers::{Readback, Scratch};
use super::kernels::{Kernel, Uniforms, Variant, block_length};
use super::plan::{Tiling, groups_for};
use super::{GpuContext, GpuEvaluator, Pass, PlanKey, UploadedSlice};
use crate::error::{Error, Result};
use crate::evaluator::{Population, Request};
use crate::objective::LossKind;

/// Segments that one thread of the first reduction adds.
const CHUNK: usize = 64;

/// Submissions under way at a time: enough that the device never waits for the host, few enough
/// that each is answered soon.
const IN_FLIGHT: usize = 3;

/// Bytes of results that are left on the device before they are fetched.
const READBACK: u64 = 32 << 20;

#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) uniforms: Scratch,
    pub(super) parameters: Scratch,
    pub(super) tables: Scratch,
    pub(super) losses: Scratch,
    pub(super) slabs: Scratch,
    pub(super) partials: Scratch,
    pub(super) totals: Scratch,
    pub(super) readback: Readback,
}

impl Buffers {
    pub(super) fn new() -> Self {
        let storage = |label| Scratch::new(label, BufferUsages::STORAGE);
        let input = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let output = BufferUsages::STORAGE | BufferUsages::COPY_SRC;
        Self {
            uniforms: Scratch::new("uniforms", BufferUsages::UNIFORM | BufferUsages::COPY_DST),
            parameters: Scratch::new("parameters", input),
            tables: storage("tables"),
            losses: Scratch::new("losses", output),
            slabs: storage("slabs"),
            partials: storage("partials"),
            totals: Scratch::new("totals", output),
            readback: Readback::new(),
        }
    }
}

/// Sums over positions of one chunk of members, in f64.
pub(super) struct Sums {
    pub(super) losses: Vec<f64>,
    /// Side, feature, member; not yet scaled.
    pub(super) gradients: Vec<f64>,
}

/// Buffers of one call, sized for it.
pub(super) struct Call {
    pub(super) members: usize,
    pub(super) tiling: Tiling,
    pub(super) gradients: bool,
    pub(super) loss: u32,
    pub(super) uniforms: wgpu::Buffer,
    pub(super) tables: wgpu::Buffer,
}

impl GpuEvaluator<'_> {
    pub(super) fn pipeline(&mut self, kernel: Kernel, call: &Call) -> Result<wgpu::ComputePipeline> {
        let walks = matches!(kernel, Kernel::Loss | Kernel::Gradient | Kernel::Scores);
        let variant = Variant {
            kernel,
            // The others see Reals only, not tiles.
            tile: if walks { call.tiling.tile } else { call.tiling.tile.min(4) },
            unit: !walks || self.layout.unit_rows(),
            loss: if matches!(kernel, Kernel::Loss | Kernel::Gradient) { call.loss } else { 0 },
        };
        self.pipelines.get(&self.context, variant)
    }

    /// Uploads parameters, K and sizes of a chunk of members; what `blend` reads.
    pub(super) fn begin_call(
        &mut self,
        population: &Population,
        members: Range<usize>,
        tiling: Tiling,
        request: &Request,
    ) -> Result<Call> {
        let features = self.layout.features;
        let padded = tiling.padded();
        let (kind, power) = match request.loss {
            LossKind::Squared => (0, 2.0),
            LossKind::CrossEntropy => (1, 1.0),
            LossKind::Power(q) => (2, q as f32),
        };
        let mut parameters = vec![0f32; (2 * features + 1) * padded];
        for (column, member) in members.clone().enumerate() {
            for (row, &value) in population.member(member).iter().enumerate() {
                parameters[row * padded + column] = value as f32;
            }
            let kappa = population.k[member] * std::f64::consts::LN_10 / 400.0;
            parameters[2 * features * padded + column] = kappa as f32;
        }
        let uniforms = Uniforms {
            features: features as u32,
            stride: (padded / tiling.tile.min(4)) as u32,
            record: if self.layout.offsets.is_empty() { 1 } else { 2 },
            chunk: CHUNK as u32,
            scale: 1.0 / f32::from(self.layout.phase_max),
            power,
            ..Uniforms::default()
        };
        let context = &self.context;
        let (parameter_bytes, table_bytes) =
            (4 * parameters.len(), 4 * self.tapers * (features + 2) * padded);
        let parameter_buffer = self.buffers.parameters.reserve(context, parameter_bytes as u64)?;
        let uniform_buffer = self.buffers.uniforms.reserve(context, size_of::<Uniforms>() as u64)?;
        let tables = self.buffers.tables.reserve(context, table_bytes as u64)?;
        context.guard(|| {
            context.queue().write_buffer(&uniform_buffer, 0, bytemuck::bytes_of(&uniforms));
            context.queue().write_buffer(&parameter_buffer, 0, bytemuck::cast_slice(&parameters));
        })?;
        Ok(Call {
            members: members.len(),
            tiling,
            gradients: request.gradients,
            loss: kind,
            uniforms: uniform_buffer,
            tables,
        })
    }

    pub(super) fn encode_blend(&mut self, call: &Call, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        let pipeline = self.pipeline(Kernel::Blend, call)?;
        let floats = (self.layout.features + 2) * call.tiling.padded();
        let parameters = self.buffers.parameters.reserve(&self.context, 0)?;
        let bindings =
            [whole(&call.uniforms), whole(&parameters), whole(&self.taper_units), whole(&call.tables)];
        let groups = [groups_for(floats / call.tiling.tile.min(4)), self.tapers as u32];
        self.context.guard(|| dispatch(&self.context, encoder, &pipeline, &bindings, groups))
    }

    /// Encodes the walk over a slice's positions and, for gradients, the reduction.
    fn encode_slice(
        &mut self,
        call: &Call,
        planned: &UploadedSlice,
        pass: Pass,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<()> {
        let (segments, features) = (planned.slice.segments.len(), self.layout.features);
        let row = 4 * call.tiling.padded() as u64;
        let slab_bytes = segments as u64 * features as u64 * row;
        let chunks = segments.div_ceil(CHUNK);
        let partial_bytes = (chunks * 2 * features) as u64 * row;
        let losses = self.buffers.losses.reserve(&self.context, segments as u64 * row)?;
        let kernel = if call.gradients { Kernel::Gradient } else { Kernel::Loss };
        let walk = self.pipeline(kernel, call)?;
        let shard = &self.shards[planned.slice.shard];
        let mut bindings = vec![
            whole(&call.uniforms),
            whole(&planned.segments),
            whole(&shard.places),
            whole(&shard.rows),
            whole(&call.tables),
            whole(&losses),
        ];
        let groups = [segments as u32, call.tiling.tiles as u32];
        if !call.gradients {
            if pass != Pass::Reduce {
                self.context.guard(|| dispatch(&self.context, encoder, &walk, &bindings, groups))?;
            }
            return Ok(());
        }
        let Some(gather) = shard.gathers.get(&block_length(call.tiling.tile)) else {
            return Err(Error::Gpu("transposed blocks are missing".into()));
        };
        let slabs = self.buffers.slabs.reserve(&self.context, slab_bytes)?;
        if pass != Pass::Reduce {
            bindings.extend([whole(&gather.runs), whole(&gather.entries), whole(&slabs)]);
            self.context.guard(|| dispatch(&self.context, encoder, &walk, &bindings, groups))?;
        }
        if pass == Pass::Positions {
            return Ok(());
        }
        let partials = self.buffers.partials.reserve(&self.context, partial_bytes)?;
        let totals = self.buffers.totals.reserve(&self.context, 2 * features as u64 * row)?;
        let (reduce, total) = (self.pipeline(Kernel::Reduce, call)?, self.pipeline(Kernel::Total, call)?);
        let elements = features * call.tiling.padded() / call.tiling.tile.min(4);
        self.context.guard(|| {
            let bindings = [
                whole(&call.uniforms),
                whole(&planned.segments),
                whole(&slabs),
                whole(&self.taper_units),
                whole(&partials),
            ];
            let groups = [groups_for(elements), chunks as u32];
            dispatch(&self.context, encoder, &reduce, &bindings, groups);
            // The number of chunks is the length of the binding.
            let bindings = [whole(&call.uniforms), part(&partials, partial_bytes), whole(&totals)];
            dispatch(&self.context, encoder, &total, &bindings, [groups_for(2 * elements), 1]);
        })
    }

    pub(super) fn run_chunk(
        &mut self,
        population: &Population,
        members: Range<usize>,
        positions: Range<usize>,
        request: &Request,
        pass: Pass,
    ) -> Result<Sums> {
        let tiling = Tiling::new(&self.options, members.len(), request.gradients);
        let call = self.begin_call(population, members, tiling, request)?;
        if call.gradients {
            self.prepare_gathers(call.tiling.tile)?;
        }
        let plan = self.plan(&PlanKey { positions, tiling: call.tiling, gradients: call.gradients })?;
        let features = self.layout.features;
        let side = if call.gradients { 2 * features } else { 0 };
        let mut sums = Sums { losses: vec![0.0; call.members], gradients: vec![0.0; side * call.members] };
        let row = 4 * call.tiling.padded() as u64;
        let result_bytes = |slice: &UploadedSlice| (slice.slice.segments.len() + side) as u64 * row;
        let all: u64 = plan.iter().map(result_bytes).sum();
        let most = plan.iter().map(result_bytes).max().unwrap_or(0);
        let read_back = pass == Pass::Whole;
        self.buffers.readback.begin(&self.context, all.min(READBACK.max(most)))?;
        let mut pending: Vec<&UploadedSlice> = Vec::new();
        let mut under_way = VecDeque::new();
        let mut blended = matches!(pass, Pass::Positions | Pass::Reduce);
        for planned in plan.iter() {
            if read_back && self.buffers.readback.room() < result_bytes(planned) {
                self.collect(&call, &mut pending, &mut sums)?;
            }
            let mut encoder = self.context.device().create_command_encoder(&Default::default());
            if !blended {
                self.encode_blend(&call, &mut encoder)?;
                blended = true;
            }
            if pass != Pass::Blend {
                self.encode_slice(&call, planned, pass, &mut encoder)?;
            }
            if read_back {
                let losses = self.buffers.losses.reserve(&self.context, 0)?;
                let bytes = planned.slice.segments.len() as u64 * row;
                self.buffers.readback.push(&mut encoder, &losses, bytes);
                if call.gradients {
                    let totals = self.buffers.totals.reserve(&self.context, 0)?;
                    self.buffers.readback.push(&mut encoder, &totals, side as u64 * row);
                }
                pending.push(planned);
            }
            let submission = self.context.guard(|| self.context.queue().submit([encoder.finish()]))?;
            under_way.push_back(submission);
            if under_way.len() > IN_FLIGHT
                && let Some(oldest) = under_way.pop_front()
            {
                self.context.wait(oldest)?;
            }
            if pass == Pass::Blend {
                break;
            }
        }
        self.collect(&call, &mut pending, &mut sums)?;
        if let Some(last) = under_way.pop_back() {
            self.context.wait(last)?;
        }
        Ok(sums)
    }

    /// Fetches the results of slices and adds them up in f64, in the order of the slices.
    fn collect(&mut self, call: &Call, pending: &mut Vec<&UploadedSlice>, sums: &mut Sums) -> Result<()> {
        let padded = call.tiling.padded();
        let features = self.layout.features;
        self.buffers.readback.finish(&self.context, |mut floats| {
            for planned in pending.iter() {
                let (losses, rest) = floats.split_at(planned.slice.segments.len() * padded);
                for row in losses.chunks_exact(padded) {
                    sums.losses.iter_mut().zip(row).for_each(|(sum, &loss)| *sum += f64::from(loss));
                }
                floats = rest;
                if call.gradients {
                    let (totals, rest) = floats.split_at(2 * features * padded);
                    for (row, sums) in
                        totals.chunks_exact(padded).zip(sums.gradients.chunks_exact_mut(call.members))
                    {
                        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
                    }
                    floats = rest;
                }
            }
        })?;
        pending.clear();
        Ok(())
    }
}

pub(super) fn whole(buffer: &wgpu::Buffer) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: None }
}

fn part(buffer: &wgpu::Buffer, bytes: u64) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: std::num::NonZeroU64::new(bytes) }
}

/// Encodes a pass of its own, bindings numbered from 0.
pub(super) fn dispatch(
    context: &GpuContext,
    encoder: &mut wgpu::CommandEncoder,
    pipeline: &wgpu::ComputePipeline,
    bindings: &[wgpu::BufferBinding<'_>],
    groups: [u32; 2],
) {
    let entries: Vec<_> = (0..)
        .zip(bindings)
        .map(|(binding, resource)| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::Buffer(resource.clone()),
        })
        .collect();
    let group = context.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(groups[0], groups[1], 1);
}
