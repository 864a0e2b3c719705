//! The kernel for one member, in f64.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::rows::{Rows, Sums, Target};
use gputexel_model::program::MAX_SLOTS;

pub(super) struct MemberSums {
    /// Σ w r ℓ without part weights, by part of the request.
    pub losses: Vec<f64>,
    /// Σ w r, likewise.
    pub weights: Vec<f64>,
    /// Σ v w r dℓ/dx · ds/dθ with part weights v, by column; empty if not requested.
    pub gradient: Vec<[f64; 2]>,
}

impl MemberSums {
    pub fn merge(mut self, other: Self) -> Self {
        super::super::add(&mut self.losses, &other.losses);
        super::super::add(&mut self.weights, &other.weights);
        super::super::add(self.gradient.as_flattened_mut(), other.gradient.as_flattened());
        self
    }
}

pub(super) struct MemberItem<'a> {
    pub rows: Rows<'a>,
    pub table: &'a [[f64; 2]],
    /// Scores, if they are known, starting at the position with the given index.
    pub given: Option<(usize, &'a [f64])>,
    pub target: Target,
    pub parts: Range<usize>,
    /// Factor on the weights of each part of the request; empty: 1.
    pub part_weights: &'a [f32],
    pub positions: Range<usize>,
    pub gradients: bool,
}

impl WithSimd for MemberItem<'_> {
    type Output = MemberSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> MemberSums {
        let (layout, program) = (self.rows.layout, self.rows.program);
        let parts = self.parts.len();
        let mut out = MemberSums {
            losses: vec![0.0; parts],
            weights: vec![0.0; parts],
            gradient: vec![[0.0; 2]; if self.gradients { program.columns() } else { 0 }],
        };
        let mut sums: Sums<f64> = [[0.0; 2]; MAX_SLOTS];
        let mut slopes = sums;
        self.rows.visit(self.positions, |bucket, position, row| {
            let part = bucket.part - self.parts.start;
            let (target, weight) = self.target.of_position(layout, position);
            let score = if let Some((first, scores)) = self.given {
                scores[position - first]
            } else {
                let present = self.rows.sums(row, self.table, &mut sums);
                let taper = self.rows.taper(bucket);
                let score = match self.gradients {
                    true => program.score_and_slopes(&sums, present, taper, &mut slopes),
                    false => program.score(&sums, present, taper),
                };
                score + layout.offsets().get(position).map_or(0.0, |&offset| f64::from(offset))
            };
            let x = self.target.x_per_cp * score;
            out.losses[part] += weight * self.target.loss.value(x, target);
            out.weights[part] += weight;
            if self.gradients {
                let part_weight = self.part_weights.get(part).map_or(1.0, |&weight| f64::from(weight));
                let outer = part_weight * weight * self.target.loss.slope(x, target);
                if outer != 0.0 {
                    slopes[..program.slots()].as_flattened_mut().iter_mut().for_each(|slope| *slope *= outer);
                    self.rows.scatter(row, &slopes, &mut out.gradient);
                }
            }
        });
        out
    }
}

pub(super) struct Scores<'a> {
    pub rows: Rows<'a>,
    pub table: &'a [[f64; 2]],
    pub positions: Range<usize>,
}

impl WithSimd for Scores<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<f64> {
        let mut scores = Vec::with_capacity(self.positions.len());
        let mut sums: Sums<f64> = [[0.0; 2]; MAX_SLOTS];
        let layout = self.rows.layout;
        self.rows.visit(self.positions, |bucket, position, row| {
            let present = self.rows.sums(row, self.table, &mut sums);
            let offset = layout.offsets().get(position).map_or(0.0, |&offset| f64::from(offset));
            scores.push(offset + self.rows.program.score(&sums, present, self.rows.taper(bucket)));
        });
        scores
    }
}
