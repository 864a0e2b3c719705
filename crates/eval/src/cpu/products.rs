//! Products of Gauss–Newton matrices with vectors: J v, and then Jᵀ (h · J v).

use std::ops::Range;

use rayon::prelude::*;

use super::curvature::Targets;
use super::single::{self, MemberParameters, TURN};
use super::{CpuEvaluator, STRIPES_PER_CALL, stripes};
use crate::Population;
use crate::products::ProductRequest;
use crate::sums::ProductSums;
use gputexel_dataset::{Bucket, Layout, Shape, poisson_weight};

/// Number of positions after which sums are added up in f64, and the next member is processed.
const BLOCK: usize = 1 << 13;
/// Maximum number of members that pass through the positions together, to bound the memory for sums.
const TOGETHER: usize = 8;

impl CpuEvaluator<'_> {
    /// Computes Σ v w r h (x·v) x of every member over some positions, and Σ v w r where members are resampled.
    pub(super) fn sum_products(
        &self,
        population: &Population,
        request: &ProductRequest,
        ranges: &[Range<usize>],
        out: &mut ProductSums,
    ) {
        if request.vectors.is_empty() {
            return;
        }
        let size = 2 * self.layout.features();
        let stripes = stripes(ranges, STRIPES_PER_CALL);
        for first in (0..population.members()).step_by(TOGETHER) {
            let members: Vec<Member> = (first..population.members().min(first + TOGETHER))
                .map(|member| Member::new(self.layout, population, member, request))
                .collect();
            let partial: Vec<Vec<Sums>> = stripes
                .par_iter()
                .map(|stripe| {
                    let arch = pulp::Arch::new();
                    let mut sums: Vec<Sums> =
                        members.iter().map(|_| Sums::new(self.layout.features())).collect();
                    for (bucket, positions) in self.layout.buckets_in(stripe.clone()) {
                        let mut kernels: Vec<Kernel> =
                            members.iter().map(|member| Kernel::new(self.layout, member, bucket)).collect();
                        for start in positions.clone().step_by(BLOCK) {
                            let block = start..(start + BLOCK).min(positions.end);
                            for (kernel, sums) in kernels.iter_mut().zip(&mut sums) {
                                arch.dispatch(|| {
                                    let shapes = self.layout.shapes_in(block.clone());
                                    shapes.for_each(|shape| kernel.add(&shape, sums));
                                });
                                kernel.flush(bucket, sums);
                            }
                        }
                    }
                    sums
                })
                .collect();
            let mut partial = partial.into_iter();
            let mut totals = partial.next().expect("there is at least one stripe");
            for stripe in partial {
                totals.iter_mut().zip(&stripe).for_each(|(total, stripe)| total.add(stripe));
            }
            for (i, total) in totals.into_iter().enumerate() {
                let member = first + i;
                out.products[member * size..][..size].copy_from_slice(&total.product);
                if let (Some(out), Some(weight)) = (out.weights.get_mut(member), total.weight) {
                    *out = weight;
                }
            }
        }
    }
}

struct Member<'a> {
    parameters: MemberParameters,
    vector: MemberParameters,
    targets: Targets<'a>,
    seed: Option<u32>,
    /// Factors on the weights of all parts of the layout; empty: 1.
    part_weights: &'a [f32],
}

impl<'a> Member<'a> {
    fn new(layout: &'a Layout, population: &'a Population, member: usize, request: &ProductRequest) -> Self {
        let (k, size, parts) = (population.k[member], 2 * population.features, layout.parts().len());
        Self {
            parameters: MemberParameters::new(population.member(member), k),
            vector: MemberParameters::new(&request.vectors[member * size..][..size], k),
            targets: Targets::new(layout, population, member, request.loss),
            seed: population.resamples.get(member).copied(),
            part_weights: population.part_weights.get(member * parts..(member + 1) * parts).unwrap_or(&[]),
        }
    }
}

struct Sums {
    /// Σ v w r h (x·v) x, mg before eg.
    product: Vec<f64>,
    /// Σ v w r, where r is not always 1.
    weight: Option<f64>,
}

impl Sums {
    fn new(features: usize) -> Self {
        Self { product: vec![0.0; 2 * features], weight: None }
    }

    fn add(&mut self, next: &Self) {
        super::add(&mut self.product, &next.product);
        if let Some(weight) = next.weight {
            *self.weight.get_or_insert(0.0) += weight;
        }
    }
}

struct Kernel<'a> {
    layout: &'a Layout,
    member: &'a Member<'a>,
    part_weight: f32,
    table: Vec<f32>,
    vector: Vec<f32>,
    /// Two copies, so that neighbors rarely wait for each other's stores.
    slopes: [Vec<f32>; 2],
}

impl<'a> Kernel<'a> {
    fn new(layout: &'a Layout, member: &'a Member, bucket: &Bucket) -> Self {
        let features = layout.features();
        let blended = |parameters: &MemberParameters| {
            let mut table = vec![0.0; features];
            parameters.blend(bucket, &mut table);
            table
        };
        Self {
            layout,
            member,
            part_weight: member.part_weights.get(bucket.part).copied().unwrap_or(1.0),
            table: blended(&member.parameters),
            slopes: [(); 2].map(|()| vec![0.0; features]),
            vector: blended(&member.vector),
        }
    }

    #[inline(always)]
    fn add(&mut self, shape: &Shape, sums: &mut Sums) {
        let (mut curvatures, mut slopes) = ([0.0f32; TURN], [0.0f32; TURN]);
        for done in (0..shape.positions.len()).step_by(TURN) {
            let count = TURN.min(shape.positions.len() - done);
            let piece = single::piece(shape, done, count);
            let curvatures = &mut curvatures[..count];
            single::scores(self.layout, &piece, &self.table, curvatures);
            self.member.targets.replace_scores(piece.positions.start, curvatures);
            let slopes = &mut slopes[..count];
            single::sums(self.layout, &piece, &self.vector, slopes);
            slopes.iter_mut().zip(&*curvatures).for_each(|(slope, h)| *slope *= h);
            single::scatter(self.layout, &piece, slopes, &mut self.slopes);
            if let Some(seed) = self.member.seed {
                let weight = |n: usize| {
                    let own = self.layout.weights().get(n).map_or(1.0, |&w| f64::from(w));
                    own * f64::from(poisson_weight(self.layout.game(n), seed))
                };
                let weight: f64 = piece.positions.map(weight).sum();
                *sums.weight.get_or_insert(0.0) += f64::from(self.part_weight) * weight;
            }
        }
    }

    fn flush(&mut self, bucket: &Bucket, sums: &mut Sums) {
        single::flush(self.layout, bucket, self.part_weight, &mut self.slopes, &mut sums.product);
    }
}
