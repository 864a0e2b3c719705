//! Several Adam steps in one submission: evaluate, reduce, update, repeat, without the host.
//!
//! The state after each step is copied on the device and downloaded with the others, so that the host may
//! stop after any of them.

use rayon::prelude::*;

use super::GpuEvaluator;
use super::call::{Call, Slice};
use super::kernels::{Kernel, Uniforms};
use super::plan::{Chunks, groups_for};
use super::segment_plan::{SegmentPlan, Walk};
use crate::AdamStep;
use crate::device::ALIGNMENT;
use crate::device::buffers::GrowingBuffer;
use crate::device::meter::{part, whole};
use crate::device::pace::Clock;
use crate::device_steps::AdamBatch;
use crate::{Evaluations, Population, Request};
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::Result;

/// Maximum bytes that a batch of steps accumulates on the device before they are downloaded.
const HISTORY: u64 = 8 << 20;

#[derive(Debug)]
pub(super) struct StepBuffers {
    sizes: GrowingBuffer,
    state: GrowingBuffer,
    prior: GrowingBuffer,
    settings: GrowingBuffer,
    rates: GrowingBuffer,
    norms: GrowingBuffer,
}

impl StepBuffers {
    pub(super) fn new() -> Self {
        Self {
            sizes: GrowingBuffer::uniform("sizes"),
            state: GrowingBuffer::state("moments"),
            prior: GrowingBuffer::input("prior"),
            settings: GrowingBuffer::input("settings"),
            rates: GrowingBuffer::input("rates"),
            norms: GrowingBuffer::state("norms"),
        }
    }
}

impl GpuEvaluator<'_> {
    /// Takes the first steps of a batch, as many as fit in a submission; `None` if members or positions do not fit on
    /// the device together. Whether they fit depends only on sizes, and so do the results.
    pub(super) fn take_steps(&mut self, batch: &AdamBatch) -> Result<Option<Vec<AdamStep>>> {
        let (population, members) = (&batch.population, batch.population.members());
        let request = Request { gradients: true, curvature: false, ..batch.request.clone() };
        let finite = (0..members).all(|member| super::is_finite(population, member));
        let resampled = !population.resamples.is_empty();
        if self.is_streamed() || members == 0 || !finite || resampled || population.is_shared() && members > 1
        {
            return Ok(None);
        }
        let Chunks { tiling, members: chunks } = self.chunks(population, &request)?;
        if chunks.len() > 1 {
            return Ok(None);
        }
        let plan = self.plan(&self.key(&request, tiling, Walk::Gradients))?;
        let mut call = self.begin_call(population, 0..members, tiling, &request)?;
        let padded = tiling.padded();
        let size = 2 * self.layout.features() * padded;
        let loss_bytes = call.loss_rows(&plan) * call.row();
        let step_bytes = 16 * size as u64 + loss_bytes + call.row();
        let steps = (batch.rates.len() / members).min((HISTORY / step_bytes).max(1) as usize);

        let slices = self.write_slices(&mut call, &plan)?;
        self.write_state(&call, batch, steps)?;
        self.buffers.readback.begin(&self.gpu, steps as u64 * step_bytes)?;
        let wanted = self.paces[Walk::Gradients as usize].pairs();
        let mut encoder = self.gpu.encoder();
        let mut clock = Clock::start();
        let mut pairs = 0;
        self.encode_parameters(&call, &mut encoder)?;
        for step in 0..steps {
            self.encode_blend(&call, &mut encoder)?;
            for (slice, more) in &slices {
                self.encode_slice(&call, &plan, slice, &mut encoder)?;
                pairs += more;
                if pairs >= wanted {
                    let full = std::mem::replace(&mut encoder, self.gpu.encoder());
                    let submission = self.gpu.submit(Some(full))?;
                    self.gpu.wait(submission)?;
                    self.paces[Walk::Gradients as usize].observe(pairs, clock.lap());
                    pairs = 0;
                }
            }
            self.encode_update(&call, step, &mut encoder)?;
            let losses = self.buffers.losses.reserve(&self.gpu, 0)?;
            let state = self.steps.state.reserve(&self.gpu, 0)?;
            self.buffers.readback.push(&mut encoder, &losses, loss_bytes);
            self.buffers.readback.push(&mut encoder, &call.parameters, 4 * size as u64);
            self.buffers.readback.push(&mut encoder, &state, 12 * size as u64);
        }
        let norms = self.steps.norms.reserve(&self.gpu, 0)?;
        let stride = (padded as u64 * 4).next_multiple_of(ALIGNMENT);
        for step in 0..steps as u64 {
            self.buffers.readback.push_from(&mut encoder, &norms, step * stride, call.row());
        }
        let last = self.gpu.submit(Some(encoder))?;
        let floats = self.buffers.readback.finish(&self.gpu, last, <[f32]>::to_vec)?;
        Ok(Some(self.steps_of(&call, &plan, population, &request, &floats)))
    }

    /// Divides a plan into slices and writes the uniforms of each to its own place.
    fn write_slices<'p>(&mut self, call: &mut Call, plan: &'p SegmentPlan) -> Result<Vec<(Slice<'p>, u64)>> {
        let mut slices = Vec::new();
        let mut bytes: Vec<u8> = Vec::new();
        for (shard, planned) in plan.shards.iter().enumerate() {
            let mut at = 0;
            while at < planned.segments.len() {
                let (count, pairs) = self.slice_length(call, &planned.segments[at..]);
                let slice = Slice { sizes_at: bytes.len() as u64, ..plan.slice(shard, at..at + count) };
                bytes.extend(bytemuck::bytes_of(&call.sizes_of(&slice, plan.total())));
                bytes.resize(bytes.len().next_multiple_of(ALIGNMENT as usize), 0);
                slices.push((slice, pairs));
                at += count;
            }
        }
        call.uniforms = self.steps.sizes.fill(&self.gpu, &bytes)?;
        Ok(slices)
    }

    /// Uploads moments, settings and rates.
    fn write_state(&mut self, call: &Call, batch: &AdamBatch, steps: usize) -> Result<()> {
        let (features, padded, members) =
            (self.layout.features(), call.tiling.padded(), batch.population.members());
        let size = 2 * features * padded;
        let mut state = vec![0f32; 3 * size];
        let theta = &batch.population.parameters;
        for (i, value) in theta.iter().enumerate() {
            let at = i % (2 * features) * padded + i / (2 * features);
            state[at] = (value - f64::from(*value as f32)) as f32;
            state[size + at] = batch.first_moment[i] as f32;
            state[2 * size + at] = batch.second_moment[i] as f32;
        }
        let high = batch.prior.iter().map(|&value| value as f32);
        let low = batch.prior.iter().map(|&value| (value - f64::from(value as f32)) as f32);
        let prior: Vec<f32> = high.chain(low).collect();
        let parts = self.layout.parts().len();
        let mut settings = vec![0f32; 7 * padded];
        for (column, member) in batch.settings.iter().enumerate() {
            let weight: f64 = batch
                .request
                .parts
                .clone()
                .map(|p| {
                    f64::from(batch.population.part_weight(column, p, parts)) * self.layout.parts()[p].weight
                })
                .sum();
            let kappa = x_per_cp(batch.population.k[column]);
            let values = [
                member.beta1,
                1.0 - member.beta1,
                member.beta2,
                1.0 - member.beta2,
                member.epsilon,
                member.pull,
                kappa / (f64::from(self.layout.phase_max()) * weight),
            ];
            for (row, value) in values.into_iter().enumerate() {
                settings[row * padded + column] = value as f32;
            }
        }
        let stride = (8 * padded).next_multiple_of(ALIGNMENT as usize) / 4;
        let mut rates = vec![0f32; steps * stride];
        for (i, &(rate, correction)) in batch.rates.iter().take(steps * members).enumerate() {
            let at = i / members * stride + i % members;
            (rates[at], rates[at + padded]) = (rate as f32, correction as f32);
        }
        // With an ε of 0, padding, whose rates are 0, would become NaN.
        for column in members..padded {
            settings[4 * padded + column] = 1.0;
        }
        let norms = vec![0u8; steps * (4 * padded).next_multiple_of(ALIGNMENT as usize)];
        self.steps.state.fill(&self.gpu, bytemuck::cast_slice(&state))?;
        self.steps.prior.fill(&self.gpu, bytemuck::cast_slice(&prior))?;
        self.steps.settings.fill(&self.gpu, bytemuck::cast_slice(&settings))?;
        self.steps.rates.fill(&self.gpu, bytemuck::cast_slice(&rates))?;
        self.steps.norms.fill(&self.gpu, &norms)?;
        Ok(())
    }

    fn encode_update(&mut self, call: &Call, step: usize, encoder: &mut wgpu::CommandEncoder) -> Result<()> {
        let pipeline = self.pipeline(Kernel::Adam, call)?;
        let elements = 2 * self.layout.features() * call.tiling.padded();
        let row = call.row();
        let totals = self.buffers.totals.reserve(&self.gpu, 0)?;
        let steps = &mut self.steps;
        let state = steps.state.reserve(&self.gpu, 0)?;
        let prior = steps.prior.reserve(&self.gpu, 0)?;
        let settings = steps.settings.reserve(&self.gpu, 0)?;
        let rates = steps.rates.reserve(&self.gpu, 0)?;
        let norms = steps.norms.reserve(&self.gpu, 0)?;
        let own = |buffer, bytes: u64| wgpu::BufferBinding {
            offset: step as u64 * bytes.next_multiple_of(ALIGNMENT),
            ..part(buffer, bytes)
        };
        let bindings = [
            part(&call.uniforms, size_of::<Uniforms>() as u64),
            part(&totals, 4 * elements as u64),
            whole(&call.parameters),
            whole(&state),
            whole(&prior),
            whole(&settings),
            own(&rates, 2 * row),
            own(&norms, row),
        ];
        self.gpu.dispatch(encoder, &pipeline, &bindings, [groups_for(elements), 1])
    }

    /// Returns the steps that were downloaded.
    fn steps_of(
        &self,
        call: &Call,
        plan: &SegmentPlan,
        population: &Population,
        request: &Request,
        floats: &[f32],
    ) -> Vec<AdamStep> {
        let (features, padded, members) = (self.layout.features(), call.tiling.padded(), call.members);
        let size = 2 * features * padded;
        let positions = self.positions(&request.parts).len();
        let loss_floats = call.loss_rows(plan) as usize * padded;
        let steps = floats.len() / (loss_floats + 4 * size + padded);
        let (history, norms) = floats.split_at(steps * (loss_floats + 4 * size));
        // Member by member, without padding.
        let gather = |of: &(dyn Fn(usize) -> f64 + Sync)| -> Vec<f64> {
            let mut values = vec![0.0; 2 * features * members];
            values.par_chunks_mut(2 * features.max(1)).enumerate().for_each(|(m, values)| {
                values.iter_mut().enumerate().for_each(|(row, value)| *value = of(row * padded + m));
            });
            values
        };
        let alone = Request { gradients: false, ..request.clone() };
        // A kernel cannot report the loss of a member whose parameters are no longer finite.
        let mut alive = vec![true; members];
        let mut all = Vec::with_capacity(steps);
        for (step, norms) in history.chunks_exact(loss_floats + 4 * size).zip(norms.chunks_exact(padded)) {
            let (losses, state) = step.split_at(loss_floats);
            let (high, state) = state.split_at(size);
            let sums = call.sums(plan, request, losses, &[]);
            let mut means = Evaluations::default();
            self.means(population, 0..members, &alone, sums, &mut means);
            let parameters = gather(&|i| f64::from(high[i]) + f64::from(state[i]));
            for (loss, &alive) in means.losses.iter_mut().zip(&alive) {
                *loss = if alive { *loss } else { f64::NAN };
            }
            for (alive, theta) in alive.iter_mut().zip(parameters.chunks_exact(2 * features)) {
                *alive &= theta.iter().all(|value| value.is_finite());
            }
            all.push(AdamStep {
                losses: means.losses,
                gradient_norms: norms[..members].iter().map(|&norm| f64::from(norm)).collect(),
                parameters,
                first_moment: gather(&|i| f64::from(state[size + i])),
                second_moment: gather(&|i| f64::from(state[2 * size + i])),
                positions,
            });
        }
        all
    }
}
