//! The Gauss–Newton matrix of one member.
//!
//! Inside a phase bucket φ is constant, so one F × F accumulation serves the four blocks of the 2F × 2F
//! matrix: at the end of the bucket it is multiplied by φ², φ (1 − φ) and (1 − φ)².

use rayon::prelude::*;

use super::single::{self, MemberParameters};
use super::{CpuEvaluator, Request};
use crate::Population;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};

/// Number of stripes; each has its own matrix while it runs.
const STRIPES: usize = 8;

impl CpuEvaluator<'_> {
    /// Σ v w r h c_i c_j φ_i φ_j of a member, with part weights v and resampling counts r, per unit of the
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
        // Only the lower triangle has been written.
        for i in 0..size {
            for j in i + 1..size {
                sum[i * size + j] = sum[j * size + i];
            }
        }
        sum
    }
}

/// Converts a member's scores to curvatures.
struct Targets<'a> {
    layout: &'a Layout,
    k: f64,
    loss: LossKind,
    blend: f32,
    seed: Option<u32>,
}

impl Targets<'_> {
    /// Replaces the scores of consecutive positions by their curvatures w r h.
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

/// Adds h x xᵀ of a shape's positions to the lower triangle of the bucket's matrix.
fn accumulate(layout: &Layout, shape: &Shape, curvatures: &[f32], matrix: &mut [f32]) {
    let features = layout.features();
    let length = shape.row_length();
    let mut entries: Vec<(u32, f32)> = Vec::with_capacity(length);
    for (i, &h) in curvatures.iter().enumerate() {
        let start = shape.first_entry + i * length;
        // With ascending, distinct ids, each product lands in the lower triangle exactly once.
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

/// Adds a bucket's matrix, times its part weight, to the blocks of the whole matrix (lower triangle), and
/// clears it.
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
                // The mixed block is symmetric, but lies entirely below the diagonal.
                matrix[(features + j) * size + i] += value * mg * eg;
            }
        }
    }
}
