//! One call on one chunk of members: parameters are uploaded, passes encoded and submitted slice by slice, results
//! downloaded.

use std::collections::VecDeque;
use std::ops::Range;

use rayon::prelude::*;
use wgpu::CommandEncoder;

use super::GpuEvaluator;
use super::kernels::{Kernel, Segment, Shape, Transposition, Uniforms, Variant, block_length, kappa};
use super::plan::{Tiling, groups_for};
use super::segment_plan::{SegmentPlan, Walk};
use super::store::Array;
use crate::device::ALIGNMENT;
use crate::device::buffers::{GrowingBuffer, INPUT, OUTPUT, Readback, STATE, STORAGE, UNIFORM};
use crate::device::meter::{part, whole};
use crate::device::pace::Clock;
use crate::{Evaluations, Population, Request};
use gputexel_dataset::objective::LossKind;
use gputexel_io::Result;

/// Number of segments added by one thread of the first reduction.
pub(super) const CHUNK: usize = 64;
/// Maximum number of submissions in flight: enough that the device never waits for the host, few enough that each
/// completes soon.
const IN_FLIGHT: usize = 3;

#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) uniforms: GrowingBuffer,
    pub(super) by_member: GrowingBuffer,
    pub(super) transpositions: GrowingBuffer,
    pub(super) parameters: GrowingBuffer,
    pub(super) tables: GrowingBuffer,
    pub(super) factors: GrowingBuffer,
    pub(super) losses: GrowingBuffer,
    pub(super) slabs: GrowingBuffer,
    pub(super) partials: GrowingBuffer,
    pub(super) totals: GrowingBuffer,
    pub(super) readback: Readback,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Self {
            uniforms: GrowingBuffer::new("uniforms", UNIFORM),
            by_member: GrowingBuffer::new("parameters by member", STATE),
            transpositions: GrowingBuffer::new("transpositions", UNIFORM),
            parameters: GrowingBuffer::new("parameters", INPUT),
            tables: GrowingBuffer::new("tables", STORAGE),
            factors: GrowingBuffer::new("factors", INPUT),
            losses: GrowingBuffer::new("losses", OUTPUT),
            slabs: GrowingBuffer::new("slabs", STORAGE),
            partials: GrowingBuffer::new("partials", STORAGE),
            totals: GrowingBuffer::new("totals", OUTPUT),
            readback: Readback::default(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Σ w ℓ by part of the request and member.
    pub(super) losses: Vec<f64>,
    /// Σ w likewise, if games are resampled; else empty.
    pub(super) weights: Vec<f64>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) members: usize,
    pub(super) tiling: Tiling,
    pub(super) gradients: bool,
    pub(super) loss: u32,
    pub(super) shape: Shape,
    pub(super) sizes: Uniforms,
    pub(super) uniforms: wgpu::Buffer,
    pub(super) parameters: wgpu::Buffer,
    pub(super) tables: wgpu::Buffer,
    /// The tables again if parts have no factors: every binding must be bound.
    pub(super) factors: wgpu::Buffer,
}

impl Call {
    pub(super) fn row(&self) -> u64 {
        4 * self.tiling.padded() as u64
    }

    pub(super) fn stride(&self) -> usize {
        self.sizes.stride as usize
    }

    /// Returns true if the host's order of parameters differs from that of the kernels.
    fn is_transposed(&self) -> bool {
        self.tiling.padded() > 1
    }

    fn by_member_bytes(&self) -> u64 {
        8 * self.members as u64 * u64::from(self.sizes.features)
    }

    /// Returns the transposition from the host's order of parameters to that of the kernels.
    fn transposition(&self) -> Transposition {
        Transposition {
            rows: self.members as u32,
            columns: 2 * self.sizes.features,
            input_stride: 2 * self.sizes.features,
            output_stride: self.tiling.padded() as u32,
        }
    }

    fn transposition_back(&self) -> Transposition {
        Transposition {
            rows: 2 * self.sizes.features,
            columns: self.members as u32,
            input_stride: self.tiling.padded() as u32,
            output_stride: 2 * self.sizes.features,
        }
    }

    /// Sums losses by part, in the order of segments.
    fn sums(&self, plan: &SegmentPlan, request: &Request, losses: &[f32]) -> Sums {
        let (padded, members) = (self.tiling.padded(), self.members);
        let mut rows = losses.chunks_exact(padded);
        let mut by_part = || {
            let mut sums = vec![0.0; request.parts.len() * members];
            for segment in plan.segments() {
                let part = segment.part as usize - request.parts.start;
                let row = rows.next().expect("one was requested per segment");
                add(&mut sums[part * members..(part + 1) * members], row);
            }
            sums
        };
        let losses = by_part();
        let weights = if self.shape.resamples { by_part() } else { Vec::new() };
        Sums { losses, weights }
    }

    pub(super) fn loss_rows(&self, plan: &SegmentPlan) -> u64 {
        (plan.total() * if self.shape.resamples { 2 } else { 1 }) as u64
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slice<'p> {
    pub(super) shard: usize,
    pub(super) first: usize,
    pub(super) ordinal: usize,
    pub(super) segments: &'p [Segment],
    pub(super) buffer: &'p wgpu::Buffer,
}

impl GpuEvaluator<'_> {
    pub(super) fn pipeline(&mut self, kernel: Kernel, call: &Call) -> Result<wgpu::ComputePipeline> {
        let variant = Variant::new(kernel, call.tiling.tile, call.loss, call.shape);
        self.pipelines.get(&self.gpu, variant)
    }

    fn walk(&mut self, kernel: Kernel, call: &Call, plan: &SegmentPlan) -> Result<wgpu::ComputePipeline> {
        let (features, tile) = (self.layout.features(), call.tiling.tile);
        let positions: u64 = plan.segments().map(|segment| u64::from(segment.end - segment.first)).sum();
        // Every workgroup copies the table; a position takes about ten rows of it.
        let pays = positions * 2 >= (features * plan.total()) as u64 && !call.shape.shared;
        let staged = pays && self.options.device.stages(self.options.choice, tile, features, call.gradients);
        let variant = Variant::new(kernel, tile, call.loss, call.shape);
        let variant = if staged { variant.for_features(features) } else { variant };
        self.pipelines.get(&self.gpu, variant)
    }

    /// Uploads the parameters, K and all other values per member; the input of `blend`.
    pub(super) fn begin_call(
        &mut self,
        population: &Population,
        members: Range<usize>,
        tiling: Tiling,
        request: &Request,
    ) -> Result<Call> {
        let features = self.layout.features();
        let (padded, width) = (tiling.padded(), tiling.tile.min(4));
        let (loss, power) = match request.loss {
            LossKind::Squared => (0, 2.0),
            LossKind::CrossEntropy => (1, 1.0),
            LossKind::Power(q) => (2, q as f32),
        };
        let blends = population.blends.iter().any(|&blend| blend != 0.0);
        let resamples = !population.resamples.is_empty();
        self.extended |= blends || resamples;
        let shape = Shape {
            vector: width > 1,
            unit: self.layout.unit_rows(),
            blends,
            resamples,
            shared: population.is_shared() && members.len() > 1,
            weighted: !population.part_weights.is_empty(),
            extended: self.extended,
        };
        let columns = if shape.shared { width } else { padded };
        let member_rows = self.tapers * features * columns;
        let sizes = Uniforms {
            features: features as u32,
            stride: (padded / width) as u32,
            columns: (columns / width) as u32,
            chunk: CHUNK as u32,
            member_rows: (member_rows / width) as u32,
            power,
            ..Uniforms::default()
        };
        let gpu = &self.gpu;
        let theta_bytes = 4 * (2 * features * columns) as u64;
        let parameters = self.buffers.parameters.reserve(gpu, theta_bytes + 16 * padded as u64)?;
        let settings = of_members(population, &members, padded, self.layout.phase_max());
        gpu.write(&parameters, theta_bytes, bytemuck::cast_slice(&settings))?;
        let theta = match population.is_shared() {
            true => population.member(0),
            false => &population.parameters[2 * features * members.start..2 * features * members.end],
        };
        if shape.shared {
            // A shared value fills one Real, so that kernels can treat it like one value per member.
            let repeated: Vec<f64> =
                theta.iter().flat_map(|&value| std::iter::repeat_n(value, columns)).collect();
            gpu.write_floats(&parameters, 0, &repeated)?;
        } else if padded == 1 {
            gpu.write_floats(&parameters, 0, theta)?;
        } else {
            let by_member = self.buffers.by_member.reserve(gpu, 4 * theta.len() as u64)?;
            gpu.write_floats(&by_member, 0, theta)?;
        }
        let uniforms = self.buffers.uniforms.reserve(gpu, size_of::<Uniforms>() as u64)?;
        let tables = self.buffers.tables.reserve(gpu, 4 * (member_rows + 4 * padded) as u64)?;
        let factors = if shape.weighted && (request.gradients || request.curvature) {
            let parts = self.layout.parts().len();
            let mut factors = vec![0f32; parts * padded];
            for (column, member) in members.clone().enumerate() {
                for part in 0..parts {
                    factors[part * padded + column] = population.part_weight(member, part, parts);
                }
            }
            self.buffers.factors.fill(gpu, bytemuck::cast_slice(&factors))?
        } else {
            tables.clone()
        };
        let call = Call {
            members: members.len(),
            tiling,
            gradients: request.gradients,
            loss,
            shape,
            sizes,
            uniforms,
            parameters,
            tables,
            factors,
        };
        if call.is_transposed() {
            let mut both = bytemuck::bytes_of(&call.transposition()).to_vec();
            both.resize(ALIGNMENT as usize, 0);
            both.extend(bytemuck::bytes_of(&call.transposition_back()));
            self.buffers.transpositions.fill(&self.gpu, &both)?;
        }
        Ok(call)
    }

    /// Encodes the transposition of the parameters from the host's order to that of the kernels; once per call.
    pub(super) fn encode_parameters(&mut self, call: &Call, encoder: &mut CommandEncoder) -> Result<()> {
        if call.shape.shared || !call.is_transposed() {
            return Ok(());
        }
        let inputs = self.buffers.by_member.reserve(&self.gpu, call.by_member_bytes())?;
        let outputs = call.parameters.clone();
        self.encode_transposition(call, 0, call.transposition(), [&inputs, &outputs], encoder)
    }

    fn encode_gradients(&mut self, call: &Call, encoder: &mut CommandEncoder) -> Result<wgpu::Buffer> {
        let totals = self.buffers.totals.reserve(&self.gpu, 0)?;
        if !call.is_transposed() {
            return Ok(totals);
        }
        // The previous parameters are no longer needed.
        let outputs = self.buffers.by_member.reserve(&self.gpu, call.by_member_bytes())?;
        self.encode_transposition(call, ALIGNMENT, call.transposition_back(), [&totals, &outputs], encoder)?;
        Ok(outputs)
    }

    fn encode_transposition(
        &mut self,
        call: &Call,
        offset: u64,
        sizes: Transposition,
        [inputs, outputs]: [&wgpu::Buffer; 2],
        encoder: &mut CommandEncoder,
    ) -> Result<()> {
        let pipeline = self.pipeline(Kernel::Transpose, call)?;
        let uniforms = self.buffers.transpositions.reserve(&self.gpu, 0)?;
        let uniforms = wgpu::BufferBinding { offset, ..part(&uniforms, size_of::<Transposition>() as u64) };
        let bindings = [uniforms, whole(inputs), whole(outputs)];
        self.gpu.dispatch(encoder, &pipeline, &bindings, sizes.groups())
    }

    pub(super) fn encode_blend(&mut self, call: &Call, encoder: &mut CommandEncoder) -> Result<()> {
        let pipeline = self.pipeline(Kernel::Blend, call)?;
        let bindings = [
            whole(&call.uniforms),
            whole(&call.parameters),
            whole(self.taper_units.raw()),
            whole(&call.tables),
        ];
        let elements = self.layout.features() * (call.sizes.columns as usize).max(1);
        let groups = [groups_for(elements.max(4 * call.stride())), self.tapers as u32 + 1];
        self.gpu.dispatch(encoder, &pipeline, &bindings, groups)
    }

    pub(super) fn write_sizes(&self, call: &Call, slice: &Slice<'_>, total: usize) -> Result<()> {
        let sizes = Uniforms {
            first_segment: slice.first as u32,
            segments: slice.segments.len() as u32,
            ordinal: slice.ordinal as u32,
            total_segments: total as u32,
            ..call.sizes
        };
        self.gpu.write(&call.uniforms, 0, bytemuck::bytes_of(&sizes))
    }

    pub(super) fn encode_slice(
        &mut self,
        call: &Call,
        plan: &SegmentPlan,
        slice: &Slice<'_>,
        encoder: &mut CommandEncoder,
    ) -> Result<()> {
        let features = self.layout.features();
        let count = slice.segments.len();
        let kernel = if call.gradients { Kernel::Gradient } else { Kernel::Loss };
        let walk = self.walk(kernel, call, plan)?;
        let losses = self.buffers.losses.reserve(&self.gpu, call.loss_rows(plan) * call.row())?;
        let places = self.store.array(&self.gpu, slice.shard, Array::Places(self.extended))?;
        let rows = self.store.array(&self.gpu, slice.shard, Array::Rows)?;
        let mut bindings = vec![
            whole(&call.uniforms),
            whole(slice.buffer),
            whole(&places),
            whole(&rows),
            whole(&call.tables),
            whole(&losses),
        ];
        let groups = [count as u32, call.tiling.tiles as u32];
        if !call.gradients {
            return self.gpu.dispatch(encoder, &walk, &bindings, groups);
        }
        let block = block_length(call.tiling.tile);
        let runs = self.store.array(&self.gpu, slice.shard, Array::Runs(block))?;
        let entries = self.store.array(&self.gpu, slice.shard, Array::Entries(block))?;
        let slabs = self.buffers.slabs.reserve(&self.gpu, (count * features) as u64 * call.row())?;
        bindings.extend([whole(&runs), whole(&entries), whole(&slabs)]);
        self.gpu.dispatch(encoder, &walk, &bindings, groups)?;
        // Partial sums outlive a slice, so they are allocated in full from the start.
        let side = 2 * features as u64 * call.row();
        let most = 2 + self.slab_segments(call.tiling).min(plan.total()).div_ceil(CHUNK) as u64;
        let partials = self.buffers.partials.reserve(&self.gpu, most * side)?;
        let totals = self.buffers.totals.reserve(&self.gpu, side)?;
        let (reduce, total) = (self.pipeline(Kernel::Reduce, call)?, self.pipeline(Kernel::Total, call)?);
        let elements = features * call.stride();
        let chunks = (slice.ordinal + count).div_ceil(CHUNK) - slice.ordinal / CHUNK;
        let bindings = [
            whole(&call.uniforms),
            whole(slice.buffer),
            whole(&slabs),
            whole(self.taper_units.raw()),
            whole(&partials),
            whole(&call.factors),
        ];
        let groups = [groups_for(elements), chunks as u32];
        self.gpu.dispatch(encoder, &reduce, &bindings, groups)?;
        // The kernel derives the number of elements from the binding's size.
        let bindings = [whole(&call.uniforms), whole(&partials), part(&totals, side)];
        self.gpu.dispatch(encoder, &total, &bindings, [groups_for(2 * elements), 1])
    }

    pub(super) fn slab_segments(&self, tiling: Tiling) -> usize {
        // A sixteenth of each slab, and four slabs, are reserved for partial sums.
        let slab = 4 * (self.layout.features().max(1) * tiling.padded()) as u64;
        let room = self.budget.slabs.min(self.options.binding_bytes);
        (room.saturating_sub(4 * slab) / (slab + slab / 16)).clamp(1, 65_535) as usize
    }

    pub(super) fn slice_length(&self, call: &Call, segments: &[Segment]) -> (usize, u64) {
        let most = if call.gradients { self.slab_segments(call.tiling) } else { 65_535 };
        let wanted = self.paces[usize::from(call.gradients)].pairs();
        leading(&segments[..segments.len().min(most)], call.tiling.padded() as u64, wanted)
    }

    /// Evaluates a chunk of members into `out`; returns Σ w of each.
    pub(super) fn run_chunk(
        &mut self,
        population: &Population,
        members: Range<usize>,
        whole: Tiling,
        request: &Request,
        out: &mut Evaluations,
    ) -> Result<Vec<f64>> {
        let plan = self.plan(&self.key(request, whole, Walk::of(request)))?;
        let tiling = Tiling { tile: whole.tile, tiles: members.len().div_ceil(whole.tile) };
        let call = self.begin_call(population, members.clone(), tiling, request)?;
        let mut under_way: VecDeque<(wgpu::SubmissionIndex, u64, usize)> = VecDeque::new();
        let mut clock = Clock::start();
        for shard in 0..plan.shards.len() {
            let planned = &plan.shards[shard];
            // A slot is only overwritten when the shard before the previous one is finished: pending uploads
            // take host memory until the device gets to them.
            while self.store.streamed && under_way.front().is_some_and(|&(_, _, s)| s + 1 < shard) {
                self.await_oldest(&call, &mut under_way, &mut clock)?;
            }
            let mut at = 0;
            while at < planned.segments.len() {
                let (count, pairs) = self.slice_length(&call, &planned.segments[at..]);
                let slice = plan.slice(shard, at..at + count);
                self.write_sizes(&call, &slice, plan.total())?;
                let mut encoder = self.gpu.encoder();
                if slice.ordinal == 0 {
                    self.encode_parameters(&call, &mut encoder)?;
                    self.encode_blend(&call, &mut encoder)?;
                }
                self.encode_slice(&call, &plan, &slice, &mut encoder)?;
                if slice.ordinal + count == plan.total() {
                    self.encode_results(&call, &plan, &mut encoder)?;
                }
                if under_way.is_empty() {
                    // Packing and uploading data, and compiling, say nothing about the device's speed.
                    clock = Clock::start();
                }
                under_way.push_back((self.gpu.submit(Some(encoder))?, pairs, shard));
                if under_way.len() > IN_FLIGHT {
                    self.await_oldest(&call, &mut under_way, &mut clock)?;
                }
                at += count;
            }
        }
        // While the device works.
        let finite: Vec<bool> =
            members.clone().into_par_iter().map(|member| super::is_finite(population, member)).collect();
        while under_way.len() > 1 {
            self.await_oldest(&call, &mut under_way, &mut clock)?;
        }
        let (last, pairs, _) = under_way.pop_front().expect("a request has positions");
        let loss_floats = call.loss_rows(&plan) as usize * call.tiling.padded();
        let mut readback = std::mem::take(&mut self.buffers.readback);
        let answer = readback.finish(&self.gpu, last, |floats| {
            let took = clock.lap();
            let (losses, gradients) = floats.split_at(loss_floats);
            let sums = call.sums(&plan, request, losses);
            (took, self.means(population, (members, &finite), request, (&sums, gradients), out))
        });
        self.buffers.readback = readback;
        let (took, weights) = answer?;
        self.paces[usize::from(call.gradients)].observe(pairs, took);
        Ok(weights)
    }

    fn encode_results(
        &mut self,
        call: &Call,
        plan: &SegmentPlan,
        encoder: &mut CommandEncoder,
    ) -> Result<()> {
        let loss_bytes = call.loss_rows(plan) * call.row();
        let gradient_bytes = if call.gradients { call.by_member_bytes() } else { 0 };
        self.buffers.readback.begin(&self.gpu, loss_bytes + gradient_bytes)?;
        let losses = self.buffers.losses.reserve(&self.gpu, 0)?;
        self.buffers.readback.push(encoder, &losses, loss_bytes);
        if call.gradients {
            let gradients = self.encode_gradients(call, encoder)?;
            self.buffers.readback.push(encoder, &gradients, gradient_bytes);
        }
        Ok(())
    }

    fn await_oldest(
        &mut self,
        call: &Call,
        under_way: &mut VecDeque<(wgpu::SubmissionIndex, u64, usize)>,
        clock: &mut Clock,
    ) -> Result<()> {
        if let Some((oldest, pairs, _)) = under_way.pop_front() {
            self.gpu.wait(oldest)?;
            self.paces[usize::from(call.gradients)].observe(pairs, clock.lap());
        }
        Ok(())
    }
}

fn of_members(population: &Population, members: &Range<usize>, padded: usize, phase_max: u16) -> Vec<f32> {
    let mut rows = vec![0f32; 4 * padded];
    for (column, member) in members.clone().enumerate() {
        let seed = population.resamples.get(member).copied().unwrap_or(0);
        let values = [
            kappa(population.k[member], phase_max),
            population.blends.get(member).copied().unwrap_or(0.0),
            (seed >> 16) as f32,
            (seed & 0xffff) as f32,
        ];
        for (row, value) in values.into_iter().enumerate() {
            rows[row * padded + column] = value;
        }
    }
    rows
}

/// Returns how many segments have at most `wanted` pairs, but at least one, and their number of pairs.
pub(super) fn leading(segments: &[Segment], per_position: u64, wanted: u64) -> (usize, u64) {
    let (mut count, mut pairs) = (0, 0);
    for segment in segments {
        let more = u64::from(segment.end - segment.first) * per_position;
        if count > 0 && pairs + more > wanted {
            break;
        }
        (count, pairs) = (count + 1, pairs + more);
    }
    (count, pairs)
}

/// Adds a row of floats to sums in f64, without the padding.
fn add(sums: &mut [f64], row: &[f32]) {
    sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
}

impl SegmentPlan {
    pub(super) fn slice(&self, shard: usize, range: Range<usize>) -> Slice<'_> {
        let planned = &self.shards[shard];
        Slice {
            shard,
            first: range.start,
            ordinal: planned.ordinal + range.start,
            segments: &planned.segments[range],
            buffer: planned.buffer.raw(),
        }
    }
}
