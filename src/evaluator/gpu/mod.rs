//! The GPU evaluator: losses and gradients of a population by compute shaders.
//!
//! Members go in chunks whose tables fit, positions in slices whose slabs and time are bounded; a
//! slice is one submission, and slices are added in f64. Owns the evaluator and its caches. Leaves
//! the device to `context`, the kernels to `kernels` and `shaders/`, the data on the device to
//! `shard`, the cutting to `plan`, and the encoding of a call to `call` and `buffers`. No sum
//! depends on the order in which threads run, so equal calls on one device give equal bytes.

mod buffers;
mod call;
mod context;
pub mod kernels;
mod plan;
mod shard;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

pub use context::{AdapterSummary, BackendChoice, GpuContext, list_adapters};
pub use plan::GpuOptions;

use self::call::{Buffers, dispatch, whole};
use self::kernels::{Kernel, Pipelines, block_length};
use self::plan::{Slice, Tiling};
use self::shard::Shard;
use super::{Evaluations, Evaluator, Population, Request};
use crate::dataset::{Layout, Transpose};
use crate::error::{Error, Result};
use crate::objective::LossKind;

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
        population.validate(self.layout)?;
        let weighted = !(population.part_weights.is_empty()
            && population.blends.is_empty()
            && population.resamples.is_empty());
        if weighted {
            return usage("the GPU evaluator weights all members alike; the CPU evaluator does not".into());
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
        let call = self.begin_call(&population, 0..1, Tiling { tile: 1, tiles: 1 }, &request)?;
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
