//! The Gauss–Newton matrix of one member: Σ v w r h ∇s ∇sᵀ.
//!
//! Each position adds the products of its score's derivatives. The products of a pair of features are a block of four
//! (mg and eg of both), which is one vector addition; the blocks of the lower triangle are stored consecutively.

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::ProgramEvaluation;
use super::rows::{Rows, Sums, Target};
use crate::cpu::{Work, stripes};
use gputexel_model::program::MAX_SLOTS;

/// Number of stripes; each has its own matrix while it runs.
const STRIPES: usize = 4;

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
    /// By part of the layout.
    part_weights: Vec<f64>,
    positions: std::ops::Range<usize>,
}

impl WithSimd for Stripe<'_> {
    type Output = Vec<Block>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<Block> {
        let (layout, program) = (self.rows.layout, self.rows.program);
        let features = program.features();
        let mut blocks = vec![[0.0; 4]; features * (features + 1) / 2];
        let mut sums: Sums<f64> = [[0.0; 2]; MAX_SLOTS];
        let mut slopes = sums;
        let mut entries: Vec<(u16, f64, f64)> = Vec::new();
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
            entries.clear();
            self.rows.derivatives(row, &slopes, |column, mg, eg| {
                entries.push((program.features_of_columns()[usize::from(column)], mg, eg));
            });
            // With ascending, distinct features each product lands in the lower triangle exactly once.
            entries.sort_unstable_by_key(|entry| entry.0);
            merge(&mut entries);
            for (n, &(i, mg, eg)) in entries.iter().enumerate() {
                let i = usize::from(i);
                let row = &mut blocks[i * (i + 1) / 2..][..=i];
                let (mg, eg) = (h * mg, h * eg);
                for &(j, other_mg, other_eg) in &entries[..=n] {
                    let block = &mut row[usize::from(j)];
                    let products = [mg * other_mg, mg * other_eg, eg * other_mg, eg * other_eg];
                    for (sum, product) in block.iter_mut().zip(products) {
                        *sum += product;
                    }
                }
            }
        });
        blocks
    }
}

/// Adds up the derivatives of neighbors with the same feature.
#[inline(always)]
fn merge(entries: &mut Vec<(u16, f64, f64)>) {
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
            kept.2 += next.2;
        }
        same
    });
}
