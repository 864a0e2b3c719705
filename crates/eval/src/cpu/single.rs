//! The kernel for one member: SIMD lanes are positions.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::sigmoid::{ArgumentScale, IN_STEP, LaneLoss, sigmoid};
use gputexel_dataset::objective::x_per_cp;
use gputexel_dataset::{Bucket, Layout, Shape};

/// θ of one member, split and rounded to f32.
pub(super) struct MemberParameters {
    mg: Vec<f32>,
    eg: Vec<f32>,
    /// x log₂ e per centipawn.
    x2_per_cp: f32,
}

impl MemberParameters {
    pub(super) fn new(theta: &[f64], k: f64) -> Self {
        let (mg, eg) = theta.split_at(theta.len() / 2);
        let round = |values: &[f64]| values.iter().map(|&v| v as f32).collect();
        Self { mg: round(mg), eg: round(eg), x2_per_cp: (x_per_cp(k) * std::f64::consts::LOG2_E) as f32 }
    }

    /// Computes the interpolated table of a bucket in phase units: mg_units · mg + eg_units · eg, exact for whole
    /// numbers.
    pub(super) fn blend(&self, bucket: &Bucket, table: &mut [f32]) {
        let (mg_units, eg_units) = (f32::from(bucket.mg_units), f32::from(bucket.eg_units));
        for (blended, (mg, eg)) in table.iter_mut().zip(self.mg.iter().zip(&self.eg)) {
            *blended = mg * mg_units + eg * eg_units;
        }
    }
}

pub(super) struct MemberSums {
    /// Σ w ℓ without part weights, by part of the request.
    pub losses: Vec<f64>,
    /// Σ v w dℓ/dx · c · φ with part weights v, mg before eg; empty if not requested.
    pub gradient: Vec<f64>,
}

/// One stripe of positions under one member without blended targets or resampling.
pub(super) struct MemberKernel<'a, L> {
    pub layout: &'a Layout,
    pub parts: Range<usize>,
    /// Factor on the weights of each part of the request; empty: 1.
    pub part_weights: &'a [f32],
    pub positions: Range<usize>,
    pub parameters: &'a MemberParameters,
    pub loss: L,
    pub gradients: bool,
}

pub(super) const TURN: usize = 256;
/// Number of positions after which f32 sums of the gradient are added up in f64.
const FLUSH: usize = 4096;
/// Number of rows side by side, to hide the latency of additions and of loads after stores.
const ROWS: usize = 4;
const ONES: [f32; TURN] = [1.0; TURN];

/// Computes scores of the positions of a shape, centipawns: one correctly rounded product of a sum in phase units, so
/// that backends agree bit for bit wherever the sums are exact.
#[inline(always)]
pub(super) fn scores(layout: &Layout, shape: &Shape, table: &[f32], out: &mut [f32]) {
    sums(layout, shape, table, out);
    if !layout.offsets().is_empty() {
        for (score, offset) in out.iter_mut().zip(&layout.offsets()[shape.positions.clone()]) {
            *score += offset;
        }
    }
}

/// Sums a table's values over the rows of a shape and divides by the units of phase: scores without the untuned part.
#[inline(always)]
pub(super) fn sums(layout: &Layout, shape: &Shape, table: &[f32], out: &mut [f32]) {
    assert_eq!(
        (table.len(), layout.columns()),
        (layout.features(), layout.features()),
        "a table of the layout"
    );
    let per_unit = 1.0 / f32::from(layout.phase_max());
    let length = shape.row_length();
    let ids = &layout.ids()[shape.first_entry..shape.first_entry + out.len() * length];
    if !layout.unit_rows() {
        for (i, out) in out.iter_mut().enumerate() {
            let coefficients = &layout.coefficients()[shape.first_entry + i * length..][..length];
            let row = ids[i * length..][..length].iter().zip(coefficients);
            *out = row.map(|(&id, &c)| value(table, id) * c).sum::<f32>() * per_unit;
        }
    } else if length == 0 {
        out.fill(0.0);
    } else {
        sum_unit_rows(ids, shape, table, out);
        out.iter_mut().for_each(|sum| *sum *= per_unit);
    }
}

/// Sums a table's values over rows without coefficients, which are not empty.
#[inline(never)]
fn sum_unit_rows(ids: &[u16], shape: &Shape, table: &[f32], out: &mut [f32]) {
    let (length, plus) = (shape.row_length(), shape.plus);
    let (grouped, single) = out.as_chunks_mut::<ROWS>();
    let rows = ids.chunks_exact(ROWS * length);
    let rest = rows.remainder().chunks_exact(length);
    for (rows, out) in rows.zip(grouped) {
        // Slices of equal lengths, so that no index is checked.
        let rows: [_; ROWS] = std::array::from_fn(|r| rows[r * length..][..length].split_at(plus));
        let mut sums = [0.0f32; ROWS];
        let [a, b, c, d] = rows.map(|(added, _)| added);
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            sums.iter_mut().zip([a, b, c, d]).for_each(|(sum, id)| *sum += value(table, id));
        }
        let [a, b, c, d] = rows.map(|(_, subtracted)| subtracted);
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            sums.iter_mut().zip([a, b, c, d]).for_each(|(sum, id)| *sum -= value(table, id));
        }
        *out = sums;
    }
    for (row, out) in rest.zip(single) {
        let sum = |ids: &[u16]| ids.iter().map(|&id| value(table, id)).sum::<f32>();
        *out = sum(&row[..plus]) - sum(&row[plus..]);
    }
}

#[inline(always)]
fn value(table: &[f32], id: u16) -> f32 {
    debug_assert!(usize::from(id) < table.len());
    // SAFETY: the callers, `sums` and what it calls, take `id` from `Layout::ids`, and `sums` asserts that `table`
    // has `Layout::features` entries, as many as the same layout's columns. Every id of a layout is
    // below that number: `Layout::try_new`, in `gputexel_dataset`, checks it, and nothing outside that
    // crate can change ids or features.
    unsafe { *table.get_unchecked(usize::from(id)) }
}

pub(super) fn piece(shape: &Shape, done: usize, count: usize) -> Shape {
    Shape {
        positions: shape.positions.start + done..shape.positions.start + done + count,
        first_entry: shape.first_entry + done * shape.row_length(),
        ..*shape
    }
}

impl<L: LaneLoss> WithSimd for MemberKernel<'_, L> {
    type Output = MemberSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> MemberSums {
        let features = self.layout.features();
        assert_eq!(features, self.layout.columns(), "ids are those of features");
        let mut table = vec![0.0f32; features];
        // Two copies, so that neighbors rarely wait for each other's stores.
        let mut bucket_gradient = [(); 2].map(|()| vec![0.0f32; if self.gradients { features } else { 0 }]);
        let mut turn = [0.0f32; TURN];
        let mut sums = MemberSums {
            losses: vec![0.0; self.parts.len()],
            gradient: vec![0.0; if self.gradients { 2 * features } else { 0 }],
        };
        for (bucket, positions) in self.layout.buckets_in(self.positions.clone()) {
            self.parameters.blend(bucket, &mut table);
            let part = bucket.part - self.parts.start;
            let mut start = positions.start;
            while start < positions.end {
                let end = (start + FLUSH).min(positions.end);
                for shape in self.layout.shapes_in(start..end) {
                    let mut done = 0;
                    while done < shape.positions.len() {
                        let count = TURN.min(shape.positions.len() - done);
                        let piece = piece(&shape, done, count);
                        scores(self.layout, &piece, &table, &mut turn[..count]);
                        sums.losses[part] += self.losses_and_slopes(simd, &piece, &mut turn[..count]);
                        if self.gradients {
                            scatter(self.layout, &piece, &turn[..count], &mut bucket_gradient);
                        }
                        done += count;
                    }
                }
                if self.gradients {
                    let weight = self.part_weights.get(part).copied().unwrap_or(1.0);
                    flush(self.layout, bucket, weight, &mut bucket_gradient, &mut sums.gradient);
                }
                start = end;
            }
        }
        sums
    }
}

impl<L: LaneLoss> MemberKernel<'_, L> {
    /// Replaces scores by slopes w dℓ/dx and returns Σ w ℓ.
    #[inline(always)]
    fn losses_and_slopes<S: Simd>(&self, simd: S, piece: &Shape, scores: &mut [f32]) -> f64 {
        let count = scores.len();
        let targets = &self.layout.targets()[piece.positions.clone()];
        let weights = if self.layout.weights().is_empty() {
            &ONES[..count]
        } else {
            &self.layout.weights()[piece.positions.clone()]
        };
        let scale = ArgumentScale::new(simd, simd.splat_f32s(self.parameters.x2_per_cp));
        let mut total = [simd.splat_f32s(0.0); IN_STEP];
        let mut start = 0;
        while start < count {
            let (mut cp, mut y, mut w) = (total, total, total);
            for i in 0..IN_STEP {
                // Lanes beyond the end are 0, and so are their weights.
                let lanes =
                    (start + i * S::F32_LANES).min(count)..(start + (i + 1) * S::F32_LANES).min(count);
                cp[i] = simd.partial_load_f32s(&scores[lanes.clone()]);
                y[i] = simd.partial_load_f32s(&targets[lanes.clone()]);
                w[i] = simd.partial_load_f32s(&weights[lanes]);
            }
            let predictions = sigmoid(simd, cp, scale);
            for i in 0..IN_STEP {
                let value = self.loss.value(simd, &predictions[i], y[i]);
                total[i] = simd.mul_add_e_f32s(value, w[i], total[i]);
                if self.gradients {
                    let slope = self.loss.slope(simd, &predictions[i], y[i]);
                    let lanes =
                        (start + i * S::F32_LANES).min(count)..(start + (i + 1) * S::F32_LANES).min(count);
                    simd.partial_store_f32s(&mut scores[lanes], simd.mul_f32s(slope, w[i]));
                }
            }
            start += IN_STEP * S::F32_LANES;
        }
        let mut sum = 0.0;
        for &lane in bytemuck::cast_slice::<S::f32s, f32>(&total) {
            sum += f64::from(lane);
        }
        sum
    }
}

#[inline(always)]
pub(super) fn scatter(layout: &Layout, piece: &Shape, slopes: &[f32], gradient: &mut [Vec<f32>; 2]) {
    let features = layout.features();
    assert_eq!(features, layout.columns(), "ids are those of features");
    assert!(gradient.iter().all(|copy| copy.len() == features), "a value for each feature");
    let length = piece.row_length();
    let ids = &layout.ids()[piece.first_entry..piece.first_entry + slopes.len() * length];
    if !layout.unit_rows() {
        for (i, &slope) in slopes.iter().enumerate() {
            let coefficients = &layout.coefficients()[piece.first_entry + i * length..];
            for (&id, &c) in ids[i * length..][..length].iter().zip(coefficients) {
                gradient[i % 2][usize::from(id)] += slope * c;
            }
        }
        return;
    }
    if length > 0 {
        scatter_unit_rows(ids, piece, slopes, gradient);
    }
}

/// Adds slopes to the gradients of the features of rows without coefficients, which are not empty.
#[inline(never)]
fn scatter_unit_rows(ids: &[u16], piece: &Shape, slopes: &[f32], gradient: &mut [Vec<f32>; 2]) {
    let (length, plus) = (piece.row_length(), piece.plus);
    let [even, odd] = gradient.each_mut().map(Vec::as_mut_slice);
    let add = |gradient: &mut [f32], id: u16, slope: f32| {
        debug_assert!(usize::from(id) < gradient.len());
        // SAFETY: `id` is from `Layout::ids`, as in `value`, and `scatter` asserts that both copies have
        // `Layout::features` entries.
        unsafe { *gradient.get_unchecked_mut(usize::from(id)) += slope }
    };
    let rows = ids.chunks_exact(2 * length);
    let (pairs, last) = slopes.as_chunks::<2>();
    let rest = rows.remainder().chunks_exact(length);
    for (rows, &[a, b]) in rows.zip(pairs) {
        let (first, second) = rows.split_at(length);
        let (first, second) = (first.split_at(plus), second.split_at(plus));
        for (&id, &other) in first.0.iter().zip(second.0) {
            add(even, id, a);
            add(odd, other, b);
        }
        for (&id, &other) in first.1.iter().zip(second.1) {
            add(even, id, -a);
            add(odd, other, -b);
        }
    }
    for (row, &slope) in rest.zip(last) {
        row[..plus].iter().for_each(|&id| add(even, id, slope));
        row[plus..].iter().for_each(|&id| add(even, id, -slope));
    }
}

/// Adds a bucket's gradient, times its part weight, to its middlegame and endgame shares and clears it.
pub(super) fn flush(
    layout: &Layout,
    bucket: &Bucket,
    part_weight: f32,
    bucket_gradient: &mut [Vec<f32>; 2],
    gradient: &mut [f64],
) {
    let scale = f64::from(part_weight) / f64::from(layout.phase_max());
    let (mg_share, eg_share) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
    let (mg, eg) = gradient.split_at_mut(gradient.len() / 2);
    for copy in bucket_gradient {
        for (value, (mg, eg)) in copy.iter_mut().zip(mg.iter_mut().zip(eg.iter_mut())) {
            *mg += mg_share * f64::from(*value);
            *eg += eg_share * f64::from(*value);
            *value = 0.0;
        }
    }
}
