//! Gauss–Newton matrices on the device, one member at a time.

use super::GpuEvaluator;
use super::call::{Call, leading};
use super::kernels::{Kernel, MAX_BLOCK, RESIDUALS, Variant};
use super::memory::{larger_limits, memory_error};
use super::plan::{Budget, Tiling, groups_for};
use super::segment_plan::{SegmentPlan, Walk};
use super::store::Array;
use crate::device::meter::{part, whole};
use crate::device::pace::Clock;
use crate::{Population, Request};
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::{Error, Result};

const CHUNK: usize = 16;
const WORKGROUPS_PER_SEGMENT: u32 = 16;
/// Number of pairs assumed per position of the matrix until its speed has been measured.
const PAIRS_PER_POSITION: u64 = 64;

impl GpuEvaluator<'_> {
    /// Computes Σ w h x xᵀ / `weight` of one member, per centipawn squared: symmetric, row-major, 2F × 2F.
    pub(super) fn curvature(
        &mut self,
        population: &Population,
        member: usize,
        request: &Request,
        weight: f64,
    ) -> Result<Vec<f64>> {
        let features = self.layout.features();
        if features > RESIDUALS {
            return Err(Error::Usage(format!(
                "{features} features: the GPU evaluator has Gauss-Newton matrices of at most {RESIDUALS}"
            )));
        }
        let max_segments = self.matrix_segments()?;
        let tiling = Tiling { tile: 1, tiles: 1 };
        let plan = self.plan(&self.key(request, tiling, Walk::Matrices))?;
        let mut call = self.begin_call(population, member..member + 1, tiling, request)?;
        call.sizes.chunk = CHUNK as u32;
        let bytes = 12 * (features * features) as u64;
        self.buffers.readback.begin(&self.gpu, bytes)?;
        let mut last = None;
        for shard in 0..plan.shards.len() {
            let planned = &plan.shards[shard];
            let mut at = 0;
            while at < planned.segments.len() {
                let wanted = self.paces[Walk::Matrices as usize].pairs();
                let rest = &planned.segments[at..planned.segments.len().min(at + max_segments)];
                let (count, pairs) = leading(rest, PAIRS_PER_POSITION, wanted);
                let slice = plan.slice(shard, at..at + count);
                self.write_sizes(&call, &slice, plan.total())?;
                let mut encoder = self.gpu.encoder();
                if slice.ordinal == 0 {
                    self.encode_parameters(&call, &mut encoder)?;
                    self.encode_blend(&call, &mut encoder)?;
                }
                self.encode_matrix(&call, &plan, shard, at..at + count, &mut encoder)?;
                at += count;
                let is_last = slice.ordinal + count == plan.total();
                if is_last {
                    let totals = self.buffers.totals.reserve(&self.gpu, 0)?;
                    self.buffers.readback.push(&mut encoder, &totals, bytes);
                }
                let mut clock = Clock::start();
                let submission = self.gpu.submit(Some(encoder))?;
                // The last slice is awaited together with its result.
                if is_last {
                    last = Some(submission);
                } else {
                    self.gpu.wait(submission)?;
                    self.paces[Walk::Matrices as usize].observe(pairs, clock.lap());
                }
            }
        }
        let last = last.expect("a request has positions");
        let scale = (x_per_cp(population.k[member]) / f64::from(self.layout.phase_max())).powi(2) / weight;
        let scale = if super::is_finite(population, member) { scale } else { f64::NAN };
        self.buffers.readback.finish(&self.gpu, last, |blocks| assemble(blocks, features, scale))
    }

    fn matrix_segments(&self) -> Result<usize> {
        let slab = 4 * (self.layout.features() * self.layout.features()).max(1) as u64;
        // One slab per segment, and three blocks of partial sums per chunk, with two chunks to spare.
        let room = |budget: &Budget| {
            let room = budget.slabs.min(self.options.binding_bytes);
            (room / slab).saturating_sub(9) * CHUNK as u64 / (CHUNK as u64 + 3)
        };
        match room(&self.budget) {
            0 => {
                let reason = Error::Gpu(format!(
                    "a Gauss-Newton matrix of {} features does not fit in memory together with the dataset",
                    self.layout.features()
                ));
                let Some(memory) = self.planned else { return Err(reason) };
                let enough = |&memory: &u64| room(&Budget::new(&self.options, Some(memory))) > 0;
                Err(memory_error(&reason, memory, larger_limits(memory).find(enough)))
            }
            segments => Ok(segments.min(65_535) as usize),
        }
    }

    fn encode_matrix(
        &mut self,
        call: &Call,
        plan: &SegmentPlan,
        shard: usize,
        range: std::ops::Range<usize>,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<()> {
        let features = self.layout.features();
        let size = (features * features) as u64;
        let slice = plan.slice(shard, range);
        let count = slice.segments.len();
        let positions = super::shard::positions(self.store.shards()[shard]).len() as u64;
        let mut array = |array| self.store.array(&self.gpu, shard, array);
        let (places, rows) = (array(Array::Places(self.extended))?, array(Array::Rows)?);
        let (runs, entries) = (array(Array::Runs(MAX_BLOCK))?, array(Array::Entries(MAX_BLOCK))?);
        let heads = array(Array::Heads)?;
        let curvatures = self.buffers.losses.reserve(&self.gpu, 4 * positions)?;
        let slabs = self.buffers.slabs.reserve(&self.gpu, 4 * size * count as u64)?;
        // Partial sums outlive a slice, so they are allocated in full from the start.
        let max_partials = 2 + self.matrix_segments()?.min(plan.total()).div_ceil(CHUNK) as u64;
        let partials = self.buffers.partials.reserve(&self.gpu, max_partials * 12 * size)?;
        let totals = self.buffers.totals.reserve(&self.gpu, 12 * size)?;

        let pipeline = self.pipeline(Kernel::LossCurvature, call)?;
        let bindings = [
            whole(&call.uniforms),
            whole(slice.buffer),
            whole(&places),
            whole(&rows),
            whole(&call.tables),
            whole(&curvatures),
        ];
        self.gpu.dispatch(encoder, &pipeline, &bindings, [count as u32, WORKGROUPS_PER_SEGMENT])?;

        let variant = Variant::new(Kernel::HessianSlab, 1, 0, call.shape).for_features(features);
        let pipeline = self.pipelines.get(&self.gpu, variant)?;
        let bindings = [
            whole(&call.uniforms),
            whole(slice.buffer),
            whole(&places),
            whole(&rows),
            whole(&curvatures),
            whole(&heads),
            whole(&runs),
            whole(&entries),
            whole(&slabs),
        ];
        // Features first: neighboring workgroups then visit one segment, which stays in the cache.
        self.gpu.dispatch(encoder, &pipeline, &bindings, [features as u32, count as u32])?;

        let pipeline = self.pipeline(Kernel::HessianExpand, call)?;
        let chunks = (slice.ordinal + count).div_ceil(CHUNK) - slice.ordinal / CHUNK;
        let bindings = [
            whole(&call.uniforms),
            whole(slice.buffer),
            whole(&slabs),
            whole(self.taper_units.raw()),
            whole(&partials),
            whole(&call.factors),
        ];
        let groups = [groups_for(size as usize), chunks as u32];
        self.gpu.dispatch(encoder, &pipeline, &bindings, groups)?;

        let pipeline = self.pipeline(Kernel::Total, call)?;
        let bindings = [whole(&call.uniforms), whole(&partials), part(&totals, 12 * size)];
        self.gpu.dispatch(encoder, &pipeline, &bindings, [groups_for(3 * size as usize), 1])
    }
}

/// Returns the whole matrix, scaled, from the lower triangles of its blocks mg-mg, mg-eg and eg-eg.
fn assemble(blocks: &[f32], features: usize, scale: f64) -> Vec<f64> {
    let size = 2 * features;
    let mut matrix = vec![0.0; size * size];
    let mut set = |i: usize, j: usize, value: f64| {
        matrix[i * size + j] = value;
        matrix[j * size + i] = value;
    };
    for i in 0..features {
        for j in 0..=i {
            let block = |block: usize| f64::from(blocks[(block * features + i) * features + j]) * scale;
            set(i, j, block(0));
            set(features + i, j, block(1));
            set(features + j, i, block(1));
            set(features + i, features + j, block(2));
        }
    }
    matrix
}
