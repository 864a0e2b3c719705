//! The GPU evaluator: losses and gradients of a population by compute shaders.
//!
//! Owns the way of a call: members in chunks whose tables fit, positions in slices whose slabs and
//! time are bounded, one submission a slice, sums over slices in f64. Leaves the device to
//! `context`, the kernels to `kernels` and `shaders/`, the data on the device to `shard`, and the
//! cutting to `plan`. No sum depends on the order in which threads run, so equal calls on one
//! device give equal bytes.

mod buffers;
mod context;
pub mod kernels;
mod plan;
mod shard;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use wgpu::BufferUsages;

pub use context::{AdapterSummary, BackendChoice, GpuContext, list_adapters};
pub use plan::GpuOptions;

use self::buffers::{Readback, Scratch};
use self::kernels::{Kernel, Pipelines, Uniforms, Variant, block_length};
use self::plan::{Slice, Tiling, groups_for};
use self::shard::Shard;
use super::{Evaluations, Evaluator, Population, Request};
use crate::dataset::{Layout, Transpose};
use crate::error::{Error, Result};
use crate::objective::LossKind;

/// Segments that one thread of the first reduction adds.
const CHUNK: usize = 64;

/// Submissions under way at a time: enough that the device never waits for the host, few enough
/// that each is answered soon.
const IN_FLIGHT: usize = 3;

/// Bytes of results that are left on the device before they are fetched.
const READBACK: u64 = 32 << 20;

/// The steps of an evaluation, for benches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Blended tables from parameters.
    Blend,
    /// Losses, or losses and slabs where gradients are asked for.
    Positions,
    /// Slabs to gradients.
    Reduce,
    /// All of them, and the results back.
    Whole,
}

/// Evaluates populations on a GPU.
#[derive(Debug)]
pub struct GpuEvaluator<'a> {
    context: GpuContext,
    layout: &'a Layout,
    options: GpuOptions,
    tapers: usize,
    taper_units: wgpu::Buffer,
    shards: Vec<Shard>,
    pipelines: Pipelines,
    plans: HashMap<PlanKey, Arc<Vec<UploadedSlice>>>,
    buffers: Buffers,
}

/// What a plan depends on, apart from the options.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PlanKey {
    positions: Range<usize>,
    tiling: Tiling,
    gradients: bool,
}

/// A slice whose segments are on the device.
#[derive(Debug)]
struct UploadedSlice {
    slice: Slice,
    segments: wgpu::Buffer,
}

#[derive(Debug)]
struct Buffers {
    uniforms: Scratch,
    parameters: Scratch,
    tables: Scratch,
    losses: Scratch,
    slabs: Scratch,
    partials: Scratch,
    totals: Scratch,
    readback: Readback,
}

impl Buffers {
    fn new() -> Self {
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
struct Sums {
    losses: Vec<f64>,
    /// Side, feature, member; not yet scaled.
    gradients: Vec<f64>,
}

/// Buffers of one call, sized for it.
struct Call {
    members: usize,
    tiling: Tiling,
    gradients: bool,
    loss: u32,
    uniforms: wgpu::Buffer,
    tables: wgpu::Buffer,
}

impl<'a> GpuEvaluator<'a> {
    /// Uploads a dataset. The transposed blocks that gradients need follow when first asked for,
    /// which is why the layout is kept.
    ///
    /// # Errors
    /// [`Error::Gpu`] when the device refuses, [`Error::Usage`] for over 65,535 features.
    pub fn try_new(context: &GpuContext, layout: &'a Layout) -> Result<Self> {
        Self::with_options(context, layout, GpuOptions::new(context))
    }

    /// As [`try_new`](Self::try_new), cut by other sizes.
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new); [`Error::Usage`] also for a tile that there is no kernel for.
    pub fn with_options(context: &GpuContext, layout: &'a Layout, options: GpuOptions) -> Result<Self> {
        context.check()?;
        if layout.features > usize::from(u16::MAX) {
            return Err(Error::Usage(format!(
                "{} features: the GPU evaluator takes at most 65535",
                layout.features
            )));
        }
        if options.tile.is_some_and(|tile| ![1, 4, 8, 16, 32].contains(&tile)) {
            return Err(Error::Usage("a tile has 1, 4, 8, 16 or 32 members".into()));
        }
        let (tapers, _) = shard::tapers(layout);
        let shards = shard::cut(layout, options.binding_bytes)?
            .into_iter()
            .map(|spans| Shard::upload(context, layout, spans))
            .collect::<Result<_>>()?;
        let taper_units = shard::upload(context, "tapers", &tapers)?;
        Ok(Self {
            context: context.clone(),
            layout,
            options,
            tapers: tapers.len(),
            taper_units,
            shards,
            pipelines: Pipelines::default(),
            plans: HashMap::new(),
            buffers: Buffers::new(),
        })
    }

    /// The device that computes.
    pub fn context(&self) -> &GpuContext {
        &self.context
    }

    /// Runs one step of an evaluation and waits for it; what it reads was left by earlier calls.
    /// For benches.
    ///
    /// # Errors
    /// As [`Evaluator::evaluate`].
    pub fn run_pass(&mut self, population: &Population, request: &Request, pass: Pass) -> Result<()> {
        let positions = self.validate(population, request)?;
        for chunk in self.chunks(population.members(), request.gradients)? {
            self.run_chunk(population, chunk, positions.clone(), request, pass)?;
        }
        Ok(())
    }

    /// Checks a call; the positions that it is about.
    fn validate(&self, population: &Population, request: &Request) -> Result<Range<usize>> {
        let usage = |text: String| Err(Error::Usage(text));
        if request.curvature {
            return usage("the GPU evaluator has no Gauss–Newton matrices; the CPU evaluator does".into());
        }
        if population.features != self.layout.features
            || population.parameters.len() != 2 * population.features * population.members()
        {
            return usage(format!(
                "a population of {} parameters for {} members does not fit {} features",
                population.parameters.len(),
                population.members(),
                self.layout.features
            ));
        }
        let Range { start, end } = request.parts;
        match self.layout.parts.get(start..end) {
            Some([first, .., last]) => Ok(first.positions.start..last.positions.end),
            Some([only]) => Ok(only.positions.clone()),
            _ => usage(format!("parts {start}..{end} of {}", self.layout.parts.len())),
        }
    }

    fn chunks(&self, members: usize, gradients: bool) -> Result<Vec<Range<usize>>> {
        let most = plan::members_per_chunk(&self.options, self.layout.features, self.tapers, gradients)?;
        Ok((0..members).step_by(most).map(|start| start..(start + most).min(members)).collect())
    }

    /// The slices of a request, their segments uploaded.
    fn plan(&mut self, key: &PlanKey) -> Result<Arc<Vec<UploadedSlice>>> {
        if let Some(plan) = self.plans.get(key) {
            return Ok(Arc::clone(plan));
        }
        let spans: Vec<_> = self.shards.iter().map(|shard| shard.spans.as_slice()).collect();
        let (features, gradients) = (self.layout.features, key.gradients);
        let slices =
            plan::slices(&self.options, &spans, key.positions.clone(), key.tiling, features, gradients);
        let upload = |slice: Slice| -> Result<_> {
            let segments = shard::upload(&self.context, "segments", &slice.segments)?;
            Ok(UploadedSlice { slice, segments })
        };
        let uploaded = Arc::new(slices.into_iter().map(upload).collect::<Result<Vec<_>>>()?);
        // Requests of a run differ in their parts only; a thousand batches are a thousand plans.
        if self.plans.len() >= 1024 {
            self.plans.clear();
        }
        self.plans.insert(key.clone(), Arc::clone(&uploaded));
        Ok(uploaded)
    }

    /// Makes sure that the blocks of a tile's length are on the device.
    fn prepare_gathers(&mut self, tile: usize) -> Result<()> {
        let length = block_length(tile);
        if self.shards.iter().all(|shard| shard.gathers.contains_key(&length)) {
            return Ok(());
        }
        let transpose = Transpose::new(self.layout, length);
        for shard in &mut self.shards {
            shard.upload_gather(&self.context, &transpose, length)?;
        }
        Ok(())
    }

    fn pipeline(&mut self, kernel: Kernel, call: &Call) -> Result<wgpu::ComputePipeline> {
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
    fn begin_call(
        &mut self,
        population: &Population,
        members: Range<usize>,
        loss: LossKind,
        gradients: bool,
    ) -> Result<Call> {
        let features = self.layout.features;
        let tiling = Tiling::new(&self.options, members.len(), gradients);
        let padded = tiling.padded();
        let (kind, power) = match loss {
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
            gradients,
            loss: kind,
            uniforms: uniform_buffer,
            tables,
        })
    }

    fn encode_blend(&mut self, call: &Call, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
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

    fn run_chunk(
        &mut self,
        population: &Population,
        members: Range<usize>,
        positions: Range<usize>,
        request: &Request,
        pass: Pass,
    ) -> Result<Sums> {
        let call = self.begin_call(population, members, request.loss, request.gradients)?;
        if call.gradients {
            self.prepare_gathers(call.tiling.tile)?;
        }
        let plan = self.plan(&PlanKey { positions, tiling: call.tiling, gradients: call.gradients })?;
        let features = self.layout.features;
        let side = if call.gradients { 2 * features } else { 0 };
        let mut sums =
            Sums { losses: vec![0.0; call.members], gradients: vec![0.0; side * call.members] };
        let row = 4 * call.tiling.padded() as u64;
        let result_bytes = |slice: &UploadedSlice| (slice.slice.segments.len() + side) as u64 * row;
        let all: u64 = plan.iter().map(result_bytes).sum();
        let most = plan.iter().map(result_bytes).max().unwrap_or(0);
        let read_back = pass == Pass::Whole;
        self.buffers.readback.begin(&self.context, all.min(READBACK.max(most)))?;
        let mut pending: Vec<&UploadedSlice> = Vec::new();
        let mut under_way = std::collections::VecDeque::new();
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

impl Evaluator for GpuEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.context.check()?;
        let positions = self.validate(population, request)?;
        let features = self.layout.features;
        let weight: f64 = self.layout.parts[request.parts.clone()].iter().map(|part| part.weight).sum();
        let mut out = Evaluations { positions: positions.len(), ..Evaluations::default() };
        for chunk in self.chunks(population.members(), request.gradients)? {
            let sums = self.run_chunk(population, chunk.clone(), positions.clone(), request, Pass::Whole)?;
            for (column, member) in chunk.clone().enumerate() {
                // Shaders may assume that there is no infinity and no NaN, so what becomes of one
                // there is anyone's guess; the promise is kept here.
                let finite = population.k[member].is_finite()
                    && population.member(member).iter().all(|&value| (value as f32).is_finite());
                let loss = if finite { sums.losses[column] / weight } else { f64::NAN };
                out.losses.push(loss);
                if request.gradients {
                    let kappa = population.k[member] * std::f64::consts::LN_10 / 400.0;
                    let scale = kappa / (f64::from(self.layout.phase_max) * weight);
                    let scale = if finite { scale } else { f64::NAN };
                    let row = |row: usize| scale * sums.gradients[row * chunk.len() + column];
                    out.gradients.extend((0..2 * features).map(row));
                }
            }
        }
        Ok(out)
    }

    fn scores(&mut self, theta: &[f64]) -> Result<Vec<f32>> {
        self.context.check()?;
        let population = Population::single(theta, 1.0);
        let parts = 0..self.layout.parts.len();
        let request = Request { parts, loss: LossKind::Squared, gradients: false, curvature: false };
        let positions = self.validate(&population, &request)?;
        let options = GpuOptions { tile: Some(1), ..self.options };
        let saved = std::mem::replace(&mut self.options, options);
        let call = self.begin_call(&population, 0..1, LossKind::Squared, false);
        self.options = saved;
        let call = call?;
        let plan = self.plan(&PlanKey { positions, tiling: call.tiling, gradients: false })?;
        let pipeline = self.pipeline(Kernel::Scores, &call)?;
        let mut out = Vec::with_capacity(self.layout.positions());
        let mut encoder = self.context.device().create_command_encoder(&Default::default());
        self.encode_blend(&call, &mut encoder)?;
        for index in 0..self.shards.len() {
            let bytes = 4 * self.shards[index].positions.len() as u64;
            self.buffers.readback.begin(&self.context, bytes)?;
            // Scores lie in the buffer of losses, which are of no use here.
            let scores = self.buffers.losses.reserve(&self.context, bytes)?;
            let shard = &self.shards[index];
            for planned in plan.iter().filter(|planned| planned.slice.shard == index) {
                let bindings = [
                    whole(&call.uniforms),
                    whole(&planned.segments),
                    whole(&shard.places),
                    whole(&shard.rows),
                    whole(&call.tables),
                    whole(&scores),
                ];
                let groups = [planned.slice.segments.len() as u32, 1];
                let submission = self.context.guard(|| {
                    let next = self.context.device().create_command_encoder(&Default::default());
                    let mut encoder = std::mem::replace(&mut encoder, next);
                    dispatch(&self.context, &mut encoder, &pipeline, &bindings, groups);
                    self.context.queue().submit([encoder.finish()])
                })?;
                self.context.wait(submission)?;
            }
            let mut encoder = self.context.device().create_command_encoder(&Default::default());
            self.buffers.readback.push(&mut encoder, &scores, bytes);
            self.context.guard(|| self.context.queue().submit([encoder.finish()]))?;
            self.buffers.readback.finish(&self.context, |floats| out.extend_from_slice(floats))?;
        }
        Ok(out)
    }

    fn describe(&self) -> String {
        let summary = self.context.summary();
        format!("GPU: {} ({}, {})", summary.name, summary.kind, summary.backend)
    }

    fn has_curvature(&self) -> bool {
        false
    }
}

fn whole(buffer: &wgpu::Buffer) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: None }
}

fn part(buffer: &wgpu::Buffer, bytes: u64) -> wgpu::BufferBinding<'_> {
    wgpu::BufferBinding { buffer, offset: 0, size: std::num::NonZeroU64::new(bytes) }
}

/// Encodes a pass of its own, bindings numbered from 0.
fn dispatch(
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
