//! The kernel for many members where groups are not suitable.

#![allow(
    clippy::needless_range_loop,
    reason = "index loops over vectors compile to what they say, see `sigmoid`"
)]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::resampling::counts;
use super::{FLUSH, Row, TileParameters, TileSums, VECTORS, add, blend, flush};
use crate::cpu::sigmoid::{AnyLoss, ArgumentScale, LaneLoss, sigmoid};
use gputexel_dataset::{Layout, Shape};

/// Scores shared by all members: rows need not be summed for each of them.
pub(in crate::cpu) struct SharedScores {
    pub first: usize,
    /// Centipawns, offsets included.
    pub scores: Vec<f32>,
}

pub(in crate::cpu) struct TileItem<'a> {
    pub layout: &'a Layout,
    pub parts: Range<usize>,
    pub positions: Range<usize>,
    pub parameters: &'a TileParameters,
    /// Set if all members share one θ.
    pub shared: Option<&'a SharedScores>,
}

pub(in crate::cpu) struct TileKernel<'a, const V: usize, const PLAIN: bool, const GRADIENTS: bool> {
    item: TileItem<'a>,
    loss: AnyLoss,
}

pub(in crate::cpu) fn tile_kernel<const PLAIN: bool, const GRADIENTS: bool>(
    item: TileItem<'_>,
    loss: AnyLoss,
) -> TileKernel<'_, VECTORS, PLAIN, GRADIENTS> {
    TileKernel { item, loss }
}

const TURN: usize = 32;

struct TileBuffers<T, const V: usize> {
    scales: [ArgumentScale<T>; V],
    /// Interpolated table of the bucket, in phase units: mg_units · mg + eg_units · eg.
    table: Vec<Row<T, V>>,
    gradient: Vec<Row<T, V>>,
    turn: [Row<T, V>; TURN],
    pieces: Vec<Shape>,
    /// True if the part counts for any member: a fold that all of them leave out is judged, but does not contribute to
    /// gradients.
    counted: bool,
}

impl<const V: usize, const PLAIN: bool, const GRADIENTS: bool> WithSimd
    for TileKernel<'_, V, PLAIN, GRADIENTS>
{
    type Output = TileSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileSums {
        let features = self.item.layout.features();
        assert_eq!(features, self.item.layout.columns(), "ids are those of features");
        let width = V * S::F32_LANES;
        assert_eq!(self.item.parameters.width, width);
        let zero = Row([simd.splat_f32s(0.0); V]);
        let resampled = !PLAIN && !self.item.parameters.seeds.is_empty();
        let mut sums = TileSums::new(self.item.parts.len(), features, width, resampled, GRADIENTS);
        let mut buffers = TileBuffers {
            scales: self.item.parameters.scales::<S, V>(simd),
            table: vec![zero; if self.item.shared.is_none() { features } else { 0 }],
            gradient: vec![zero; if GRADIENTS { features } else { 0 }],
            turn: [zero; TURN],
            pieces: Vec::with_capacity(TURN),
            counted: true,
        };
        for (bucket, positions) in self.item.layout.buckets_in(self.item.positions.clone()) {
            let part = bucket.part - self.item.parts.start;
            let weights = self.item.parameters.weights_of(part);
            buffers.counted = weights.is_none_or(|weights| weights.iter().any(|&weight| weight > 0.0));
            if self.item.shared.is_none() {
                blend::<S, V>(simd, bucket, self.item.parameters, &mut buffers.table);
            }
            let mut start = positions.start;
            while start < positions.end {
                let end = (start + FLUSH).min(positions.end);
                let (mut first, mut filled) = (start, 0);
                for shape in self.item.layout.shapes_in(start..end) {
                    let mut done = 0;
                    while done < shape.positions.len() {
                        let take = (TURN - filled).min(shape.positions.len() - done);
                        let piece = Shape {
                            positions: shape.positions.start + done..shape.positions.start + done + take,
                            first_entry: shape.first_entry + done * shape.row_length(),
                            ..shape
                        };
                        let turn = &mut buffers.turn[filled..filled + take];
                        match self.item.shared {
                            None => self.sum_rows(simd, &piece, &buffers.table, turn),
                            Some(shared) => {
                                let scores = &shared.scores[piece.positions.start - shared.first..];
                                for (row, &score) in turn.iter_mut().zip(scores) {
                                    row.0 = [simd.splat_f32s(score); V];
                                }
                            }
                        }
                        buffers.pieces.push(piece);
                        filled += take;
                        done += take;
                        if filled == TURN {
                            self.finish_turn(simd, part, first, filled, &mut buffers, &mut sums);
                            first += filled;
                            filled = 0;
                        }
                    }
                }
                if filled > 0 {
                    self.finish_turn(simd, part, first, filled, &mut buffers, &mut sums);
                }
                if GRADIENTS && buffers.counted {
                    flush(
                        self.item.layout,
                        bucket,
                        weights,
                        &mut buffers.gradient,
                        &mut sums.gradients,
                        zero,
                    );
                }
                start = end;
            }
        }
        sums
    }
}

impl<const V: usize, const PLAIN: bool, const GRADIENTS: bool> TileKernel<'_, V, PLAIN, GRADIENTS> {
    #[inline(always)]
    fn sum_rows<S: Simd>(
        &self,
        simd: S,
        piece: &Shape,
        table: &[Row<S::f32s, V>],
        out: &mut [Row<S::f32s, V>],
    ) {
        let length = piece.row_length();
        let ids = &self.item.layout.ids()[piece.first_entry..piece.first_entry + out.len() * length];
        let zero = Row([simd.splat_f32s(0.0); V]);
        if !PLAIN && !self.item.layout.coefficients().is_empty() {
            let coefficients = &self.item.layout.coefficients()[piece.first_entry..];
            for (i, out) in out.iter_mut().enumerate() {
                let mut sum = zero;
                for (&id, &c) in ids[i * length..][..length].iter().zip(&coefficients[i * length..]) {
                    let (values, c) = (row(table, id), simd.splat_f32s(c));
                    for v in 0..V {
                        sum.0[v] = simd.add_f32s(sum.0[v], simd.mul_f32s(values.0[v], c));
                    }
                }
                *out = sum;
            }
            return;
        }
        let mut done = 0;
        while done < out.len() {
            let rest = out.len() - done;
            let rows = &ids[done * length..];
            done += if rest >= 8 && S::REGISTER_COUNT >= 32 {
                sum_group::<S, V, 8>(simd, table, rows, length, piece.plus, &mut out[done..])
            } else if rest >= 4 {
                sum_group::<S, V, 4>(simd, table, rows, length, piece.plus, &mut out[done..])
            } else {
                sum_group::<S, V, 1>(simd, table, rows, length, piece.plus, &mut out[done..])
            };
        }
    }

    #[inline(always)]
    fn finish_turn<S: Simd>(
        &self,
        simd: S,
        part: usize,
        first: usize,
        count: usize,
        buffers: &mut TileBuffers<S::f32s, V>,
        sums: &mut TileSums,
    ) {
        for v in 0..V {
            let lanes = v * S::F32_LANES..(v + 1) * S::F32_LANES;
            let scale = buffers.scales[v];
            let turn = &mut buffers.turn[..count];
            let (loss, weight) = if S::REGISTER_COUNT >= 32 {
                self.losses_and_slopes::<S, 8>(simd, v, lanes.clone(), scale, first, turn)
            } else {
                self.losses_and_slopes::<S, 4>(simd, v, lanes.clone(), scale, first, turn)
            };
            let at = part * V * S::F32_LANES;
            add(&mut sums.losses[at..][lanes.clone()], bytemuck::cast_slice(&[loss]));
            if !sums.weights.is_empty() {
                add(&mut sums.weights[at..][lanes], bytemuck::cast_slice(&[weight]));
            }
        }
        if GRADIENTS && buffers.counted {
            self.scatter(simd, buffers);
        }
        buffers.pieces.clear();
    }

    /// Replaces the sums of one vector of members by slopes, if gradients are requested, and returns Σ w r ℓ and Σ w r;
    /// the latter is only meaningful with resampling.
    #[inline(always)]
    fn losses_and_slopes<S: Simd, const N: usize>(
        &self,
        simd: S,
        v: usize,
        lanes: Range<usize>,
        scale: ArgumentScale<S::f32s>,
        first: usize,
        turn: &mut [Row<S::f32s, V>],
    ) -> (S::f32s, S::f32s) {
        let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
        let blend = match self.item.parameters.blends.get(lanes.clone()) {
            Some(blends) if !PLAIN => Some(simd.partial_load_f32s(blends)),
            _ => None,
        };
        let seeds = if PLAIN { None } else { self.item.parameters.seeds.get(lanes) };
        // Given scores already contain the offsets.
        let offsets = if PLAIN || self.item.shared.is_some() { &[] } else { self.item.layout.offsets() };
        let phase_max = f32::from(self.item.layout.phase_max());
        let targets = &self.item.layout.targets()[first..first + turn.len()];
        let (mut loss, mut weight) = (zero, zero);
        let mut start = 0;
        while start < turn.len() {
            // The vectors processed together are positions of the same members, so a shared division only mixes numbers
            // of one member: a NaN in one member does not affect others.
            let mut sums = [zero; N];
            let (mut y, mut w) = (sums, [one; N]);
            for j in 0..N {
                // Excess positions are computed twice and counted once.
                let i = (start + j).min(turn.len() - 1);
                sums[j] = turn[i].0[v];
                y[j] = simd.splat_f32s(targets[i]);
                if !PLAIN {
                    if let Some(&offset) = offsets.get(first + i) {
                        sums[j] = simd.add_f32s(sums[j], simd.splat_f32s(offset * phase_max));
                    }
                    if let Some(&weight) = self.item.layout.weights().get(first + i) {
                        w[j] = simd.splat_f32s(weight);
                    }
                    if let Some(blend) = blend {
                        let difference = simd.splat_f32s(self.item.layout.search()[first + i] - targets[i]);
                        y[j] = simd.mul_add_e_f32s(blend, difference, y[j]);
                    }
                    if let Some(seeds) = seeds {
                        w[j] = simd.mul_f32s(w[j], counts(simd, self.item.layout.game(first + i), seeds));
                    }
                }
            }
            let predictions = sigmoid(simd, sums, scale);
            for j in 0..N {
                if start + j < turn.len() {
                    if PLAIN {
                        loss = self.loss.add_value(simd, &predictions[j], y[j], loss);
                    } else {
                        let value = self.loss.value(simd, &predictions[j], y[j]);
                        loss = simd.mul_add_e_f32s(value, w[j], loss);
                        weight = simd.add_f32s(weight, w[j]);
                    }
                    if GRADIENTS {
                        let slope = self.loss.slope(simd, &predictions[j], y[j]);
                        turn[start + j].0[v] = if PLAIN { slope } else { simd.mul_f32s(slope, w[j]) };
                    }
                }
            }
            start += N;
        }
        (loss, weight)
    }

    #[inline(always)]
    fn scatter<S: Simd>(&self, simd: S, buffers: &mut TileBuffers<S::f32s, V>) {
        let mut slopes = buffers.turn.iter();
        for piece in &buffers.pieces {
            let length = piece.row_length();
            for i in 0..piece.positions.len() {
                // A copy, which stays in registers while sums are written.
                let slope = *slopes.next().expect("pieces cover the turn");
                let start = piece.first_entry + i * length;
                let ids = &self.item.layout.ids()[start..start + length];
                if !PLAIN && !self.item.layout.coefficients().is_empty() {
                    for (&id, &c) in ids.iter().zip(&self.item.layout.coefficients()[start..]) {
                        let (sum, c) = (row_mut(&mut buffers.gradient, id), simd.splat_f32s(c));
                        for v in 0..V {
                            sum.0[v] = simd.mul_add_e_f32s(slope.0[v], c, sum.0[v]);
                        }
                    }
                    continue;
                }
                for &id in &ids[..piece.plus] {
                    let sum = row_mut(&mut buffers.gradient, id);
                    for v in 0..V {
                        sum.0[v] = simd.add_f32s(sum.0[v], slope.0[v]);
                    }
                }
                for &id in &ids[piece.plus..] {
                    let sum = row_mut(&mut buffers.gradient, id);
                    for v in 0..V {
                        sum.0[v] = simd.sub_f32s(sum.0[v], slope.0[v]);
                    }
                }
            }
        }
    }
}

/// Sums `R` rows of equal shape side by side, which hides the latency of additions; returns `R`.
#[inline(always)]
fn sum_group<S: Simd, const V: usize, const R: usize>(
    simd: S,
    table: &[Row<S::f32s, V>],
    ids: &[u16],
    length: usize,
    plus: usize,
    out: &mut [Row<S::f32s, V>],
) -> usize {
    // Slices that the compiler knows to be of equal length: no bounds checks inside the loops.
    let (mut added, mut subtracted) = ([ids; R], [ids; R]);
    for r in 0..R {
        (added[r], subtracted[r]) = ids[r * length..(r + 1) * length].split_at(plus);
    }
    let mut sums = [Row([simd.splat_f32s(0.0); V]); R];
    for entry in 0..added[0].len() {
        for r in 0..R {
            let values = row(table, added[r][entry]);
            for v in 0..V {
                sums[r].0[v] = simd.add_f32s(sums[r].0[v], values.0[v]);
            }
        }
    }
    for entry in 0..subtracted[0].len() {
        for r in 0..R {
            let values = row(table, subtracted[r][entry]);
            for v in 0..V {
                sums[r].0[v] = simd.sub_f32s(sums[r].0[v], values.0[v]);
            }
        }
    }
    out[..R].copy_from_slice(&sums);
    R
}

#[inline(always)]
fn row<T: Copy>(table: &[T], id: u16) -> T {
    debug_assert!(usize::from(id) < table.len());
    // SAFETY: the caller, `sum_rows` or `sum_group`, takes `id` from `Layout::ids` and `table` from
    // `with_simd`, which makes it with `Layout::features` rows unless scores are given, and then does
    // not call `sum_rows`. Every id of a layout is below that number: `Layout::try_new`, in
    // `gputexel_dataset`, checks it, and nothing outside that crate can change ids or features. A
    // check costs a tenth here.
    unsafe { *table.get_unchecked(usize::from(id)) }
}

#[inline(always)]
fn row_mut<T>(table: &mut [T], id: u16) -> &mut T {
    debug_assert!(usize::from(id) < table.len());
    // SAFETY: the caller, `scatter`, takes `id` from `Layout::ids`, as in `row`, and `table` from
    // `with_simd`, which makes the gradient with `Layout::features` rows where there are `GRADIENTS`;
    // `finish_turn` calls `scatter` only then.
    unsafe { table.get_unchecked_mut(usize::from(id)) }
}
