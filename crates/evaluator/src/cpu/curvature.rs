//! The Gauss–Newton matrix of one member.
//!
//! Inside a phase bucket φ is a constant, so one F × F accumulation serves the four blocks of the
//! 2F × 2F matrix, which are split off by φ², φ (1 − φ) and (1 − φ)² at the bucket's end.

use rayon::prelude::*;

use super::single::{self, MemberParameters};
use super::{CpuEvaluator, Request};
use crate::Population;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};

/// Stripes of which each has a matrix of its own while it works.
const STRIPES: usize = 8;

impl CpuEvaluator<'_> {
    /// Σ v w r h c_i c_j φ_i φ_j of a member, with its part weights v and counts r, in units of the
    /// sigmoid's argument: symmetric, row-major, 2F × 2F.
    pub(super) fn curvature(&self, population: &Population, member: usize, request: &Request) -> Vec<f64> {
        let features = self.layout.features();
        let size = 2 * features;
        let parameters = MemberParameters::new(population.member(member), population.k[member]);
        let targets = Targets {
            layout: self.layout,
            k: population.k[member],
            loss: request.loss,
            blend: population.blends.get(member).copied().unwrap_or(0.0),
            seed: population.resamples.get(member).copied(),
        };
        let stripes: Vec<Vec<f64>> = super::split_into_stripes(self.positions(&request.parts), STRIPES)
            .into_par_iter()
            .map(|positions| {
                let mut matrix = vec![0.0f64; size * size];
                let mut bucket_matrix = vec![0.0f32; features * features];
                let mut table = vec![0.0f32; features];
                let mut curvatures: Vec<f32> = Vec::new();
                for (bucket, positions) in self.layout.buckets_in(positions) {
                    let weight = population.part_weight(member, bucket.part, self.layout.parts().len());
                    parameters.blend(bucket, &mut table);
                    for shape in self.layout.shapes_in(positions) {
                        curvatures.resize(shape.positions.len(), 0.0);
                        single::scores(self.layout, &shape, &table, &mut curvatures);
                        targets.replace_scores(shape.positions.start, &mut curvatures);
                        accumulate(self.layout, &shape, &curvatures, &mut bucket_matrix);
                    }
                    flush(self.layout, bucket, weight, &mut bucket_matrix, &mut matrix);
                }
                matrix
            })
            .collect();
        let mut stripes = stripes.into_iter();
        let mut sum = stripes.next().expect("there is at least one stripe");
        for stripe in stripes {
            super::add(&mut sum, &stripe);
        }
        // Only the lower triangle was written.
        for i in 0..size {
            for j in i + 1..size {
                sum[i * size + j] = sum[j * size + i];
            }
        }
        sum
    }
}

/// What turns a member's scores into curvatures.
struct Targets<'a> {
    layout: &'a Layout,
    k: f64,
    loss: LossKind,
    blend: f32,
    seed: Option<u32>,
}

impl Targets<'_> {
    /// Turns the scores of consecutive positions into their curvatures w r h.
    fn replace_scores(&self, first: usize, values: &mut [f32]) {
        let x_per_cp = x_per_cp(self.k);
        for (position, value) in (first..).zip(values) {
            let x = x_per_cp * f64::from(*value);
            let mut weight = self.layout.weights().get(position).copied().unwrap_or(1.0);
            if let Some(seed) = self.seed {
                weight *= poisson_weight(self.layout.game(position), seed) as f32;
            }
            let mut target = self.layout.targets()[position];
            if let Some(search) = self.layout.search().get(position) {
                target += self.blend * (search - target);
            }
            *value = weight * self.loss.curvature(x, f64::from(target)) as f32;
        }
    }
}

/// Adds h x xᵀ of the positions of a shape to its bucket's matrix, lower triangle.
fn accumulate(layout: &Layout, shape: &Shape, curvatures: &[f32], matrix: &mut [f32]) {
    let features = layout.features();
    let length = shape.row_length();
    let mut entries: Vec<(u32, f32)> = Vec::with_capacity(length);
    for (i, &h) in curvatures.iter().enumerate() {
        let start = shape.first_entry + i * length;
        // Ascending, distinct ids keep every product in the lower triangle, once.
        layout.merge_row(start..start + length, shape.plus, &mut entries);
        for (n, &(row, a)) in entries.iter().enumerate() {
            let scaled = h * a;
            let row = &mut matrix[row as usize * features..][..features];
            for &(column, b) in &entries[..=n] {
                row[column as usize] += scaled * b;
            }
        }
    }
}

/// Splits a bucket's matrix, times its part's weight, into the blocks of the whole one, lower
/// triangle, and clears it.
fn flush(layout: &Layout, bucket: &Bucket, part_weight: f32, bucket_matrix: &mut [f32], matrix: &mut [f64]) {
    let features = layout.features();
    let size = 2 * features;
    let scale = 1.0 / f64::from(layout.phase_max());
    let (mg, eg) = (f64::from(bucket.mg_units) * scale, f64::from(bucket.eg_units) * scale);
    for i in 0..features {
        for j in 0..=i {
            let value = std::mem::take(&mut bucket_matrix[i * features + j]);
            if value == 0.0 {
                continue;
            }
            let value = f64::from(part_weight) * f64::from(value);
            matrix[i * size + j] += value * mg * mg;
            matrix[(features + i) * size + features + j] += value * eg * eg;
            matrix[(features + i) * size + j] += value * mg * eg;
            if i != j {
                // The mixed block is symmetric in itself but lies wholly below the diagonal.
                matrix[(features + j) * size + i] += value * mg * eg;
            }
        }
    }
}
