//! Blocks on the diagonal of a member's Gauss–Newton matrix, for preconditioning if the whole matrix is too large.

use std::ops::Range;

use rayon::prelude::*;

use super::curvature::Targets;
use super::single::{self, MemberParameters, TURN};
use super::{CpuEvaluator, stripes};
use crate::Population;
use crate::products::ProductRequest;
use crate::sums::ProductSums;
use gputexel_dataset::objective::LossKind;
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};

const STRIPES: usize = 4;

impl CpuEvaluator<'_> {
    /// Computes the blocks of every member over some positions, and Σ v w r where members are resampled.
    pub(super) fn sum_blocks(
        &self,
        population: &Population,
        request: &ProductRequest,
        ranges: &[Range<usize>],
        out: &mut ProductSums,
    ) {
        let Some(size) = request.block else { return };
        let length = out.blocks.len() / population.members().max(1);
        for member in 0..population.members() {
            let (values, weight) = self.blocks_of(population, member, request.loss, size, ranges);
            out.blocks[member * length..][..length].copy_from_slice(values.as_flattened());
            if let Some(out) = out.weights.get_mut(member) {
                *out = weight;
            }
        }
    }

    fn blocks_of(
        &self,
        population: &Population,
        member: usize,
        loss: LossKind,
        size: usize,
        ranges: &[Range<usize>],
    ) -> (Vec<[f64; 3]>, f64) {
        let features = self.layout.features();
        let parameters = MemberParameters::new(population.member(member), population.k[member]);
        let targets = Targets::new(self.layout, population, member, loss);
        let seed = population.resamples.get(member).copied();
        let partial: Vec<(Vec<[f64; 3]>, f64)> = stripes(ranges, STRIPES)
            .into_par_iter()
            .map(|positions| {
                let arch = pulp::Arch::new();
                let mut of_bucket = BucketBlocks::new(self.layout, size);
                let mut sums = vec![[0.0; 3]; of_bucket.pairs.len()];
                let (mut weight, mut table, mut turn) = (0.0, vec![0.0f32; features], [0.0f32; TURN]);
                for (bucket, positions) in self.layout.buckets_in(positions) {
                    let factor = population.part_weight(member, bucket.part, self.layout.parts().len());
                    parameters.blend(bucket, &mut table);
                    for shape in self.layout.shapes_in(positions.clone()) {
                        for done in (0..shape.positions.len()).step_by(TURN) {
                            let count = TURN.min(shape.positions.len() - done);
                            let piece = single::piece(&shape, done, count);
                            single::scores(self.layout, &piece, &table, &mut turn[..count]);
                            arch.dispatch(|| {
                                targets.replace_scores(piece.positions.start, &mut turn[..count])
                            });
                            of_bucket.add(&piece, &turn[..count]);
                        }
                    }
                    of_bucket.flush(bucket, factor, &mut sums);
                    if let Some(seed) = seed {
                        let of = |n: usize| {
                            let own = self.layout.weights().get(n).map_or(1.0, |&w| f64::from(w));
                            own * f64::from(poisson_weight(self.layout.game(n), seed))
                        };
                        weight += f64::from(factor) * positions.map(of).sum::<f64>();
                    }
                }
                (sums, weight)
            })
            .collect();
        let mut partial = partial.into_iter();
        let (mut sums, mut weight) = partial.next().expect("there is at least one stripe");
        for (next, more) in partial {
            super::add(sums.as_flattened_mut(), next.as_flattened());
            weight += more;
        }
        (sums, weight)
    }
}

/// Σ h x xᵀ of the positions of a bucket, in blocks.
struct BucketBlocks<'a> {
    layout: &'a Layout,
    pairs: Vec<f32>,
    /// Where the row of each feature begins in `pairs`, and the first feature of its block.
    rows: Vec<(usize, u32)>,
    row: Vec<(u32, f32)>,
}

impl<'a> BucketBlocks<'a> {
    fn new(layout: &'a Layout, size: usize) -> Self {
        let mut next = 0;
        let rows: Vec<(usize, u32)> = (0..layout.features())
            .map(|feature| {
                let (start, first) = (next, feature - feature % size);
                next += feature - first + 1;
                (start, first as u32)
            })
            .collect();
        Self { layout, pairs: vec![0.0; next], rows, row: Vec::new() }
    }

    fn add(&mut self, shape: &Shape, curvatures: &[f32]) {
        let length = shape.row_length();
        for (n, &h) in curvatures.iter().enumerate() {
            let first = shape.first_entry + n * length;
            self.layout.merge_row(first..first + length, shape.plus, &mut self.row);
            for (own, &(feature, coefficient)) in self.row.iter().enumerate() {
                let (start, block) = self.rows[feature as usize];
                let scaled = h * coefficient;
                let before = self.row[..=own].iter().rev().take_while(|entry| entry.0 >= block);
                before.for_each(|&(other, c)| self.pairs[start + (other - block) as usize] += scaled * c);
            }
        }
    }

    /// Adds the bucket's blocks, times its part weight, to the whole ones, and clears them.
    fn flush(&mut self, bucket: &Bucket, part_weight: f32, sums: &mut [[f64; 3]]) {
        let scale = 1.0 / f64::from(self.layout.phase_max());
        let (mg, eg) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
        let factors = [mg * mg, mg * eg, eg * eg].map(|share| f64::from(part_weight) * share);
        for (sum, pair) in sums.iter_mut().zip(&mut self.pairs) {
            // Most pairs do not occur in most buckets.
            if *pair != 0.0 {
                sum.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += f64::from(*pair) * factor);
                *pair = 0.0;
            }
        }
    }
}
