//! The kernel for many members: SIMD lanes are members.

#![allow(
    clippy::needless_range_loop,
    reason = "index loops over vectors compile to what they say, see `sigmoid`"
)]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::columns::{Class, Columns};
use super::groups::{BLOCK, GROUP, Groups};
use super::resampling::counts;
use super::{FLUSH, Row, TileParameters, TileSums, VECTORS, add, blend, flush};
use crate::cpu::sigmoid::{ArgumentScale, LaneLoss, sigmoid};
use gputexel_dataset::{Block, Layout};

pub(in crate::cpu) struct WovenItem<'a> {
    pub layout: &'a Layout,
    pub groups: &'a Groups,
    pub columns: Option<&'a Columns>,
    pub parts: Range<usize>,
    pub blocks: Range<usize>,
    pub parameters: &'a TileParameters,
}

pub(in crate::cpu) struct WovenKernel<'a, L, const V: usize, const PLAIN: bool, const GRADIENTS: bool> {
    item: WovenItem<'a>,
    loss: L,
}

pub(in crate::cpu) fn woven_kernel<L: LaneLoss, const PLAIN: bool, const GRADIENTS: bool>(
    item: WovenItem<'_>,
    loss: L,
) -> WovenKernel<'_, L, VECTORS, PLAIN, GRADIENTS> {
    WovenKernel { item, loss }
}

#[derive(Clone, Copy)]
struct Group<T, const V: usize> {
    sums: [[T; GROUP]; V],
    first: usize,
    slopes: usize,
}

struct BlockSums<T, const V: usize> {
    /// Σ w r ℓ, of even and odd positions.
    losses: [[T; 2]; V],
    /// Σ w r, only meaningful with resampling.
    weights: [T; V],
}

impl<L: LaneLoss, const V: usize, const PLAIN: bool, const GRADIENTS: bool> WithSimd
    for WovenKernel<'_, L, V, PLAIN, GRADIENTS>
{
    type Output = TileSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileSums {
        let WovenItem { layout, groups, columns, parameters, .. } = self.item;
        let features = layout.features();
        assert_eq!(features, layout.columns(), "ids are those of features");
        let width = V * S::F32_LANES;
        assert_eq!(parameters.width, width);
        assert_eq!(8 * groups.unit, size_of::<Row<S::f32s, V>>());
        let zero = Row([simd.splat_f32s(0.0); V]);
        let scales = parameters.scales::<S, V>(simd);
        let resampled = !PLAIN && !parameters.seeds.is_empty();
        let mut sums = TileSums::new(self.item.parts.len(), features, width, resampled, GRADIENTS);
        // The row after those of the features is for padding.
        let mut table = vec![zero; features + 1];
        let mut gradient = vec![zero; if GRADIENTS { features } else { 0 }];
        // So is the row after the slopes of a block.
        let mut slopes = vec![zero; if GRADIENTS { BLOCK + 1 } else { 0 }];
        let (mut bucket, mut unflushed) = (usize::MAX, 0);
        for (index, block) in groups.blocks_in(self.item.blocks.clone()) {
            let own = &layout.buckets()[block.bucket];
            let part = own.part - self.item.parts.start;
            if block.bucket != bucket {
                bucket = block.bucket;
                blend(simd, own, parameters, &mut table[..features]);
            }
            let added = self.block::<S>(simd, block, &table, scales, &mut slopes);
            for v in 0..V {
                let at = part * width + v * S::F32_LANES;
                let loss = simd.add_f32s(added.losses[v][0], added.losses[v][1]);
                add(&mut sums.losses[at..][..S::F32_LANES], bytemuck::cast_slice(&[loss]));
                if resampled {
                    add(&mut sums.weights[at..][..S::F32_LANES], bytemuck::cast_slice(&[added.weights[v]]));
                }
            }
            let Some(columns) = columns.filter(|_| GRADIENTS) else { continue };
            let weights = parameters.weights_of(part);
            // A fold that all members leave out is evaluated, but does not contribute to gradients.
            if weights.is_some_and(|weights| weights.iter().all(|&weight| weight <= 0.0)) {
                continue;
            }
            slopes[BLOCK] = zero;
            for (class, own, lists, coefficients) in columns.classes(index) {
                if coefficients.is_empty() {
                    gather::<S, V>(simd, class, own, lists, &slopes, &mut gradient)
                } else {
                    gather_scaled::<S, V>(simd, class, (own, lists, coefficients), &slopes, &mut gradient)
                }
            }
            unflushed += block.positions.len();
            let last = index + 1 == self.item.blocks.end || groups.blocks()[index + 1].bucket != bucket;
            if last || unflushed >= FLUSH {
                flush(layout, own, weights, &mut gradient, &mut sums.gradients, zero);
                unflushed = 0;
            }
        }
        sums
    }
}

impl<L: LaneLoss, const V: usize, const PLAIN: bool, const GRADIENTS: bool>
    WovenKernel<'_, L, V, PLAIN, GRADIENTS>
{
    #[inline(always)]
    fn block<S: Simd>(
        &self,
        simd: S,
        block: &Block,
        table: &[Row<S::f32s, V>],
        scales: [ArgumentScale<S::f32s>; V],
        slopes: &mut [Row<S::f32s, V>],
    ) -> BlockSums<S::f32s, V> {
        let zero = simd.splat_f32s(0.0);
        let mut out = BlockSums { losses: [[zero; 2]; V], weights: [zero; V] };
        let start = block.positions.start;
        let mut position = start;
        let mut waiting = Group { sums: [[zero; GROUP]; V], first: start, slopes: 0 };
        for (run, entries, coefficients) in self.item.groups.runs(block) {
            let (plus, length) = (usize::from(run.plus), usize::from(run.plus) + usize::from(run.minus));
            for g in 0..run.groups as usize {
                let (added, subtracted) = entries[g * length..(g + 1) * length].split_at(plus);
                let mut sums = [[zero; GROUP]; V];
                let woven = position > start;
                match coefficients.get(g * length..(g + 1) * length) {
                    Some(scales) if !PLAIN && length > 0 => add_scaled(simd, table, added, scales, &mut sums),
                    _ => self.add_rows::<S, false>(simd, table, added, &mut sums),
                }
                if woven {
                    self.finish(simd, 0, &waiting, GROUP, scales[0], &mut out, slopes);
                }
                self.add_rows::<S, true>(simd, table, subtracted, &mut sums);
                if woven {
                    for v in 1..V {
                        self.finish(simd, v, &waiting, GROUP, scales[v], &mut out, slopes);
                    }
                }
                waiting = Group { sums, first: position, slopes: position - start };
                position += GROUP;
            }
        }
        for v in 0..V {
            let count = block.positions.end - waiting.first;
            self.finish(simd, v, &waiting, count, scales[v], &mut out, slopes);
        }
        out
    }

    #[inline(always)]
    fn add_rows<S: Simd, const MINUS: bool>(
        &self,
        simd: S,
        table: &[Row<S::f32s, V>],
        entries: &[u64],
        sums: &mut [[S::f32s; GROUP]; V],
    ) {
        for &entry in entries {
            for i in 0..GROUP {
                let row = row_at(table, entry >> (16 * i) & 0xffff);
                for v in 0..V {
                    sums[v][i] = match MINUS {
                        true => simd.sub_f32s(sums[v][i], row.0[v]),
                        false => simd.add_f32s(sums[v][i], row.0[v]),
                    };
                }
            }
        }
    }

    /// Adds the losses of one vector of members of a group, and stores its slopes, if gradients are requested.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "a closure would be called, see `sigmoid`")]
    fn finish<S: Simd>(
        &self,
        simd: S,
        v: usize,
        group: &Group<S::f32s, V>,
        count: usize,
        scale: ArgumentScale<S::f32s>,
        out: &mut BlockSums<S::f32s, V>,
        slopes: &mut [Row<S::f32s, V>],
    ) {
        let WovenItem { layout, parameters, .. } = self.item;
        let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
        let lanes = v * S::F32_LANES..(v + 1) * S::F32_LANES;
        let positions = group.first..group.first + count;
        // Missing positions of an incomplete group are computed with the settings of its last position, and not
        // counted.
        let at: [usize; GROUP] = std::array::from_fn(|j| positions.start + j.min(count - 1));
        let mut sums = group.sums[v];
        let (mut y, mut w) = ([zero; GROUP], [one; GROUP]);
        for j in 0..GROUP {
            y[j] = simd.splat_f32s(layout.targets()[at[j]]);
        }
        if !PLAIN {
            if !layout.offsets().is_empty() {
                for j in 0..GROUP {
                    let offset = layout.offsets()[at[j]] * f32::from(layout.phase_max());
                    sums[j] = simd.add_f32s(sums[j], simd.splat_f32s(offset));
                }
            }
            if !layout.weights().is_empty() {
                for j in 0..GROUP {
                    w[j] = simd.splat_f32s(layout.weights()[at[j]]);
                }
            }
            if let Some(blends) = parameters.blends.get(lanes.clone()) {
                let blends = simd.partial_load_f32s(blends);
                for j in 0..GROUP {
                    let difference = simd.splat_f32s(layout.search()[at[j]] - layout.targets()[at[j]]);
                    y[j] = simd.mul_add_e_f32s(blends, difference, y[j]);
                }
            }
            if let Some(seeds) = parameters.seeds.get(lanes) {
                for j in 0..GROUP {
                    w[j] = simd.mul_f32s(w[j], counts(simd, layout.game(at[j]), seeds));
                }
            }
        }
        // The vectors processed together are positions of the same members, so a shared division only mixes numbers of
        // one member: a NaN in one member does not affect others.
        let predictions = sigmoid(simd, sums, scale);
        for j in 0..GROUP {
            if j >= count {
                break;
            }
            if PLAIN {
                let chain = &mut out.losses[v][j % 2];
                *chain = self.loss.add_value(simd, &predictions[j], y[j], *chain);
            } else {
                let value = self.loss.value(simd, &predictions[j], y[j]);
                out.losses[v][0] = simd.mul_add_e_f32s(value, w[j], out.losses[v][0]);
                out.weights[v] = simd.add_f32s(out.weights[v], w[j]);
            }
            if GRADIENTS {
                let slope = self.loss.slope(simd, &predictions[j], y[j]);
                slopes[group.slopes + j].0[v] = if PLAIN { slope } else { simd.mul_f32s(slope, w[j]) };
            }
        }
    }
}

#[inline(always)]
fn add_scaled<S: Simd, const V: usize>(
    simd: S,
    table: &[Row<S::f32s, V>],
    entries: &[u64],
    coefficients: &[[f32; GROUP]],
    sums: &mut [[S::f32s; GROUP]; V],
) {
    for (&entry, scales) in entries.iter().zip(coefficients) {
        for i in 0..GROUP {
            let (row, scale) = (row_at(table, entry >> (16 * i) & 0xffff), simd.splat_f32s(scales[i]));
            for v in 0..V {
                sums[v][i] = simd.mul_add_e_f32s(row.0[v], scale, sums[v][i]);
            }
        }
    }
}

#[inline(always)]
fn gather_scaled<S: Simd, const V: usize>(
    simd: S,
    class: Class,
    (features, lists, coefficients): (&[u16], &[u64], &[[f32; GROUP]]),
    slopes: &[Row<S::f32s, V>],
    gradient: &mut [Row<S::f32s, V>],
) {
    let quads = usize::from(class.quads);
    let lists = lists.chunks_exact(quads).zip(coefficients.chunks_exact(quads));
    for (&feature, (list, scales)) in features.iter().zip(lists) {
        let mut sums = [[simd.splat_f32s(0.0); V]; 2];
        for (&quad, scales) in list.iter().zip(scales) {
            for i in 0..GROUP {
                let (row, scale) = (row_at(slopes, quad >> (16 * i) & 0xffff), simd.splat_f32s(scales[i]));
                for v in 0..V {
                    sums[i % 2][v] = simd.mul_add_e_f32s(row.0[v], scale, sums[i % 2][v]);
                }
            }
        }
        let row = row_at_mut(gradient, feature);
        for v in 0..V {
            row.0[v] = simd.add_f32s(row.0[v], simd.add_f32s(sums[0][v], sums[1][v]));
        }
    }
}

#[inline(always)]
fn gather<S: Simd, const V: usize>(
    simd: S,
    class: Class,
    features: &[u16],
    lists: &[u64],
    slopes: &[Row<S::f32s, V>],
    gradient: &mut [Row<S::f32s, V>],
) {
    // Constant lengths: the loops are unrolled.
    macro_rules! lists {
        ($($quads:literal)*) => {
            match (class.quads, class.minus) {
                $(
                    ($quads, false) => gather_lists::<S, V, $quads, false>(simd, class, features, lists, slopes, gradient),
                    ($quads, true) => gather_lists::<S, V, $quads, true>(simd, class, features, lists, slopes, gradient),
                )*
                (_, false) => gather_lists::<S, V, 0, false>(simd, class, features, lists, slopes, gradient),
                (_, true) => gather_lists::<S, V, 0, true>(simd, class, features, lists, slopes, gradient),
            }
        };
    }
    lists!(1 2 3 4)
}

#[inline(always)]
fn gather_lists<S: Simd, const V: usize, const Q: u16, const MINUS: bool>(
    simd: S,
    class: Class,
    features: &[u16],
    lists: &[u64],
    slopes: &[Row<S::f32s, V>],
    gradient: &mut [Row<S::f32s, V>],
) {
    let quads = usize::from(if Q > 0 { Q } else { class.quads });
    for (&feature, list) in features.iter().zip(lists.chunks_exact(quads)) {
        // Two chains of additions.
        let mut sums = [[simd.splat_f32s(0.0); V]; 2];
        for (q, &quad) in list.iter().enumerate() {
            for i in 0..GROUP {
                let row = row_at(slopes, quad >> (16 * i) & 0xffff);
                for v in 0..V {
                    sums[i % 2][v] = match (q, i) {
                        (0, 0 | 1) => row.0[v],
                        _ => simd.add_f32s(sums[i % 2][v], row.0[v]),
                    };
                }
            }
        }
        let row = row_at_mut(gradient, feature);
        for v in 0..V {
            let sum = simd.add_f32s(sums[0][v], sums[1][v]);
            row.0[v] = if MINUS { simd.sub_f32s(row.0[v], sum) } else { simd.add_f32s(row.0[v], sum) };
        }
    }
}

/// Returns the row that starts at an offset in units of eight bytes.
#[inline(always)]
fn row_at<T: Copy, const V: usize>(rows: &[Row<T, V>], offset: u64) -> Row<T, V> {
    let bytes = 8 * offset as usize;
    debug_assert!(bytes.is_multiple_of(size_of::<Row<T, V>>()) && bytes < size_of_val(rows));
    // SAFETY: offsets are those of `Groups` and `Columns`, created for rows of this length: `with_simd` checks that.
    // Those of a table are ids of a layout, each below the number of features, which `Layout::try_new` checks, or the
    // row after them, which tables have; those of slopes are positions of a block, at most `BLOCK` of them, or the row
    // after them. So each is a multiple of the length of a row within `rows`.
    unsafe { *rows.as_ptr().cast::<u8>().add(bytes).cast::<Row<T, V>>() }
}

/// Returns the row of a gradient that starts at an offset in units of eight bytes.
#[inline(always)]
fn row_at_mut<T: Copy, const V: usize>(rows: &mut [Row<T, V>], offset: u16) -> &mut Row<T, V> {
    let bytes = 8 * usize::from(offset);
    debug_assert!(bytes.is_multiple_of(size_of::<Row<T, V>>()) && bytes < size_of_val(rows));
    // SAFETY: as in `row_at`: these are offsets of features, and the gradient has a row for each.
    unsafe { &mut *rows.as_mut_ptr().cast::<u8>().add(bytes).cast::<Row<T, V>>() }
}
