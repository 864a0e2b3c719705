//! Kernels for many members: SIMD lanes are members.

#![allow(
    clippy::needless_range_loop,
    reason = "index loops over vectors compile to what they say, see `sigmoid`"
)]

mod columns;
mod groups;
mod resampling;
mod rows;
mod tally;
mod woven;

use pulp::{Simd, WithSimd};

pub(super) use columns::Columns;
pub(super) use groups::Groups;
pub(super) use rows::{SharedScores, TileItem, tile_kernel};
pub(super) use tally::{Tally, TallyKernel};
pub(super) use woven::{WovenItem, woven_kernel};

use super::sigmoid::ArgumentScale;
use gputexel_dataset::{Bucket, Layout};

/// θ of the members of one tile, in the type used by the SIMD implementation, and their other settings. Optional lists
/// are empty if the population has none.
pub(super) struct TileParameters {
    /// Number of members; the last ones may be padding.
    pub width: usize,
    /// `[feature][member]`, f32, centipawns; empty if scores are given.
    pub mg: Vec<f32>,
    pub eg: Vec<f32>,
    /// x log₂ e per phase unit of the sum, or per centipawn if scores are given, for each member.
    pub x2_per_unit: Vec<f32>,
    pub part_weights: Vec<f32>,
    /// Weight of the search score in the targets, for each member.
    pub blends: Vec<f32>,
    pub seeds: Vec<u32>,
}

impl TileParameters {
    #[inline(always)]
    fn scales<S: Simd, const V: usize>(&self, simd: S) -> [ArgumentScale<S::f32s>; V] {
        let x2_per_unit: [S::f32s; V] = vectors::<S, V>(&self.x2_per_unit);
        let mut scales = [ArgumentScale::new(simd, x2_per_unit[0]); V];
        for v in 1..V {
            scales[v] = ArgumentScale::new(simd, x2_per_unit[v]);
        }
        scales
    }

    /// Returns the factors of a part of the request, for each member; `None` if all are 1.
    fn weights_of(&self, part: usize) -> Option<&[f32]> {
        let weights = &self.part_weights;
        (!weights.is_empty()).then(|| &weights[part * self.width..][..self.width])
    }
}

pub(super) struct TileSums {
    /// Σ w r ℓ without part weights, `[part of the request][member]`.
    pub losses: Vec<f64>,
    /// Σ w r, likewise; empty without resampling, when the weights are those of the layout.
    pub weights: Vec<f64>,
    /// Σ v w r dℓ/dx · c · φ with part weights v, `[2 F][member]`, mg before eg; empty if not requested.
    pub gradients: Vec<f64>,
}

impl TileSums {
    fn new(parts: usize, features: usize, width: usize, resampled: bool, gradients: bool) -> Self {
        Self {
            losses: vec![0.0; parts * width],
            weights: vec![0.0; if resampled { parts * width } else { 0 }],
            gradients: vec![0.0; if gradients { 2 * features * width } else { 0 }],
        }
    }
}

/// Vectors per tile: with two of AVX-512 or AVX2, the used rows of a piece-square table fit in the L1 cache; NEON's are
/// half as wide.
const VECTORS: usize = if cfg!(target_arch = "aarch64") { 4 } else { 2 };
/// Number of positions after which f32 sums of the gradient are added up in f64.
const FLUSH: usize = 4096;

/// A table row: one value per member of the tile.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Row<T, const V: usize>([T; V]);

pub(super) struct TileWidth;

impl WithSimd for TileWidth {
    type Output = usize;

    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        VECTORS * S::F32_LANES
    }
}

/// Computes the interpolated table of a bucket, in phase units: mg_units · mg + eg_units · eg, by feature.
#[inline(always)]
fn blend<S: Simd, const V: usize>(
    simd: S,
    bucket: &Bucket,
    parameters: &TileParameters,
    table: &mut [Row<S::f32s, V>],
) {
    let width = V * S::F32_LANES;
    let mg_units = simd.splat_f32s(f32::from(bucket.mg_units));
    let eg_units = simd.splat_f32s(f32::from(bucket.eg_units));
    let rows = parameters.mg.chunks_exact(width).zip(parameters.eg.chunks_exact(width));
    for (row, (mg, eg)) in table.iter_mut().zip(rows) {
        let (mg, eg): ([S::f32s; V], [S::f32s; V]) = (vectors::<S, V>(mg), vectors::<S, V>(eg));
        for v in 0..V {
            // Not fused: exact for whole numbers either way, and more consistent between implementations.
            row.0[v] = simd.add_f32s(simd.mul_f32s(mg[v], mg_units), simd.mul_f32s(eg[v], eg_units));
        }
    }
}

#[inline(always)]
fn add(sums: &mut [f64], lanes: &[f32]) {
    for (sum, &lane) in sums.iter_mut().zip(lanes) {
        *sum += f64::from(lane);
    }
}

#[inline(always)]
fn vectors<S: Simd, const V: usize>(values: &[f32]) -> [S::f32s; V] {
    // Not `partial_load`, which is a function call in some implementations.
    let (vectors, _) = S::as_simd_f32s(values);
    vectors.try_into().expect("rows are whole vectors")
}

/// Adds a bucket's gradient, times its part weights, to its middlegame and endgame shares and clears it.
#[inline(always)]
fn flush<T: bytemuck::Pod, const V: usize>(
    layout: &Layout,
    bucket: &Bucket,
    part_weights: Option<&[f32]>,
    bucket_gradient: &mut [Row<T, V>],
    gradients: &mut [f64],
    zero: Row<T, V>,
) {
    let scale = 1.0 / f64::from(layout.phase_max());
    let (mg_share, eg_share) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
    let (mg, eg) = gradients.split_at_mut(gradients.len() / 2);
    let width = V * size_of::<T>() / size_of::<f32>();
    let rows = mg.chunks_exact_mut(width).zip(eg.chunks_exact_mut(width));
    for (row, (mg, eg)) in bucket_gradient.iter_mut().zip(rows) {
        let lanes: &mut [f32] = bytemuck::cast_slice_mut(&mut row.0);
        if lanes.iter().all(|&lane| lane == 0.0) {
            continue;
        }
        if let Some(weights) = part_weights {
            lanes.iter_mut().zip(weights).for_each(|(lane, weight)| *lane *= weight);
        }
        for ((mg, eg), &value) in mg.iter_mut().zip(eg).zip(&*lanes) {
            *mg += mg_share * f64::from(value);
            *eg += eg_share * f64::from(value);
        }
        *row = zero;
    }
}
