//! Steps of Adam in one submission: evaluate, reduce, report, update, repeat, without the host.

use std::sync::Arc;

use rayon::prelude::*;

use super::GpuEvaluator;
use super::call::{Call, Slice};
use super::kernels::{Kernel, REPORT_LANES, Uniforms};
use super::plan::{Chunks, groups_for};
use super::segment_plan::{SegmentPlan, Walk};
use crate::device::ALIGNMENT;
use crate::device::buffers::{GrowingBuffer, INPUT, STATE, UNIFORM};
use crate::device::meter::{part, whole};
use crate::device::pace::Clock;
use crate::device_steps::{AdamStart, count_steps};
use crate::{AdamState, AdamStep, Request};
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::{Error, Result};

/// Arrays of the state beside the first floats of parameters, see `adam_state.wgsl`.
const ARRAYS: usize = 5;

const TOLD: u64 = 3;

#[derive(Debug)]
pub(super) struct StepBuffers {
    sizes: GrowingBuffer,
    state: GrowingBuffer,
    before: GrowingBuffer,
    settings: GrowingBuffer,
    parts: GrowingBuffer,
    rates: GrowingBuffer,
    reports: GrowingBuffer,
}

impl StepBuffers {
    pub(super) fn new() -> Self {
        Self {
            sizes: GrowingBuffer::new("sizes", UNIFORM),
            state: GrowingBuffer::new("moments", STATE),
            before: GrowingBuffer::new("state before steps", STATE),
            settings: GrowingBuffer::new("settings", INPUT),
            parts: GrowingBuffer::new("parts of segments", INPUT),
            rates: GrowingBuffer::new("rates", INPUT),
            reports: GrowingBuffer::new("reports", STATE),
        }
    }
}

#[derive(Debug)]
pub(super) struct Session {
    call: Call,
    plan: Arc<SegmentPlan>,
    /// Σ w of each member.
    weights: Vec<f64>,
    positions: usize,
    rates: Vec<(f64, f64)>,
    state: wgpu::Buffer,
    before: wgpu::Buffer,
    settings: wgpu::Buffer,
    parts: wgpu::Buffer,
}

impl Session {
    fn size(&self) -> usize {
        2 * self.call.sizes.features as usize * self.call.tiling.padded()
    }

    /// Returns the bytes of parameters and of the state.
    fn bytes(&self) -> [u64; 2] {
        let size = self.size();
        [4 * size as u64, 4 * (ARRAYS * size + 2 * self.call.tiling.padded()) as u64]
    }

    /// Returns the distance of the places of a step's rows, of which there are `rows`, in bytes.
    fn stride(&self, rows: u64) -> u64 {
        (rows * self.call.row()).next_multiple_of(ALIGNMENT)
    }

    fn encode_copy(&self, back: bool, encoder: &mut wgpu::CommandEncoder) {
        let [parameters, state] = self.bytes();
        for (buffer, at, bytes) in [(&self.call.parameters, 0, parameters), (&self.state, parameters, state)]
        {
            match back {
                false => encoder.copy_buffer_to_buffer(buffer, 0, &self.before, at, bytes),
                true => encoder.copy_buffer_to_buffer(&self.before, at, buffer, 0, bytes),
            }
        }
    }
}

/// Steps that were encoded, the last of them not yet submitted.
struct Encoded {
    encoder: wgpu::CommandEncoder,
    pairs: u64,
    clock: Clock,
}

impl GpuEvaluator<'_> {
    /// Uploads a state; false if members or positions do not fit on the device together.
    pub(super) fn begin_session(&mut self, start: &AdamStart) -> Result<bool> {
        let (population, members) = (&start.population, start.population.members());
        let request = Request { gradients: true, curvature: false, ..start.request.clone() };
        let finite = (0..members).into_par_iter().all(|member| super::is_finite(population, member));
        let resampled = !population.resamples.is_empty();
        if self.is_streamed() || members == 0 || !finite || resampled || population.is_shared() && members > 1
        {
            return Ok(false);
        }
        let Chunks { tiling, members: chunks } = self.chunks(population, &request)?;
        if chunks.len() > 1 {
            return Ok(false);
        }
        let plan = self.plan(&self.key(&request, tiling, Walk::Gradients))?;
        let call = self.begin_call(population, 0..members, tiling, &request)?;
        let all = self.layout.parts().len();
        let weight = |member: usize, part: usize| {
            f64::from(population.part_weight(member, part, all)) * self.layout.parts()[part].weight
        };
        let weights: Vec<f64> =
            (0..members).map(|member| request.parts.clone().map(|part| weight(member, part)).sum()).collect();
        let parts: Vec<u32> = plan.segments().map(|segment| segment.part).collect();
        let parts = self.steps.parts.fill(&self.gpu, bytemuck::cast_slice(&parts))?;
        let settings = self.settings_of(&call, start, &weights);
        let settings = self.steps.settings.fill(&self.gpu, bytemuck::cast_slice(&settings))?;
        let state = self.state_of(&call, start);
        let size = 4 * (2 * self.layout.features() * tiling.padded()) as u64;
        let bytes = size + 4 * state.len() as u64;
        let state = self.steps.state.fill(&self.gpu, bytemuck::cast_slice(&state))?;
        let before = self.steps.before.reserve(&self.gpu, bytes)?;
        // Reserved now, so that memory is not refused later.
        self.buffers.readback.begin(&self.gpu, bytes)?;
        let mut encoder = self.gpu.encoder();
        self.encode_parameters(&call, &mut encoder)?;
        self.gpu.submit(Some(encoder))?;
        let positions = self.positions(&request.parts).len();
        let rates = Vec::new();
        self.session =
            Some(Session { call, plan, weights, positions, rates, state, before, settings, parts });
        Ok(true)
    }

    /// Calls a function with the session, which ends if it fails; `None` if there is none.
    pub(super) fn in_session<T>(
        &mut self,
        call: impl FnOnce(&mut Self, &mut Session) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(mut session) = self.session.take() else { return Ok(None) };
        let answer = match call(self, &mut session) {
            // A mistake of the caller changes nothing.
            Err(error @ Error::Usage(_)) => Err(error),
            answer => Ok(answer?),
        };
        self.session = Some(session);
        answer.map(Some)
    }

    pub(super) fn take_steps(
        &mut self,
        session: &mut Session,
        rates: &[(f64, f64)],
    ) -> Result<Vec<AdamStep>> {
        let count = count_steps(rates, session.call.members)? as u64;
        let told = TOLD * session.call.row();
        self.buffers.readback.begin(&self.gpu, count * told)?;
        let mut encoder = self.gpu.encoder();
        session.encode_copy(false, &mut encoder);
        session.rates = rates.to_vec();
        let mut encoded = self.encode_steps(session, encoder)?;
        let reports = self.steps.reports.reserve(&self.gpu, 0)?;
        for step in 0..count {
            let at = step * session.stride(TOLD + 1);
            self.buffers.readback.push(&mut encoded.encoder, &reports, at, told);
        }
        self.finish_steps(encoded, |floats| steps_of(session, floats))
    }

    pub(super) fn state_after(&mut self, session: &mut Session, steps: usize) -> Result<AdamState> {
        let (members, taken) = (session.call.members, session.rates.len() / session.call.members);
        if steps > taken {
            return Err(Error::Usage(format!("the state after {steps} steps of {taken}")));
        }
        let [parameters, state] = session.bytes();
        self.buffers.readback.begin(&self.gpu, parameters + state)?;
        let mut encoder = self.gpu.encoder();
        let mut encoded = match steps < taken {
            true => {
                session.encode_copy(true, &mut encoder);
                session.rates.truncate(steps * members);
                self.encode_steps(session, encoder)?
            }
            false => Encoded { encoder, pairs: 0, clock: Clock::start() },
        };
        self.buffers.readback.push(&mut encoded.encoder, &session.call.parameters, 0, parameters);
        self.buffers.readback.push(&mut encoded.encoder, &session.state, 0, state);
        self.finish_steps(encoded, |floats| state_of_floats(session, floats))
    }

    fn finish_steps<T>(&mut self, encoded: Encoded, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        let Encoded { encoder, pairs, mut clock } = encoded;
        let last = self.gpu.submit(Some(encoder))?;
        let pace = &mut self.paces[Walk::Gradients as usize];
        self.buffers.readback.finish(&self.gpu, last, |floats| {
            if pairs > 0 {
                pace.observe(pairs, clock.lap());
            }
            read(floats)
        })
    }

    /// Encodes the steps of the session's rates, and submits them in between if they take long.
    fn encode_steps(&mut self, session: &mut Session, encoder: wgpu::CommandEncoder) -> Result<Encoded> {
        let (members, padded) = (session.call.members, session.call.tiling.padded());
        let plan = Arc::clone(&session.plan);
        let slices = self.write_slices(&mut session.call, &plan)?;
        let count = session.rates.len() / members;
        let stride = session.stride(2) as usize / 4;
        let mut rows = vec![0f32; count * stride];
        for (i, &(rate, correction)) in session.rates.iter().enumerate() {
            let at = i / members * stride + i % members;
            (rows[at], rows[at + padded]) = (rate as f32, correction as f32);
        }
        self.steps.rates.fill(&self.gpu, bytemuck::cast_slice(&rows))?;
        self.steps.reports.reserve(&self.gpu, count as u64 * session.stride(TOLD + 1))?;
        let wanted = self.paces[Walk::Gradients as usize].pairs();
        let mut encoded = Encoded { encoder, pairs: 0, clock: Clock::start() };
        for step in 0..count {
            self.encode_blend(&session.call, &mut encoded.encoder)?;
            for (slice, pairs) in &slices {
                if encoded.pairs > 0 && encoded.pairs + pairs > wanted {
                    let full = std::mem::replace(&mut encoded.encoder, self.gpu.encoder());
                    let submission = self.gpu.submit(Some(full))?;
                    self.gpu.wait(submission)?;
                    self.paces[Walk::Gradients as usize].observe(encoded.pairs, encoded.clock.lap());
                    encoded.pairs = 0;
                }
                self.encode_slice(&session.call, &plan, slice, &mut encoded.encoder)?;
                encoded.pairs += pairs;
            }
            self.encode_update(session, step as u64, &mut encoded.encoder)?;
        }
        Ok(encoded)
    }

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

    /// Returns the state as kernels need it: floats that parameters leave, moments, nothing best yet.
    fn state_of(&self, call: &Call, start: &AdamStart) -> Vec<f32> {
        let (rows, padded) = (2 * self.layout.features(), call.tiling.padded());
        let size = rows * padded;
        let mut state = vec![0f32; ARRAYS * size];
        let of_row = |array: usize, row: usize, member: usize| {
            let at = member * rows + row;
            let theta = start.population.parameters[at];
            match array {
                0 => (theta - f64::from(theta as f32)) as f32,
                1 => start.first_moment[at] as f32,
                _ => start.second_moment[at] as f32,
            }
        };
        state[..3 * size].par_chunks_mut(padded).enumerate().for_each(|(i, values)| {
            let members = values[..call.members].iter_mut().enumerate();
            members.for_each(|(member, value)| *value = of_row(i / rows, i % rows, member));
        });
        state.extend(std::iter::repeat_n(f32::MAX, 2 * padded));
        state
    }

    fn settings_of(&self, call: &Call, start: &AdamStart, weights: &[f64]) -> Vec<f32> {
        let padded = call.tiling.padded();
        let mut settings = vec![0f32; 8 * padded];
        for (column, (member, weight)) in start.settings.iter().zip(weights).enumerate() {
            let kappa = x_per_cp(start.population.k[column]);
            let values = [
                member.beta1,
                1.0 - member.beta1,
                member.beta2,
                1.0 - member.beta2,
                member.epsilon,
                member.pull,
                kappa / (f64::from(self.layout.phase_max()) * weight),
                0.5 * member.pull * weight,
            ];
            for (row, value) in values.into_iter().enumerate() {
                settings[row * padded + column] = value as f32;
            }
        }
        // With an ε of 0, padding, whose rates are 0, would become NaN.
        settings[4 * padded + call.members..5 * padded].fill(1.0);
        settings.extend(start.prior.iter().map(|&value| value as f32));
        settings.extend(start.prior.iter().map(|&value| (value - f64::from(value as f32)) as f32));
        settings
    }

    fn encode_update(
        &mut self,
        session: &Session,
        step: u64,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<()> {
        let Session { call, state, settings, parts, .. } = session;
        let (size, padded, row) = (session.size(), call.tiling.padded(), call.row());
        let report = self.pipeline(Kernel::AdamReport, call)?;
        let update = self.pipeline(Kernel::Adam, call)?;
        let losses = self.buffers.losses.reserve(&self.gpu, 0)?;
        let totals = self.buffers.totals.reserve(&self.gpu, 0)?;
        let rates = self.steps.rates.reserve(&self.gpu, 0)?;
        let reports = self.steps.reports.reserve(&self.gpu, 0)?;
        let own = |buffer, rows: u64| wgpu::BufferBinding {
            offset: step * session.stride(rows),
            ..part(buffer, rows * row)
        };
        let shared = [
            part(&call.uniforms, size_of::<Uniforms>() as u64),
            // The kernels derive the number of members from its size.
            part(&totals, 4 * size as u64),
            whole(&call.parameters),
            whole(state),
            whole(settings),
            own(&reports, TOLD + 1),
        ];
        let more = [whole(&losses), whole(parts), whole(&call.factors)];
        let groups = (padded / call.tiling.tile.min(REPORT_LANES)) as u32;
        self.gpu.dispatch(encoder, &report, &[&shared[..], &more].concat(), [groups, 1])?;
        let bindings = [&shared[..], &[own(&rates, 2)]].concat();
        self.gpu.dispatch(encoder, &update, &bindings, [groups_for(size), 1])
    }
}

fn steps_of(session: &Session, floats: &[f32]) -> Vec<AdamStep> {
    let padded = session.call.tiling.padded();
    let step = |rows: &[f32]| {
        let row = |i: usize| rows[i * padded..][..padded].iter().map(|&value| f64::from(value));
        let sums = row(0).zip(row(1)).zip(&session.weights).zip(row(2));
        AdamStep {
            losses: sums
                .map(|(((high, low), weight), norm)| match norm.is_finite() {
                    true => (high + low) / weight,
                    false => f64::NAN,
                })
                .collect(),
            gradient_norms: row(2).take(session.weights.len()).collect(),
            positions: session.positions,
        }
    };
    floats.chunks_exact(TOLD as usize * padded).map(step).collect()
}

fn state_of_floats(session: &Session, floats: &[f32]) -> AdamState {
    let (padded, size) = (session.call.tiling.padded(), session.size());
    let rows = size / padded;
    // Member by member, without padding.
    let gather = |arrays: &[usize]| -> Vec<f64> {
        let mut values = vec![0.0; rows * session.call.members];
        values.par_chunks_mut(rows.max(1)).enumerate().for_each(|(member, values)| {
            for (row, value) in values.iter_mut().enumerate() {
                let float = |&array: &usize| f64::from(floats[array * size + row * padded + member]);
                *value = arrays.iter().map(float).sum();
            }
        });
        values
    };
    AdamState {
        parameters: gather(&[0, 1]),
        first_moment: gather(&[2]),
        second_moment: gather(&[3]),
        best_parameters: gather(&[4, 5]),
    }
}
