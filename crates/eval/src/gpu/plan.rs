//! Plans: how a request is divided into tiles of members and segments of positions, and how memory is allocated.

use std::ops::Range;

use super::kernels::{MAX_BLOCK, Segment, WORKGROUP, block_length, lanes};
use super::shard::Span;
use super::tiles::{DeviceTraits, TileChoice};
use crate::device::GpuContext;
use gputexel_io::{Error, Result};

/// Sizes that control the division of work. With equal options, results are bit-identical regardless of the memory and
/// the speed of the device, unless [`memory_bytes`](Self::memory_bytes) is so small that not even a cell fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuOptions {
    /// Maximum bytes of buffers on the device; `None`: no limit.
    pub memory_bytes: Option<u64>,
    pub binding_bytes: u64,
    /// Maximum bytes of gradient slabs.
    pub slab_bytes: u64,
    /// Expected number of (position, member) pairs that the device evaluates in a fifth of a second; the actual number
    /// is measured.
    pub pairs_per_dispatch: u64,
    pub workgroups: usize,
    /// Members per tile: 1, 4, 8, 16 or 32; `None` to choose by the population's size.
    pub tile: Option<usize>,
    /// Tiles of large populations and whether tables are staged, for tests and benchmarks; estimated by the kind of
    /// device if `None`. Tiles determine the order of sums, so results differ in their last digits.
    pub choice: Option<TileChoice>,
    pub device: DeviceTraits,
    /// Number of positions of a bucket that shards never split; a multiple of 1,024.
    pub cell: usize,
}

impl GpuOptions {
    pub fn new(context: &GpuContext) -> Self {
        let summary = context.summary();
        let limit = summary.max_binding_bytes.min(summary.max_buffer_bytes);
        // Estimates, except for software, which reaches 2 · 10^7 (gradients) to 9 · 10^7 (losses) pairs per second on
        // two cores.
        let (pairs, workgroups, slabs) = match (summary.software, summary.kind.as_str()) {
            (true, _) => (1 << 22, 64, 128 << 20),
            (false, "discrete GPU") => (1 << 31, 4096, 1 << 30),
            _ => (1 << 27, 1024, 128 << 20),
        };
        Self {
            memory_bytes: None,
            binding_bytes: limit,
            slab_bytes: limit.min(slabs),
            pairs_per_dispatch: pairs,
            workgroups,
            tile: None,
            choice: None,
            device: DeviceTraits::new(summary),
            cell: 1 << 16,
        }
    }

    pub(super) fn validate(&self) -> Result<()> {
        if self.tile.is_some_and(|tile| ![1, 4, 8, 16, 32].contains(&tile)) {
            return Err(Error::Usage("a tile has 1, 4, 8, 16 or 32 members".into()));
        }
        if self.choice.is_some_and(|choice| !choice.has_kernels()) {
            return Err(Error::Usage("a chosen tile has 4, 8, 16 or 32 members".into()));
        }
        if self.cell == 0 || !self.cell.is_multiple_of(MAX_BLOCK) {
            return Err(Error::Usage(format!("a cell is a multiple of {MAX_BLOCK} positions")));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Budget {
    /// The dataset, if it stays on the device.
    pub dataset: u64,
    /// Otherwise, one of the two slots through which it is streamed.
    pub slot: u64,
    pub slabs: u64,
    /// Everything that grows with the members of a chunk: parameters, tables, results.
    pub members: u64,
}

impl Budget {
    pub(super) fn new(options: &GpuOptions, memory: Option<u64>) -> Self {
        match memory {
            None => Self { dataset: u64::MAX, slot: u64::MAX, slabs: options.slab_bytes, members: u64::MAX },
            Some(memory) => Self {
                dataset: memory / 2,
                slot: memory / 4,
                slabs: options.slab_bytes.min(memory / 4),
                // A sixteenth is left for small buffers that are not counted.
                members: memory / 16 * 3,
            },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tiling {
    pub tile: usize,
    pub tiles: usize,
}

impl Tiling {
    pub(super) fn new(options: &GpuOptions, members: usize, features: usize, gradients: bool) -> Self {
        let tile = match options.tile {
            Some(tile) => tile,
            None if members == 1 => 1,
            None => options.device.tile(options.choice, members, features, gradients),
        };
        Self { tile, tiles: members.div_ceil(tile) }
    }

    /// Returns the number of members including padding: floats per row of members.
    pub(super) fn padded(self) -> usize {
        self.tile * self.tiles
    }
}

pub(super) struct Chunks {
    /// The tiling of the whole population, which also determines the division of positions: sums depend on neither the
    /// chunks nor the memory.
    pub(super) tiling: Tiling,
    pub(super) members: Vec<Range<usize>>,
}

/// The quantities that determine the memory of a chunk of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub features: usize,
    pub tapers: usize,
    pub parts: usize,
    /// Maximum number of segments per request.
    pub segments: usize,
    pub gradients: bool,
}

/// Returns the number of members that can be evaluated together; 0 if not even one fits.
pub(super) fn max_members(options: &GpuOptions, budget: &Budget, sizes: Sizes) -> usize {
    let Sizes { features, tapers, parts, segments, gradients } = sizes;
    let sides = if gradients { 2 * features } else { 0 };
    let table = tapers * features + 4;
    let losses = 2 * segments;
    // Parameters in both orders, tables, losses, totals, factors, and results being downloaded.
    let parameters = 2 * features + 4;
    let all = 4 * (2 * parameters + table + 2 * (losses + sides) + parts) as u64;
    let mut members = (options.binding_bytes / (4 * table.max(losses).max(parameters)) as u64)
        .min(budget.members / all)
        // Tiles of one member, if forced by the options, are workgroups in y.
        .min(65_535);
    if gradients {
        // One slab, and the partial sums of two chunks.
        members = members.min(budget.slabs.min(options.binding_bytes) / (4 * 5 * features.max(1)) as u64);
    }
    members as usize
}

pub(super) fn segments(
    options: &GpuOptions,
    shards: &[&[Span]],
    positions: Range<usize>,
    tiling: Tiling,
    gradients: bool,
) -> Vec<Vec<Segment>> {
    let block = block_length(tiling.tile);
    // Without gradients, segments need not be complete blocks, only complete rounds of a workgroup.
    let step = if gradients { block } else { WORKGROUP / lanes(tiling.tile) };
    let per_slice = (options.pairs_per_dispatch as usize / tiling.padded()).max(block);
    let wanted = (options.workgroups / tiling.tiles).max(1);
    let per_segment = positions.len().min(per_slice).div_ceil(wanted).next_multiple_of(step);
    split_into_segments(shards, positions, per_segment, options.cell, block)
}

/// Divides positions into segments of at most `per_segment`, which never cross a cell boundary.
pub(super) fn split_into_segments(
    shards: &[&[Span]],
    positions: Range<usize>,
    per_segment: usize,
    cell: usize,
    block: usize,
) -> Vec<Vec<Segment>> {
    let mut all = Vec::with_capacity(shards.len());
    for spans in shards {
        let mut segments = Vec::new();
        let start = spans.first().map_or(0, |span| span.positions.start);
        let mut block_base = 0;
        for span in *spans {
            // Parts begin with a bucket, so a requested range begins and ends at the boundary of a span or a
            // shard; both are cell boundaries.
            let mut at = span.positions.start.max(positions.start);
            let end = span.positions.end.min(positions.end);
            while at < end {
                let offset = at - span.positions.start;
                let stop = (at + per_segment.min(cell - offset % cell)).min(end);
                segments.push(Segment {
                    first: (at - start) as u32,
                    end: (stop - start) as u32,
                    block: (block_base + offset / block) as u32,
                    taper: span.taper,
                    part: span.part,
                });
                at = stop;
            }
            block_base += span.positions.len().div_ceil(block);
        }
        all.push(segments);
    }
    all
}

pub(super) fn groups_for(elements: usize) -> u32 {
    elements.div_ceil(WORKGROUP).clamp(1, 65_535) as u32
}

#[cfg(test)]
mod tests {
    use super::super::tiles::Hardware;
    use super::*;

    const OPTIONS: GpuOptions = GpuOptions {
        memory_bytes: None,
        binding_bytes: 1 << 22,
        slab_bytes: 1 << 20,
        pairs_per_dispatch: 1 << 20,
        workgroups: 64,
        tile: None,
        choice: None,
        device: DeviceTraits { hardware: Hardware::SOFTWARE, memory: 16 << 10 },
        cell: 4096,
    };

    #[test]
    fn tiles_cover_all_members_with_little_padding() {
        for gradients in [false, true] {
            assert_eq!(Tiling::new(&OPTIONS, 1, 384, gradients), Tiling { tile: 1, tiles: 1 });
            for members in 2..200 {
                let tiling = Tiling::new(&OPTIONS, members, 384, gradients);
                assert!(tiling.padded() >= members && tiling.padded() < 2 * members + 4, "{tiling:?}");
            }
            assert!(Tiling::new(&OPTIONS, 33, 384, gradients).padded() < 64);
        }
    }

    #[test]
    fn segments_cover_a_request_once_and_do_not_depend_on_shards() {
        let span = |positions, taper| Span { positions, taper, part: 0 };
        let one = vec![span(0..5000, 0), span(5000..9096, 1), span(9096..40_000, 2)];
        let two = [
            vec![span(0..5000, 0), span(5000..9096, 1), span(9096..13_192, 2)],
            vec![span(13_192..40_000, 2)],
        ];
        let two: Vec<&[Span]> = two.iter().map(Vec::as_slice).collect();
        for members in [1, 5, 64, 1000] {
            for (range, gradients) in [(0..40_000, true), (5000..9096, true), (0..40_000, false)] {
                let tiling = Tiling::new(&OPTIONS, members, 384, gradients);
                let whole = segments(&OPTIONS, &[&one], range.clone(), tiling, gradients);
                let parts = segments(&OPTIONS, &two, range.clone(), tiling, gradients);
                let flat = |all: &[Vec<Segment>], starts: &[usize]| -> Vec<(usize, usize)> {
                    let shift = |(s, start): (&Vec<Segment>, &usize)| {
                        let start = *start;
                        s.iter()
                            .map(move |s| (start + s.first as usize, start + s.end as usize))
                            .collect::<Vec<_>>()
                    };
                    all.iter().zip(starts).flat_map(shift).collect()
                };
                let flat_whole = flat(&whole, &[0]);
                assert_eq!(flat_whole, flat(&parts, &[0, 13_192]));
                let mut next = range.start;
                for (first, end) in flat_whole {
                    assert_eq!(first, next);
                    assert!(end > first && end - first <= OPTIONS.cell);
                    next = end;
                }
                assert_eq!(next, range.end);
            }
        }
    }
}
