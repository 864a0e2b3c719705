//! The kernel for many members with the same scores, of which few are distinct: a sweep of K over piece values in
//! whole centipawns, say, where 725,000 positions may have 435 pairs of score and target.
//!
//! Lanes are members. Each pair is judged once and counts as often as it occurs.

use std::ops::Range;

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{TileParameters, TileSums, VECTORS, vectors};
use crate::cpu::sigmoid::{ArgumentScale, LaneLoss, sigmoid};
use gputexel_dataset::Layout;

/// Pairs that are judged together.
const GROUP: usize = 4;
/// Positions that are looked at to see whether tallying pays.
const SAMPLE: usize = 4096;

/// How often pairs of score and target occur, by part.
pub(in crate::cpu) struct Tally {
    /// By part of the request, ascending by pair.
    parts: Vec<Vec<(f32, f32, u32)>>,
}

impl Tally {
    /// Tallies the positions of parts, given the scores of theirs in centipawns; `None` if a sample of them shows
    /// many distinct pairs, which would gain little.
    pub fn try_new(layout: &Layout, parts: Range<usize>, scores: &[f32]) -> Option<Self> {
        let first = layout.parts()[parts.start].positions.start;
        let pair = |n: usize| {
            u64::from(scores[n - first].to_bits()) << 32 | u64::from(layout.targets()[n].to_bits())
        };
        let stride = scores.len().div_ceil(SAMPLE).max(1);
        let mut sample: Vec<u64> = (first..first + scores.len()).step_by(stride).map(pair).collect();
        let size = sample.len();
        sample.sort_unstable();
        sample.dedup();
        if 2 * sample.len() > size {
            return None;
        }
        let parts = layout.parts()[parts].iter().map(|part| {
            let mut pairs: Vec<u64> = part.positions.clone().into_par_iter().map(pair).collect();
            pairs.par_sort_unstable();
            let counted = pairs.chunk_by(|a, b| a == b).map(|equal| {
                let pair = equal[0];
                (f32::from_bits((pair >> 32) as u32), f32::from_bits(pair as u32), equal.len() as u32)
            });
            counted.collect()
        });
        Some(Self { parts: parts.collect() })
    }
}

/// The kernel for a tile of members.
pub(in crate::cpu) struct TallyKernel<'a, L> {
    pub tally: &'a Tally,
    pub parameters: &'a TileParameters,
    pub loss: L,
}

impl<L: LaneLoss> WithSimd for TallyKernel<'_, L> {
    type Output = TileSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileSums {
        let width = VECTORS * S::F32_LANES;
        assert_eq!(self.parameters.width, width);
        let x2_per_unit: [S::f32s; VECTORS] = vectors::<S, VECTORS>(&self.parameters.x2_per_unit);
        let mut losses = vec![0.0; self.tally.parts.len() * width];
        for (pairs, losses) in self.tally.parts.iter().zip(losses.chunks_exact_mut(width)) {
            for group in pairs.chunks(GROUP) {
                // What the last group lacks counts zero times.
                let mut filled = [(0.0, 0.0, 0); GROUP];
                filled[..group.len()].copy_from_slice(group);
                for (&x2_per_unit, losses) in x2_per_unit.iter().zip(losses.chunks_exact_mut(S::F32_LANES)) {
                    let mut sums = [simd.splat_f32s(0.0); GROUP];
                    for (sum, pair) in sums.iter_mut().zip(filled) {
                        *sum = simd.splat_f32s(pair.0);
                    }
                    let predictions = sigmoid(simd, sums, ArgumentScale::new(simd, x2_per_unit));
                    for (prediction, (_, target, count)) in predictions.iter().zip(filled) {
                        let value = [self.loss.value(simd, prediction, simd.splat_f32s(target))];
                        let count = f64::from(count);
                        for (loss, &value) in losses.iter_mut().zip(bytemuck::cast_slice::<_, f32>(&value)) {
                            *loss += count * f64::from(value);
                        }
                    }
                }
            }
        }
        TileSums { losses, weights: Vec::new(), gradients: Vec::new() }
    }
}
