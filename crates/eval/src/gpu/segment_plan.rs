//! The segments of a request on the device, and the key that determines them.

use std::ops::Range;

use super::kernels::Segment;
use super::plan::Tiling;
use crate::Request;
use crate::device::meter::{DeviceBuffer, Gpu};
use gputexel_io::Result;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlanKey {
    pub(super) positions: Range<usize>,
    pub(super) tiling: Tiling,
    pub(super) walk: Walk,
}

/// The purpose of a pass over positions, which determines its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Walk {
    Losses,
    Gradients,
    Matrices,
}

impl Walk {
    pub(super) fn of(request: &Request) -> Self {
        if request.gradients { Self::Gradients } else { Self::Losses }
    }
}

#[derive(Debug)]
pub(super) struct SegmentPlan {
    pub(super) shards: Vec<ShardSegments>,
}

#[derive(Debug)]
pub(super) struct ShardSegments {
    pub(super) ordinal: usize,
    pub(super) segments: Vec<Segment>,
    pub(super) buffer: DeviceBuffer,
}

impl SegmentPlan {
    pub(super) fn upload(gpu: &Gpu, cut: Vec<Vec<Segment>>) -> Result<Self> {
        let mut ordinal = 0;
        let mut shards = Vec::with_capacity(cut.len());
        for segments in cut {
            let buffer = gpu.upload("segments", bytemuck::cast_slice(&segments))?;
            let count = segments.len();
            shards.push(ShardSegments { ordinal, segments, buffer });
            ordinal += count;
        }
        Ok(Self { shards })
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.shards.iter().flat_map(|shard| &shard.segments)
    }

    pub(super) fn total(&self) -> usize {
        self.shards.last().map_or(0, |shard| shard.ordinal + shard.segments.len())
    }
}
