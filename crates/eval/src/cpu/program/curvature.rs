//! The Gauss–Newton matrix of one member: Σ v w r h ∇s ∇sᵀ.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::ProgramEvaluation;
use super::rows::{Rows, Sums, Target};
use crate::cpu::{Work, stripes};
use gputexel_model::program::MAX_SLOTS;
use gputexel_optim::linalg::zeros;

const STRIPES: usize = 4;
const BATCH: usize = 512;

/// Products of the derivatives of two features, row before column: mg mg, mg eg, eg mg, eg eg.
type Block = [f64; 4];

impl ProgramEvaluation<'_> {
    /// Computes the sums of a member over some positions: four values for each pair of features.
    pub fn sum_curvature(&self, work: &Work<'_>, member: usize, out: &mut [f64]) {
        let Work { population, request, ranges, .. } = work;
        let table = self.program.column_values(population.member(member));
        let parts = self.evaluator.layout.parts().len();
        let partial: Vec<Vec<Block>> = stripes(ranges, STRIPES)
            .into_par_iter()
            .map(|positions| {
                let part_weights: Vec<f64> =
                    (0..parts).map(|part| f64::from(population.part_weight(member, part, parts))).collect();
                self.evaluator.instruction_set.dispatch(Stripe {
                    rows: Rows { layout: self.evaluator.layout, program: self.program },
                    table: &table,
                    target: Target::of(population, member, request.loss),
                    part_weights,
                    positions,
                })
            })
            .collect();
        let mut partial = partial.into_iter();
        out.copy_from_slice(partial.next().expect("there is at least one stripe").as_flattened());
        for more in partial {
            super::super::add(out, more.as_flattened());
        }
    }
}

struct Stripe<'a> {
    rows: Rows<'a>,
    table: &'a [[f64; 2]],
    target: Target,
    part_weights: Vec<f64>,
    positions: std::ops::Range<usize>,
}

impl WithSimd for Stripe<'_> {
    type Output = Vec<Block>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<Block> {
        let (layout, program) = (self.rows.layout, self.rows.program);
        let features = program.features();
        let mut blocks: Vec<Block> = zeros(features * (features + 1) / 2);
        let mut sums: Sums<f64> = [[0.0; 2]; MAX_SLOTS];
        let mut slopes = sums;
        let mut batch = Batch::new(features);
        self.rows.visit(self.positions, |bucket, position, row| {
            let (target, weight) = self.target.of_position(layout, position);
            let weight = weight * self.part_weights[bucket.part];
            if weight == 0.0 {
                return;
            }
            let present = self.rows.sums(row, self.table, &mut sums);
            let score = program.score_and_slopes(&sums, present, self.rows.taper(bucket), &mut slopes);
            let offset = layout.offsets().get(position).map_or(0.0, |&offset| f64::from(offset));
            let h = weight * self.target.loss.curvature(self.target.x_per_cp * (score + offset), target);
            let start = batch.entries.len();
            self.rows.derivatives(row, &slopes, |column, mg, eg| {
                batch.entries.push((program.features_of_columns()[usize::from(column)], mg, eg));
            });
            // With ascending, distinct features each product lands in the lower triangle exactly once.
            batch.entries[start..].sort_unstable_by_key(|entry| entry.0);
            merge(&mut batch.entries, start);
            batch.rows.push((start, h));
            if batch.rows.len() == BATCH {
                batch.add_to(&mut blocks);
            }
        });
        batch.add_to(&mut blocks);
        blocks
    }
}

/// Positions whose products are added together, feature by feature, so that the blocks of one feature stay in the
/// fastest memory.
struct Batch {
    /// Feature, and derivatives by its values: those of one position after the other, each feature once, ascending.
    entries: Vec<(u16, f64, f64)>,
    rows: Vec<(usize, f64)>,
    places: Vec<Vec<(u32, u32)>>,
}

impl Batch {
    fn new(features: usize) -> Self {
        Self { entries: Vec::new(), rows: Vec::new(), places: vec![Vec::new(); features] }
    }

    #[inline(always)]
    fn add_to(&mut self, blocks: &mut [Block]) {
        let ends = self.rows.iter().skip(1).map(|row| row.0).chain([self.entries.len()]);
        for (n, (&(start, _), end)) in self.rows.iter().zip(ends).enumerate() {
            for place in start..end {
                self.places[usize::from(self.entries[place].0)].push((n as u32, place as u32));
            }
        }
        for (i, places) in self.places.iter_mut().enumerate() {
            let row = &mut blocks[i * (i + 1) / 2..][..=i];
            for (n, place) in places.drain(..) {
                let (start, h) = self.rows[n as usize];
                let up_to = &self.entries[start..=place as usize];
                let (_, mg, eg) = up_to[up_to.len() - 1];
                let (mg, eg) = (h * mg, h * eg);
                for &(j, other_mg, other_eg) in up_to {
                    let block = &mut row[usize::from(j)];
                    let products = [mg * other_mg, mg * other_eg, eg * other_mg, eg * other_eg];
                    for (sum, product) in block.iter_mut().zip(products) {
                        *sum += product;
                    }
                }
            }
        }
        self.entries.clear();
        self.rows.clear();
    }
}

#[inline(always)]
fn merge(entries: &mut Vec<(u16, f64, f64)>, start: usize) {
    let mut kept = start;
    for next in start + 1..entries.len() {
        let (feature, mg, eg) = entries[next];
        if entries[kept].0 == feature {
            entries[kept].1 += mg;
            entries[kept].2 += eg;
        } else {
            kept += 1;
            entries[kept] = entries[next];
        }
    }
    entries.truncate((kept + 1).min(entries.len()));
}
