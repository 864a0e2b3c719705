//! Adapting to the available memory: chunks of members, and a different partition when the device or the limit refuses
//! an allocation.

use super::GpuEvaluator;
use super::call::Buffers;
use super::checks::check_segments;
use super::kernels::{MAX_BLOCK, Segment, block_length};
use super::plan::{self, Budget, Chunks, GpuOptions, Sizes, Tiling};
use super::segment_plan::{PlanKey, SegmentPlan, Walk};
use super::store::Store;
use crate::{Population, Request};
use gputexel_dataset::Layout;
use gputexel_io::{Error, Result};

const MIN_MEMORY: u64 = 1 << 16;
/// Positions per segment of a Gauss–Newton matrix: enough to pay for writing a slab, few enough that a workgroup with a
/// common feature does not take much longer than the others.
const MATRIX_SEGMENT: usize = 16 * MAX_BLOCK;

pub(super) fn open<'a>(
    layout: &'a Layout,
    options: &GpuOptions,
    memory: Option<u64>,
) -> Result<(Store<'a>, Budget)> {
    let try_open = |memory: Option<u64>| {
        let budget = Budget::new(options, memory);
        Store::try_new(layout, options, &budget).map(|store| (store, budget))
    };
    let Some(memory) = memory else { return try_open(None) };
    try_open(Some(memory)).map_err(|error| {
        let more = larger_limits(memory).find(|&memory| try_open(Some(memory)).is_ok());
        memory_error(&error, memory, more)
    })
}

pub(super) fn larger_limits(memory: u64) -> impl Iterator<Item = u64> {
    (1..40).map_while(move |shift| memory.max(MIN_MEMORY).checked_shl(shift).filter(|&more| more > memory))
}

pub(super) fn memory_error(error: &Error, memory: u64, more: Option<u64>) -> Error {
    let Error::Gpu(reason) = error else { return Error::Gpu(error.to_string()) };
    let enough = more.map_or(String::new(), |more| format!("; {} would do", bytes_name(more)));
    Error::Gpu(format!("{} of memory is too little{enough}: {reason}", bytes_name(memory)))
}

/// Formats bytes in the largest unit that leaves at least one, rounded up.
fn bytes_name(bytes: u64) -> String {
    match bytes {
        0..0x0010_0000 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        0x0010_0000..0x4000_0000 => format!("{} MiB", bytes.div_ceil(1 << 20)),
        _ => format!("{} GiB", bytes.div_ceil(1 << 30)),
    }
}

impl GpuEvaluator<'_> {
    /// Repeats a call with less and less memory until no allocation is refused, or until memory cannot be reduced
    /// further.
    pub(super) fn retry_with_less_memory<T>(
        &mut self,
        mut call: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.gpu.take_refusal();
        loop {
            match call(self) {
                Err(error) if self.gpu.take_refusal() => self.shrink_budget(error)?,
                outcome => return outcome,
            }
        }
    }

    fn shrink_budget(&mut self, refusal: Error) -> Result<()> {
        let had = self.planned.unwrap_or(u64::MAX).min(self.gpu.used().max(2 * MIN_MEMORY));
        let less = had / 4 * 3;
        if less < MIN_MEMORY {
            return Err(refusal);
        }
        // Submissions in flight keep their buffers alive.
        let idle = self.gpu.submit(None)?;
        self.gpu.wait(idle)?;
        self.plans.clear();
        self.buffers = Buffers::new();
        (self.store, self.budget) = open(self.layout, &self.options, Some(less)).map_err(|_| refusal)?;
        self.planned = Some(less);
        Ok(())
    }

    pub(super) fn chunks(&self, population: &Population, request: &Request) -> Result<Chunks> {
        let members = population.members();
        let mut tiling =
            Tiling::new(&self.options, members.max(1), self.layout.features(), request.gradients);
        loop {
            let segments =
                self.segments(&self.key(request, tiling, Walk::of(request))).iter().map(Vec::len).sum();
            let sizes = Sizes {
                features: self.layout.features(),
                tapers: self.tapers,
                parts: if population.part_weights.is_empty() { 0 } else { self.layout.parts().len() },
                segments,
                gradients: request.gradients,
            };
            let room = |budget: &Budget| plan::max_members(&self.options, budget, sizes);
            let most = room(&self.budget);
            if most >= tiling.tile {
                let most = most / tiling.tile * tiling.tile;
                let chunks = (0..members).step_by(most).map(|start| start..(start + most).min(members));
                return Ok(Chunks { tiling, members: chunks.collect() });
            }
            if tiling.tile == 1 || self.options.tile.is_some() {
                let memory = self.planned.unwrap_or(u64::MAX);
                let more = larger_limits(memory)
                    .find(|&memory| room(&Budget::new(&self.options, Some(memory))) >= tiling.tile);
                let reason = Error::Gpu(format!(
                    "parameters, tables and sums of {} members do not fit in memory together with the dataset",
                    tiling.tile
                ));
                return Err(match self.planned {
                    Some(memory) => memory_error(&reason, memory, more),
                    None => reason,
                });
            }
            // A different tile changes the order of sums, but that is better than failing.
            let tile = if tiling.tile == 4 { 1 } else { tiling.tile / 2 };
            tiling = Tiling { tile, tiles: members.div_ceil(tile) };
        }
    }

    pub(super) fn key(&self, request: &Request, tiling: Tiling, walk: Walk) -> PlanKey {
        PlanKey { positions: self.positions(&request.parts), tiling, walk }
    }

    pub(super) fn segments(&self, key: &PlanKey) -> Vec<Vec<Segment>> {
        let options = GpuOptions { cell: self.store.cell, ..self.options };
        let (shards, positions) = (self.store.shards(), key.positions.clone());
        match key.walk {
            Walk::Matrices => {
                plan::split_into_segments(&shards, positions, MATRIX_SEGMENT, options.cell, MAX_BLOCK)
            }
            walk => plan::segments(&options, &shards, positions, key.tiling, walk == Walk::Gradients),
        }
    }

    pub(super) fn plan(&mut self, key: &PlanKey) -> Result<std::sync::Arc<SegmentPlan>> {
        if let Some(plan) = self.plans.get(key) {
            return Ok(std::sync::Arc::clone(plan));
        }
        let segments = self.segments(key);
        // Losses alone are summed without transposed blocks.
        let block = match key.walk {
            Walk::Losses => None,
            Walk::Gradients => Some(block_length(key.tiling.tile)),
            Walk::Matrices => Some(MAX_BLOCK),
        };
        for (segments, spans) in segments.iter().zip(self.store.shards()) {
            check_segments(segments, spans, block, self.tapers, self.layout.parts().len())?;
        }
        let plan = std::sync::Arc::new(SegmentPlan::upload(&self.gpu, segments)?);
        // Requests of a run differ only in their parts; a thousand mini-batches are a thousand plans.
        if self.plans.len() >= 1024 {
            self.plans.clear();
        }
        self.plans.insert(key.clone(), std::sync::Arc::clone(&plan));
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Evaluator;

    /// The noop backend has no memory that could run out, so a limit takes its place.
    #[test]
    fn refused_memory_means_smaller_pieces_and_then_an_error() {
        let (device, queue) = wgpu::Device::noop(&wgpu::DeviceDescriptor::default());
        let context = super::super::GpuContext::from_device(device, queue);
        let layout = crate::gpu::shard::tests::layout_of(&[4000; 12], 8);
        let population = Population::new(8, vec![1.0; 16 * 600], vec![1.0; 600]);
        let request = |gradients| Request {
            parts: 0..12,
            loss: gputexel_dataset::objective::LossKind::Squared,
            gradients,
            curvature: false,
        };
        let mut evaluator = GpuEvaluator::try_new(&context, &layout).unwrap();
        evaluator.evaluate(&population, &request(false)).unwrap();
        let used = evaluator.gpu.used();
        assert!(evaluator.planned.is_none() && !evaluator.is_streamed());
        // The additional memory for gradients does not fit.
        evaluator.gpu.set_limit(Some(used + used / 8));
        let got = evaluator.evaluate(&population, &request(true)).unwrap();
        assert_eq!(got.gradients.len(), 16 * 600);
        let planned = evaluator.planned.expect("memory was refused");
        assert!(planned < used + used / 8 && evaluator.gpu.used() <= used + used / 8);
        // A smaller request is evaluated without another refusal.
        evaluator.evaluate(&population, &request(true)).unwrap();
        assert_eq!(evaluator.planned, Some(planned));
        evaluator.gpu.set_limit(Some(1000));
        evaluator.store = open(&layout, &evaluator.options, Some(planned)).unwrap().0;
        let error = evaluator.evaluate(&population, &request(true)).unwrap_err().to_string();
        assert!(error.starts_with("GPU: ") && error.contains("bytes"), "{error}");
    }

    #[test]
    fn advice_is_in_units_of_people() {
        assert_eq!(bytes_name(70_000), "69 KiB");
        assert_eq!(bytes_name(3 << 20), "3 MiB");
        assert_eq!(bytes_name(5 << 30), "5 GiB");
        let error = memory_error(&Error::Gpu("why".into()), 1 << 20, larger_limits(1 << 20).nth(1));
        assert_eq!(error.to_string(), "GPU: 1 MiB of memory is too little; 4 MiB would do: why");
    }
}
