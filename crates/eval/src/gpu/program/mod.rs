//! The GPU evaluator of programs: evaluations whose scores are not sums of parameters.

mod slabs;
mod source;

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};

use self::slabs::Slab;
use super::{GpuOptions, kernels};
use crate::cpu::CpuEvaluator;
use crate::device::buffers::{GrowingBuffer, INPUT, OUTPUT, Readback, STATE, STORAGE, UNIFORM};
use crate::device::meter::{DeviceBuffer, Gpu, whole};
use crate::device::{GpuContext, Stats};
use crate::sums::{nan_unless_finite, push_means};
use crate::{Evaluations, Evaluator, Population, Request};
use gputexel_dataset::Layout;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_io::{Error, Result};
use gputexel_model::program::CompiledProgram;

/// Maximum number of sums of a program: with more, a thread's private memory exceeds the registers of common GPUs
/// several times.
const MAX_SLOTS: usize = 16;
/// Threads per workgroup, and maximum number of members in a tile.
const WORKGROUP: usize = 64;
const GROUPS: usize = 32_768;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Uniforms {
    members: u32,
    positions: u32,
    segments: u32,
    first_part: u32,
    end_part: u32,
    resamples: u32,
    gradients: u32,
    power: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kernel {
    Positions,
    Losses,
    Gradient,
}

/// Returns the WGSL source of each kernel of a program, with its name; `unit` if all coefficients of the layout are ±1.
pub fn program_sources(program: &CompiledProgram, unit: bool) -> [(&'static str, String); 3] {
    [Kernel::Positions, Kernel::Losses, Kernel::Gradient].map(|kernel| {
        let (name, body) = match kernel {
            Kernel::Positions => ("program_positions", gputexel_shaders::PROGRAM_POSITIONS),
            Kernel::Losses => ("program_losses", gputexel_shaders::PROGRAM_LOSSES),
            Kernel::Gradient => ("program_gradient", gputexel_shaders::PROGRAM_GRADIENT),
        };
        (name, source::declarations(program, unit, kernel == Kernel::Positions) + body)
    })
}

#[derive(Debug)]
pub struct GpuProgramEvaluator<'a> {
    gpu: Gpu,
    layout: &'a Layout,
    program: &'a CompiledProgram,
    tapers: DeviceBuffer,
    kept: HashMap<usize, Slab>,
    pipelines: HashMap<(Kernel, u32), wgpu::ComputePipeline>,
    uniforms: GrowingBuffer,
    tables: GrowingBuffer,
    settings: GrowingBuffer,
    slopes: GrowingBuffer,
    outcomes: GrowingBuffer,
    totals: GrowingBuffer,
    gradient: GrowingBuffer,
    readback: Readback,
    cpu: CpuEvaluator<'a>,
}

impl<'a> GpuProgramEvaluator<'a> {
    pub fn with_options(context: &GpuContext, layout: &'a Layout, options: GpuOptions) -> Result<Self> {
        context.check()?;
        let Some(program) = layout.program() else {
            return Err(Error::Usage("the evaluation has no program".to_string()));
        };
        if program.slots() > MAX_SLOTS {
            return Err(Error::Gpu(format!(
                "the evaluation has {} sums, and the registers of a GPU hold {MAX_SLOTS}",
                program.slots()
            )));
        }
        if layout.parts().len() > usize::from(u16::MAX) {
            return Err(Error::Usage(format!("{} parts: at most 65535", layout.parts().len())));
        }
        let gpu = Gpu::new(context, options.memory_bytes);
        let tapers = gpu.upload("tapers", bytemuck::cast_slice(&slabs::tapers(layout)))?;
        Ok(Self {
            gpu,
            layout,
            program,
            tapers,
            kept: HashMap::new(),
            pipelines: HashMap::new(),
            uniforms: GrowingBuffer::new("uniforms", UNIFORM),
            tables: GrowingBuffer::new("tables", INPUT),
            settings: GrowingBuffer::new("settings", INPUT),
            slopes: GrowingBuffer::new("slopes", STORAGE),
            outcomes: GrowingBuffer::new("outcomes", STORAGE),
            totals: GrowingBuffer::new("totals", OUTPUT),
            gradient: GrowingBuffer::new("gradient", STATE),
            readback: Readback::default(),
            cpu: CpuEvaluator::new(layout),
        })
    }

    fn pipeline(&mut self, kernel: Kernel, loss: LossKind) -> Result<wgpu::ComputePipeline> {
        let code = match loss {
            LossKind::Squared => 0,
            LossKind::CrossEntropy => 1,
            LossKind::Power(_) => 2,
        };
        let code = if kernel == Kernel::Positions { code } else { 0 };
        if let Some(pipeline) = self.pipelines.get(&(kernel, code)) {
            return Ok(pipeline.clone());
        }
        let (name, source) = program_sources(self.program, self.layout.unit_rows())[kernel as usize].clone();
        let mut constants = vec![("WORKGROUP", WORKGROUP as f64)];
        if kernel == Kernel::Positions {
            constants.push(("LOSS", f64::from(code)));
        }
        let pipeline = kernels::pipeline(&self.gpu, name, &source, &constants)?;
        self.pipelines.insert((kernel, code), pipeline.clone());
        Ok(pipeline)
    }

    /// Uploads θ and the settings of a tile's members; the last member is repeated to fill it.
    fn upload_members(
        &mut self,
        population: &Population,
        first: usize,
        width: usize,
        request: &Request,
    ) -> Result<()> {
        let member = |lane: usize| (first + lane).min(population.members() - 1);
        let features = self.program.features();
        let mut tables = vec![[0f32; 2]; self.program.columns() * width];
        for lane in 0..width {
            let (mg, eg) = population.member(member(lane)).split_at(features);
            for (column, &feature) in self.program.features_of_columns().iter().enumerate() {
                let feature = usize::from(feature);
                tables[column * width + lane] = [mg[feature] as f32, eg[feature] as f32];
            }
        }
        self.tables.fill(&self.gpu, bytemuck::cast_slice(&tables))?;
        let count = self.layout.parts().len();
        let mut settings: Vec<f32> = Vec::with_capacity((4 + request.parts.len()) * width);
        let mut row =
            |value: &dyn Fn(usize) -> f32| settings.extend((0..width).map(|lane| value(member(lane))));
        row(&|m| kernels::kappa(population.k[m], 1));
        row(&|m| population.blends.get(m).copied().unwrap_or(0.0));
        let seed = |m: usize| population.resamples.get(m).copied().unwrap_or(0);
        row(&|m| (seed(m) >> 16) as f32);
        row(&|m| (seed(m) & 0xffff) as f32);
        for part in request.parts.clone() {
            row(&|m| population.part_weight(m, part, count));
        }
        self.settings.fill(&self.gpu, bytemuck::cast_slice(&settings))?;
        Ok(())
    }

    /// Computes the sums of a tile: (loss, weight) by part of the request and member, and slopes by column and member.
    fn tile(
        &mut self,
        width: usize,
        request: &Request,
        resamples: bool,
    ) -> Result<(PartSums, Vec<[f32; 2]>)> {
        let parts = self.layout.parts();
        let positions =
            parts[request.parts.start].positions.start..parts[request.parts.end - 1].positions.end;
        let columns = self.program.columns();
        let row = 8 * width as u64;
        if request.gradients {
            let gradient = self.gradient.reserve(&self.gpu, columns as u64 * row)?;
            self.gpu.write(&gradient, 0, &vec![0; columns * row as usize])?;
        }
        let all: Vec<_> = slabs::ranges(self.layout).enumerate().collect();
        let wanted =
            |range: &std::ops::Range<usize>| range.start < positions.end && range.end > positions.start;
        let mut sums = vec![vec![[0.0f64; 2]; width]; request.parts.len()];
        let mut gradient = Vec::new();
        let last = all.iter().rposition(|(_, range)| wanted(range)).expect("a part has positions");
        for (index, range) in all.into_iter().filter(|(_, range)| wanted(range)) {
            let slab = match self.kept.remove(&index) {
                Some(slab) if slab.columns.is_some() || !request.gradients => slab,
                _ => slabs::upload(&self.gpu, self.layout, range.clone(), request.gradients)?,
            };
            let uniforms = Uniforms {
                members: width as u32,
                positions: slab.length as u32,
                segments: slab.parts.len() as u32,
                first_part: request.parts.start as u32,
                end_part: request.parts.end as u32,
                resamples: u32::from(resamples),
                gradients: u32::from(request.gradients),
                power: if let LossKind::Power(power) = request.loss { power as f32 } else { 0.0 },
            };
            let totals = self.slab(&slab, uniforms, request)?;
            let bytes = slab.parts.len() as u64 * row;
            let is_last = index == last;
            let mut encoder = self.gpu.encoder();
            let extra = if is_last && request.gradients { columns as u64 * row } else { 0 };
            self.readback.begin(&self.gpu, bytes + extra)?;
            self.readback.push(&mut encoder, &totals, bytes);
            if extra > 0 {
                let buffer = self.gradient.reserve(&self.gpu, extra)?;
                self.readback.push(&mut encoder, &buffer, extra);
            }
            let submission = self.gpu.submit(Some(encoder))?;
            let first_part = request.parts.start;
            self.readback.finish(&self.gpu, submission, |values| {
                let pairs: &[[f32; 2]] = bytemuck::cast_slice(values);
                let (losses, slopes) = pairs.split_at(slab.parts.len() * width);
                for (row, &part) in losses.chunks_exact(width).zip(&slab.parts) {
                    let Some(sums) = (part as usize).checked_sub(first_part).and_then(|at| sums.get_mut(at))
                    else {
                        continue;
                    };
                    for (sum, value) in sums.iter_mut().zip(row) {
                        sum[0] += f64::from(value[0]);
                        sum[1] += f64::from(value[1]);
                    }
                }
                gradient.extend_from_slice(slopes);
            })?;
            // The next slab must fit in addition; the factor of two allows for different sizes.
            if self.gpu.has_room(2 * slabs::bytes(self.layout, &range, request.gradients)) {
                self.kept.insert(index, slab);
            }
        }
        Ok((sums, gradient))
    }

    fn slab(&mut self, slab: &Slab, uniforms: Uniforms, request: &Request) -> Result<wgpu::Buffer> {
        let width = uniforms.members as usize;
        let slots = self.program.slots();
        let kernel = self.pipeline(Kernel::Positions, request.loss)?;
        let add_losses = self.pipeline(Kernel::Losses, request.loss)?;
        let slope_length = if request.gradients { slab.length * slots * width } else { 1 };
        let uniform = self.uniforms.fill(&self.gpu, bytemuck::bytes_of(&uniforms))?;
        let slopes = self.slopes.reserve(&self.gpu, 8 * slope_length as u64)?;
        let outcomes = self.outcomes.reserve(&self.gpu, 8 * (slab.length * width) as u64)?;
        let totals = self.totals.reserve(&self.gpu, 8 * (slab.parts.len() * width) as u64)?;
        let tables = self.tables.reserve(&self.gpu, 0)?;
        let settings = self.settings.reserve(&self.gpu, 0)?;
        let mut encoder = self.gpu.encoder();
        let bindings = [
            whole(&uniform),
            whole(slab.positions.raw()),
            whole(slab.entries.raw()),
            whole(slab.coefficients.raw()),
            whole(&tables),
            whole(&settings),
            whole(self.tapers.raw()),
            whole(&slopes),
            whole(&outcomes),
        ];
        self.gpu.dispatch(&mut encoder, &kernel, &bindings, groups(slab.length * width))?;
        let bindings = [whole(&uniform), whole(slab.segments.raw()), whole(&outcomes), whole(&totals)];
        self.gpu.dispatch(&mut encoder, &add_losses, &bindings, groups(slab.parts.len() * width))?;
        if let Some([starts, list, factors]) = slab.columns.as_ref().filter(|_| request.gradients) {
            let kernel = self.pipeline(Kernel::Gradient, request.loss)?;
            let columns = self.program.columns();
            let gradient = self.gradient.reserve(&self.gpu, 8 * (columns * width) as u64)?;
            let bindings = [
                whole(&uniform),
                whole(starts.raw()),
                whole(list.raw()),
                whole(factors.raw()),
                whole(&slopes),
                whole(&gradient),
            ];
            self.gpu.dispatch(&mut encoder, &kernel, &bindings, groups(columns * width))?;
        }
        self.gpu.submit(Some(encoder))?;
        Ok(totals)
    }
}

type PartSums = Vec<Vec<[f64; 2]>>;

fn groups(threads: usize) -> [u32; 2] {
    let groups = threads.div_ceil(WORKGROUP).max(1);
    [groups.min(GROUPS) as u32, groups.div_ceil(GROUPS) as u32]
}

impl Evaluator for GpuProgramEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        population.validate(self.layout)?;
        request.validate(self.layout)?;
        self.gpu.context().check()?;
        self.gpu.take_refusal();
        match self.try_evaluate(population, request) {
            // Kept slabs leave no room for a larger population.
            Err(_) if self.gpu.take_refusal() && !self.kept.is_empty() => {
                self.kept.clear();
                let idle = self.gpu.submit(None)?;
                self.gpu.wait(idle)?;
                self.try_evaluate(population, request)
            }
            answer => answer,
        }
    }

    fn describe(&self) -> String {
        let summary = self.gpu.context().summary();
        format!("GPU: {} ({}, {}, matrices on the CPU)", summary.name, summary.kind, summary.backend)
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.gpu.stats())
    }
}

impl GpuProgramEvaluator<'_> {
    fn try_evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        let members = population.members();
        let features = self.program.features();
        let parts = self.layout.parts();
        let positions =
            parts[request.parts.end - 1].positions.end - parts[request.parts.start].positions.start;
        let mut out = Evaluations { positions, ..Evaluations::default() };
        for first in (0..members).step_by(WORKGROUP) {
            let count = (members - first).min(WORKGROUP);
            let width = count.next_power_of_two();
            self.upload_members(population, first, width, request)?;
            let (sums, slopes) = self.tile(width, request, !population.resamples.is_empty())?;
            for lane in 0..count {
                let member = first + lane;
                let mut losses: Vec<f64> = sums.iter().map(|part| part[lane][0]).collect();
                let weights: Vec<f64> = sums.iter().map(|part| part[lane][1]).collect();
                nan_unless_finite(population, member, &mut losses);
                let part_weights = match &population.part_weights[..] {
                    [] => &[],
                    all => &all[member * parts.len()..][request.parts.clone()],
                };
                let weight = push_means(&mut out, &losses, &weights, part_weights);
                if request.gradients {
                    let per_cp = x_per_cp(population.k[member]) / weight;
                    let columns: Vec<[f64; 2]> = (0..self.program.columns())
                        .map(|column| slopes[column * width + lane].map(|slope| f64::from(slope) * per_cp))
                        .collect();
                    let mut gradient = vec![0.0; 2 * features];
                    self.program.add_to_parameters(&columns, &mut gradient);
                    out.gradients.append(&mut gradient);
                }
            }
        }
        if request.curvature {
            let matrices = Request { gradients: false, ..request.clone() };
            out.curvatures = self.cpu.evaluate(population, &matrices)?.curvatures;
        }
        Ok(out)
    }
}
