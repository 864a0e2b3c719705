//! The kernel for many members, in f32: SIMD lanes are members.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::lanes::Lanes;
pub(super) use super::lanes::WIDTH;
use super::rows::{Rows, Sums};
use super::single::MemberSums;
use crate::Population;
use crate::cpu::sigmoid::{AnyLoss, ArgumentScale, LaneLoss, sigmoid};
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Layout, poisson_weight};
use gputexel_model::program::{CompiledProgram, MAX_SLOTS, Scalar};

/// Number of positions after which f32 sums of the gradient are added up in f64.
const FLUSH: usize = 2048;

/// θ and settings of the members of a tile, transposed.
pub(super) struct TileParameters {
    table: Vec<[Lanes; 2]>,
    /// x log₂ e per centipawn.
    x2_per_cp: Lanes,
    /// Factors on weights by part of the request; empty: 1.
    part_weights: Vec<Lanes>,
    /// Weight of the search score in the targets; `None` if no member blends.
    blends: Option<Lanes>,
    seeds: Option<[u32; WIDTH]>,
}

impl TileParameters {
    pub fn new(
        population: &Population,
        program: &CompiledProgram,
        first: usize,
        parts: &Range<usize>,
        layout: &Layout,
    ) -> Self {
        let member = |lane: usize| (first + lane).min(population.members() - 1);
        let lanes = |value: &dyn Fn(usize) -> f32| Lanes(std::array::from_fn(|lane| value(member(lane))));
        let features = program.features();
        let mut table = vec![[Lanes([0.0; WIDTH]); 2]; program.columns()];
        for lane in 0..WIDTH {
            let (mg, eg) = population.member(member(lane)).split_at(features);
            for (row, &feature) in table.iter_mut().zip(program.features_of_columns()) {
                row[0].0[lane] = mg[usize::from(feature)] as f32;
                row[1].0[lane] = eg[usize::from(feature)] as f32;
            }
        }
        let count = layout.parts().len();
        let part_weights = match population.part_weights.is_empty() {
            true => Vec::new(),
            false => parts.clone().map(|part| lanes(&|m| population.part_weight(m, part, count))).collect(),
        };
        let log2e = std::f64::consts::LOG2_E;
        Self {
            table,
            x2_per_cp: lanes(&|m| (x_per_cp(population.k[m]) * log2e) as f32),
            part_weights,
            blends: (!population.blends.is_empty()).then(|| lanes(&|m| population.blends[m])),
            seeds: (!population.resamples.is_empty())
                .then(|| std::array::from_fn(|lane| population.resamples[member(lane)])),
        }
    }
}

pub(super) struct TileSums {
    losses: Vec<[f64; WIDTH]>,
    weights: Vec<[f64; WIDTH]>,
    gradient: Vec<[[f64; WIDTH]; 2]>,
}

impl TileSums {
    pub fn merge(mut self, other: Self) -> Self {
        let add = super::super::add;
        add(self.losses.as_flattened_mut(), other.losses.as_flattened());
        add(self.weights.as_flattened_mut(), other.weights.as_flattened());
        add(
            self.gradient.as_flattened_mut().as_flattened_mut(),
            other.gradient.as_flattened().as_flattened(),
        );
        self
    }

    pub fn member(&self, lane: usize) -> MemberSums {
        let of = |sums: &[[f64; WIDTH]]| sums.iter().map(|lanes| lanes[lane]).collect();
        MemberSums {
            losses: of(&self.losses),
            weights: of(&self.weights),
            gradient: self.gradient.iter().map(|[mg, eg]| [mg[lane], eg[lane]]).collect(),
        }
    }
}

pub(super) struct TileItem<'a> {
    pub rows: Rows<'a>,
    pub parameters: &'a TileParameters,
    pub parts: Range<usize>,
    pub positions: Range<usize>,
    pub loss: LossKind,
    pub gradients: bool,
}

impl WithSimd for TileItem<'_> {
    type Output = TileSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileSums {
        let loss = AnyLoss::from(self.loss);
        let (layout, program) = (self.rows.layout, self.rows.program);
        let (parts, columns) = (self.parts.len(), if self.gradients { program.columns() } else { 0 });
        let mut out = TileSums {
            losses: vec![[0.0; WIDTH]; parts],
            weights: vec![[0.0; WIDTH]; parts],
            gradient: vec![[[0.0; WIDTH]; 2]; columns],
        };
        let zero = Lanes([0.0; WIDTH]);
        let mut gradient = vec![[zero; 2]; columns];
        let mut sums: Sums<Lanes> = [[zero; 2]; MAX_SLOTS];
        let mut slopes = sums;
        let mut pending = 0;
        // Loops, because the body of a closure is not compiled for the instruction set.
        for (bucket, positions) in layout.buckets_in(self.positions.clone()) {
            let part = bucket.part - self.parts.start;
            let taper = self.rows.taper(bucket);
            for shape in layout.shapes_in(positions) {
                for (i, position) in shape.positions.clone().enumerate() {
                    let row = self.rows.row(&shape, i);
                    let present = self.rows.sums(row, &self.parameters.table, &mut sums);
                    let mut score = match self.gradients {
                        true => program.score_and_slopes(&sums, present, taper, &mut slopes),
                        false => program.score(&sums, present, taper),
                    };
                    if let Some(&offset) = layout.offsets().get(position) {
                        score = score + Lanes([offset; WIDTH]);
                    }
                    let (target, mut weight) = self.target(position);
                    let (value, slope) = self.loss_and_slope(simd, loss, score, target);
                    for lane in 0..WIDTH {
                        out.losses[part][lane] += f64::from(value.0[lane] * weight.0[lane]);
                        out.weights[part][lane] += f64::from(weight.0[lane]);
                    }
                    if self.gradients {
                        if let Some(&factor) = self.parameters.part_weights.get(part) {
                            weight = weight * factor;
                        }
                        let outer = slope * weight;
                        for slope in slopes[..program.slots()].as_flattened_mut() {
                            *slope = *slope * outer;
                        }
                        self.rows.scatter(row, &slopes, &mut gradient);
                        pending += 1;
                        if pending == FLUSH {
                            flush(&mut gradient, &mut out.gradient);
                            pending = 0;
                        }
                    }
                }
            }
        }
        flush(&mut gradient, &mut out.gradient);
        out
    }
}

impl TileItem<'_> {
    #[inline(always)]
    fn target(&self, position: usize) -> (Lanes, Lanes) {
        let layout = self.rows.layout;
        let target = layout.targets()[position];
        let mut targets = Lanes([target; WIDTH]);
        if let (Some(blends), Some(&search)) = (self.parameters.blends, layout.search().get(position)) {
            targets = targets + blends * Lanes([search - target; WIDTH]);
        }
        let mut weights = Lanes([layout.weights().get(position).copied().unwrap_or(1.0); WIDTH]);
        if let Some(seeds) = &self.parameters.seeds {
            let game = layout.game(position);
            for (weight, &seed) in weights.0.iter_mut().zip(seeds) {
                *weight *= poisson_weight(game, seed) as f32;
            }
        }
        (targets, weights)
    }

    #[inline(always)]
    fn loss_and_slope<S: Simd>(&self, simd: S, loss: AnyLoss, score: Lanes, target: Lanes) -> (Lanes, Lanes) {
        let (mut value, mut slope) = (score, score);
        let (scores, _) = S::as_simd_f32s(&score.0);
        let (targets, _) = S::as_simd_f32s(&target.0);
        let (scales, _) = S::as_simd_f32s(&self.parameters.x2_per_cp.0);
        let (values, _) = S::as_mut_simd_f32s(&mut value.0);
        let (slopes, _) = S::as_mut_simd_f32s(&mut slope.0);
        for v in 0..scores.len() {
            // Four sigmoids share a division; the others are copies, because members must not share one: a NaN would
            // spread.
            let predictions = sigmoid(simd, [scores[v]; 4], ArgumentScale::new(simd, scales[v]));
            values[v] = loss.value(simd, &predictions[0], targets[v]);
            slopes[v] = loss.slope(simd, &predictions[0], targets[v]);
        }
        (value, slope)
    }
}

#[inline(always)]
fn flush(gradient: &mut [[Lanes; 2]], total: &mut [[[f64; WIDTH]; 2]]) {
    for (row, total) in gradient.as_flattened_mut().iter_mut().zip(total.as_flattened_mut()) {
        for (total, &lane) in total.iter_mut().zip(&row.0) {
            *total += f64::from(lane);
        }
        *row = Lanes::zero();
    }
}
