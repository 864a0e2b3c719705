//! Plans: how a request is cut into tiles of members, segments of positions, and slices that are
//! dispatched one by one. Pure arithmetic; nothing here touches the device.

use std::ops::Range;

use super::GpuContext;
use super::kernels::{Segment, WORKGROUP, block_length};
use super::shard::Span;
use crate::error::{Error, Result};

/// Sizes by which work is cut. They decide the order of sums, so results repeat bit for bit for
/// equal options, not across different ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuOptions {
    /// Most bytes that a binding may have.
    pub binding_bytes: u64,
    /// Most bytes of gradient slabs.
    pub slab_bytes: u64,
    /// Most (position, member) pairs a dispatch, which bounds how long one takes.
    pub pairs_per_dispatch: u64,
    /// Workgroups that fill the device.
    pub workgroups: usize,
    /// Members a tile: 1, 4, 8, 16 or 32; chosen by the population's size where `None`.
    pub tile: Option<usize>,
}

impl GpuOptions {
    /// What suits a device.
    pub fn new(context: &GpuContext) -> Self {
        let summary = context.summary();
        let limit = summary.max_binding_bytes.min(summary.max_buffer_bytes).min(512 << 20);
        // A slow GPU does some 10^9 pairs a second (an estimate), lavapipe 2 · 10^7 (measured): both
        // end in a quarter of a second. On a fast one a slice is still long beside its launch.
        let (pairs, workgroups) = match (summary.software, summary.kind.as_str()) {
            (true, _) => (1 << 22, 64),
            (false, "discrete GPU") => (1 << 28, 4096),
            _ => (1 << 27, 1024),
        };
        Self {
            binding_bytes: limit,
            slab_bytes: limit.min(128 << 20),
            pairs_per_dispatch: pairs,
            workgroups,
            tile: None,
        }
    }
}

/// How the members of a chunk lie in tables: `tiles` tiles of `tile` members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tiling {
    pub tile: usize,
    pub tiles: usize,
}

impl Tiling {
    /// The tiling of a population: little padding, and tiles as large as pays. Larger tiles share
    /// the reading of ids among more members; smaller ones have longer transposed blocks, so fewer
    /// slab updates. The costs a padded member are estimates from counts of loads.
    pub(super) fn new(options: &GpuOptions, members: usize, gradients: bool) -> Self {
        let costs: &[(usize, usize)] = if gradients {
            &[(16, 100), (8, 105), (4, 125), (32, 120)]
        } else {
            &[(32, 100), (16, 110), (8, 125), (4, 160)]
        };
        let tile = match options.tile {
            Some(tile) => tile,
            None if members == 1 => 1,
            None => {
                let cost = |&&(tile, cost): &&(usize, usize)| members.div_ceil(tile) * tile * cost;
                costs.iter().min_by_key(cost).map_or(4, |&(tile, _)| tile)
            }
        };
        Self { tile, tiles: members.div_ceil(tile) }
    }

    /// Members with padding: floats a row of the tables.
    pub(super) fn padded(self) -> usize {
        self.tile * self.tiles
    }
}

/// Segments that one dispatch covers.
#[derive(Debug)]
pub(super) struct Slice {
    pub shard: usize,
    pub segments: Vec<Segment>,
}

/// Members that can be evaluated together.
///
/// # Errors
/// [`Error::Gpu`] when not even one tile fits the device.
pub(super) fn members_per_chunk(
    options: &GpuOptions,
    features: usize,
    tapers: usize,
    gradients: bool,
) -> Result<usize> {
    let table = 4 * (tapers * (features + 2)).max(2 * features + 1) as u64;
    let slab = 4 * features as u64;
    let mut members = options.binding_bytes / table;
    if gradients {
        // Two slabs at least; the totals, of two sides, are bound as well.
        members = members.min(options.slab_bytes / slab / 2).min(options.binding_bytes / slab / 2);
    }
    // Tiles of one member, where the options force them, are workgroups in y.
    let members = (members as usize).min(65_535);
    let least = options.tile.unwrap_or(1);
    if members < least {
        return Err(Error::Gpu(format!(
            "tables of {tapers} phases and {features} features exceed the device's {} bytes a binding",
            options.binding_bytes
        )));
    }
    // Whole tiles, so that padding does not go over.
    Ok(match members {
        0..4 => 1,
        4..32 => 1 << members.ilog2(),
        _ => members / 32 * 32,
    })
}

/// Cuts the positions of a request into slices.
pub(super) fn slices(
    options: &GpuOptions,
    shards: &[&[Span]],
    positions: Range<usize>,
    tiling: Tiling,
    features: usize,
    gradients: bool,
) -> Vec<Slice> {
    let block = block_length(tiling.tile);
    // Without gradients a segment need not be whole blocks, only whole rounds of a workgroup.
    let step = if gradients { block } else { WORKGROUP / tiling.tile.div_ceil(4) };
    let floats = (tiling.padded() * 4) as u64;
    let mut most = (options.binding_bytes / floats).min(65_535);
    if gradients {
        most = most.min(options.slab_bytes / (floats * features.max(1) as u64));
    }
    let most = most.max(1) as usize;
    let per_slice = (options.pairs_per_dispatch as usize / tiling.padded()).max(block);
    let wanted = (options.workgroups / tiling.tiles).clamp(1, most);
    let per_segment = positions.len().min(per_slice).div_ceil(wanted).next_multiple_of(step);
    let mut slices: Vec<Slice> = Vec::new();
    let mut covered = 0;
    for (shard, spans) in shards.iter().enumerate() {
        let Some(start) = spans.first().map(|span| span.positions.start) else { continue };
        let mut block_base = 0;
        for span in *spans {
            // Parts begin with a bucket, so what is asked for begins and ends with a span or with a
            // shard; either way on a block.
            let first = span.positions.start.max(positions.start);
            let end = span.positions.end.min(positions.end);
            let mut at = first;
            while at < end {
                let stop = (at + per_segment).min(end);
                let full = slices.last().is_none_or(|slice| {
                    slice.shard != shard
                        || slice.segments.len() >= most
                        || covered + (stop - at) > per_slice.max(per_segment)
                });
                if full {
                    slices.push(Slice { shard, segments: Vec::new() });
                    covered = 0;
                }
                covered += stop - at;
                slices.last_mut().expect("pushed above").segments.push(Segment {
                    first: (at - start) as u32,
                    end: (stop - start) as u32,
                    block: (block_base + (at - span.positions.start) / block) as u32,
                    taper: span.taper,
                });
                at = stop;
            }
            block_base += span.positions.len().div_ceil(block);
        }
    }
    slices
}

/// Workgroups in x that give every element a thread, as far as the limit goes; kernels stride.
pub(super) fn groups_for(elements: usize) -> u32 {
    elements.div_ceil(WORKGROUP).clamp(1, 65_535) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: GpuOptions = GpuOptions {
        binding_bytes: 128 << 20,
        slab_bytes: 64 << 20,
        pairs_per_dispatch: 1 << 20,
        workgroups: 512,
        tile: None,
    };

    #[test]
    fn tiles_waste_little() {
        for gradients in [false, true] {
            assert_eq!(Tiling::new(&OPTIONS, 1, gradients), Tiling { tile: 1, tiles: 1 });
            for members in 2..200 {
                let tiling = Tiling::new(&OPTIONS, members, gradients);
                assert!(tiling.padded() >= members && tiling.padded() < 2 * members + 4, "{tiling:?}");
            }
            assert!(Tiling::new(&OPTIONS, 33, gradients).padded() < 64);
        }
    }

    #[test]
    fn slices_cover_a_request_once_within_their_limits() {
        let span = |positions, taper| Span { positions, taper };
        let shards =
            [vec![span(0..5000, 0), span(5000..9096, 1)], vec![span(9096..9300, 1), span(9300..40_000, 2)]];
        let shards: Vec<&[Span]> = shards.iter().map(Vec::as_slice).collect();
        for members in [1, 5, 64, 1000] {
            for slab_bytes in [1 << 20, 64 << 20] {
                for range in [0..40_000, 5000..9300] {
                    let options = GpuOptions { slab_bytes, ..OPTIONS };
                    let tiling = Tiling::new(&options, members, true);
                    let slices = slices(&options, &shards, range.clone(), tiling, 10, true);
                    let mut next = range.start;
                    for slice in &slices {
                        let start = shards[slice.shard][0].positions.start;
                        let slab = slice.segments.len() * tiling.padded() * 10 * 4;
                        assert!(slice.segments.len() == 1 || slab as u64 <= slab_bytes);
                        let mut pairs = 0;
                        for segment in &slice.segments {
                            assert_eq!(start + segment.first as usize, next);
                            next = start + segment.end as usize;
                            pairs += (segment.end - segment.first) as usize * tiling.padded();
                        }
                        assert!(slice.segments.len() == 1 || pairs <= 1 << 20, "{pairs}");
                    }
                    assert_eq!(next, range.end);
                }
            }
        }
    }
}
