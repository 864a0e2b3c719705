//! The GPU evaluator: losses and gradients of a population by compute shaders.

mod call;
mod checks;
mod curvature;
mod deal;
pub mod kernels;
mod memory;
mod plan;
pub mod program;
mod segment_plan;
mod shard;
#[cfg(test)]
mod size_tests;
mod store;
mod tiles;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

pub use crate::device::{AdapterSummary, BackendChoice, GpuContext, NO_ADAPTER, list_adapters};
pub use plan::GpuOptions;
pub use program::GpuProgramEvaluator;
pub use tiles::{DeviceTraits, TileChoice};

use self::call::{Buffers, Sums};
use self::kernels::Pipelines;
use self::plan::{Budget, Chunks};
use self::segment_plan::{PlanKey, SegmentPlan};
use self::store::Store;
use super::{Evaluations, Evaluator, Population, Request, Stats};
use crate::device::meter::{DeviceBuffer, Gpu};
use crate::device::pace::Pace;
use gputexel_dataset::Layout;
use gputexel_dataset::objective::x_per_cp;
use gputexel_io::{Error, Result};

pub(crate) fn open<'a>(
    context: &GpuContext,
    layout: &'a Layout,
    options: GpuOptions,
) -> Result<Box<dyn Evaluator + 'a>> {
    Ok(match layout.program() {
        None => Box::new(GpuEvaluator::with_options(context, layout, options)?),
        Some(_) => Box::new(GpuProgramEvaluator::with_options(context, layout, options)?),
    })
}

#[derive(Debug)]
pub struct GpuEvaluator<'a> {
    gpu: Gpu,
    layout: &'a Layout,
    options: GpuOptions,
    /// Memory that the budget is planned for; less than the limit if an allocation was refused.
    planned: Option<u64>,
    budget: Budget,
    tapers: usize,
    taper_units: DeviceBuffer,
    store: Store<'a>,
    pipelines: Pipelines,
    plans: HashMap<PlanKey, Arc<SegmentPlan>>,
    buffers: Buffers,
    /// True if position records contain more than targets and weights.
    extended: bool,
    paces: [Pace; 3],
}

impl<'a> GpuEvaluator<'a> {
    pub fn try_new(context: &GpuContext, layout: &'a Layout) -> Result<Self> {
        Self::with_options(context, layout, GpuOptions::new(context))
    }

    pub fn with_options(context: &GpuContext, layout: &'a Layout, options: GpuOptions) -> Result<Self> {
        context.check()?;
        if layout.features() > usize::from(u16::MAX) {
            return Err(Error::Usage(format!(
                "{} features: the GPU evaluator takes at most 65535",
                layout.features()
            )));
        }
        if layout.program().is_some() {
            let reason = "this evaluator takes sums of parameters; GpuProgramEvaluator takes programs";
            return Err(Error::Usage(reason.to_string()));
        }
        options.validate()?;
        let gpu = Gpu::new(context, options.memory_bytes);
        let (store, budget) = memory::open(layout, &options, options.memory_bytes)?;
        let (tapers, _) = shard::tapers(layout);
        let taper_units = gpu.upload("tapers", bytemuck::cast_slice(&tapers))?;
        let pace = Pace::new(options.pairs_per_dispatch / 16);
        Ok(Self {
            gpu,
            layout,
            options,
            budget,
            tapers: tapers.len(),
            taper_units,
            planned: options.memory_bytes,
            store,
            pipelines: Pipelines::default(),
            plans: HashMap::new(),
            buffers: Buffers::new(),
            extended: !layout.offsets().is_empty(),
            paces: [pace; 3],
        })
    }

    /// Returns true if the dataset is streamed through the device at every call.
    pub fn is_streamed(&self) -> bool {
        self.store.streamed
    }

    fn validate(&self, population: &Population, request: &Request) -> Result<()> {
        population.validate(self.layout)?;
        request.validate(self.layout)
    }

    fn positions(&self, parts: &Range<usize>) -> Range<usize> {
        self.layout.parts()[parts.start].positions.start..self.layout.parts()[parts.end - 1].positions.end
    }

    /// Converts Σ w ℓ and Σ w of the members of a chunk to means, by part and overall, and sums of gradients, which are
    /// by member, side and feature, to those of the means.
    ///
    /// Returns Σ w of each member, part weights included.
    fn means(
        &self,
        population: &Population,
        (members, finite): (Range<usize>, &[bool]),
        request: &Request,
        (sums, gradients): (&Sums, &[f32]),
        out: &mut Evaluations,
    ) -> Vec<f64> {
        let count = members.len();
        let all = self.layout.parts().len();
        let mut weights = Vec::with_capacity(count);
        let mut scales = Vec::with_capacity(count);
        for ((column, member), &finite) in members.clone().enumerate().zip(finite) {
            let (mut loss, mut weight) = (0.0, 0.0);
            for (i, part) in request.parts.clone().enumerate() {
                let w = match sums.weights.is_empty() {
                    true => self.layout.parts()[part].weight,
                    false => sums.weights[i * count + column],
                };
                let s = sums.losses[i * count + column];
                let factor = f64::from(population.part_weight(member, part, all));
                out.part_losses.push(if finite { s / w } else { f64::NAN });
                // A part with weight 0 must not affect the mean, even if its loss is NaN.
                if factor > 0.0 {
                    loss += factor * s;
                    weight += factor * w;
                }
            }
            out.losses.push(if finite { loss / weight } else { f64::NAN });
            let scale = x_per_cp(population.k[member]) / (f64::from(self.layout.phase_max()) * weight);
            scales.push(if finite { scale } else { f64::NAN });
            weights.push(weight);
        }
        if request.gradients {
            let size = 2 * self.layout.features();
            let (start, end) = (members.start * size, members.end * size);
            out.gradients.reserve(end - start);
            // Filling them with zeros first would take as long again.
            let rows = out.gradients.spare_capacity_mut()[..end - start].par_chunks_exact_mut(size.max(1));
            let rows = rows.zip(gradients[..end - start].par_chunks_exact(size.max(1)));
            rows.zip(scales).with_min_len(16).for_each(|((row, sums), scale)| {
                row.iter_mut().zip(sums).for_each(|(value, &sum)| {
                    // Starts with 0, so that zeros have no sign.
                    value.write(scale * (0.0 + f64::from(sum)));
                });
            });
            assert_eq!(out.gradients.len(), start, "chunks follow each other");
            // SAFETY: as many values as members times `size` were just written: both slices have that length, and so many
            // scales there are.
            unsafe { out.gradients.set_len(end) };
        }
        weights
    }
}

/// Returns true if all of a member's numbers are finite. Shaders may assume that infinity and NaN do not occur, so
/// their results are undefined in that case; this check on the host makes up for that.
fn is_finite(population: &Population, member: usize) -> bool {
    population.k[member].is_finite()
        && population.member(member).iter().all(|&value| (value as f32).is_finite())
}

impl Evaluator for GpuEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.gpu.context().check()?;
        self.validate(population, request)?;
        let positions = self.positions(&request.parts).len();
        self.retry_with_less_memory(|this| {
            let size = if request.gradients { 2 * this.layout.features() } else { 0 };
            let gradients = Vec::with_capacity(population.members() * size);
            let mut out = Evaluations { positions, gradients, ..Evaluations::default() };
            let Chunks { tiling, members } = this.chunks(population, request)?;
            for chunk in members {
                let weights = this.run_chunk(population, chunk.clone(), tiling, request, &mut out)?;
                if request.curvature {
                    for (member, weight) in chunk.zip(weights) {
                        let matrix = this.curvature(population, member, request, weight)?;
                        out.curvatures.extend(matrix);
                    }
                }
            }
            Ok(out)
        })
    }

    fn describe(&self) -> String {
        let summary = self.gpu.context().summary();
        let how = if self.is_streamed() { ", data streamed" } else { "" };
        format!("GPU: {} ({}, {}{how})", summary.name, summary.kind, summary.backend)
    }

    fn stats(&self) -> Option<Stats> {
        Some(self.gpu.stats())
    }
}
