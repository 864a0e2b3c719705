//! The CPU evaluator: SIMD bodies chosen at run time, stripes of positions on `rayon`'s threads.
//!
//! Results do not depend on the number of threads: the cut into stripes depends on the data and
//! the population alone, and partial sums are added in a fixed order.

mod curvature;
mod instruction_set;
mod population;
mod sigmoid;
mod single;

use std::ops::Range;

use rayon::prelude::*;

pub use instruction_set::InstructionSet;

use self::population::{TileKernel, TileParameters, TileSums, TileWidth, VECTORS};
use self::sigmoid::{LaneLoss, with_lane_loss};
use self::single::{MemberKernel, MemberParameters, MemberSums};
use super::{Evaluations, Evaluator, Population, Request};
use crate::dataset::Layout;
use crate::error::{Error, Result};
use crate::objective::{LossKind, x_per_cp};

/// Work items wanted a call, so that threads finish together.
const WORK_ITEMS: usize = 64;
/// Fewest positions a stripe: below, the tables cost more than the positions.
const STRIPE: usize = 8192;
/// Up to how many members the one-member kernel is called for each, instead of filling a tile
/// with padding; measured, see `docs/performance.md`.
const SINGLES: usize = 2;

/// Evaluates on the processor. Nothing is prepared beyond the layout.
#[derive(Debug)]
pub struct CpuEvaluator<'a> {
    layout: &'a Layout,
    instruction_set: InstructionSet,
    tile_width: usize,
}

impl<'a> CpuEvaluator<'a> {
    /// An evaluator with the widest SIMD body of this processor.
    pub fn new(layout: &'a Layout) -> Self {
        Self::with_instruction_set(layout, InstructionSet::best())
    }

    /// An evaluator with a certain SIMD body.
    pub fn with_instruction_set(layout: &'a Layout, instruction_set: InstructionSet) -> Self {
        let tile_width = instruction_set.dispatch(TileWidth);
        Self { layout, instruction_set, tile_width }
    }

    /// Positions of the parts, cut into at most `count` stripes of about equal length.
    fn stripes(&self, parts: &Range<usize>, count: usize) -> Vec<Range<usize>> {
        let first = self.layout.parts[parts.start].positions.start;
        let length = self.layout.parts[parts.end - 1].positions.end - first;
        let count = count.clamp(1, (length / STRIPE).max(1));
        (0..count).map(|i| first + length * i / count..first + length * (i + 1) / count).collect()
    }

    fn check(&self, population: &Population, request: &Request) -> Result<()> {
        population.validate(self.layout)?;
        if request.parts.is_empty() || request.parts.end > self.layout.parts.len() {
            return Err(Error::Usage(format!(
                "parts {:?} asked for, the dataset has {}",
                request.parts,
                self.layout.parts.len()
            )));
        }
        Ok(())
    }

    /// Sums of whole tiles, in tile order.
    fn tiles(&self, population: &Population, tiles: usize, request: &Request) -> Vec<TileSums> {
        let stripes = self.stripes(&request.parts, WORK_ITEMS / tiles.max(1));
        let plain =
            self.layout.unit_rows() && self.layout.weights.is_empty() && self.layout.offsets.is_empty();
        (0..tiles)
            .into_par_iter()
            .map(|tile| {
                let parameters = self.tile_parameters(population, tile);
                let partial: Vec<TileSums> = stripes
                    .par_iter()
                    .map(|positions| {
                        with_lane_loss!(request.loss, loss => match (plain, request.gradients) {
                            (true, true) => self.tile::<_, true, true>(&parameters, positions, loss),
                            (true, false) => self.tile::<_, true, false>(&parameters, positions, loss),
                            (false, true) => self.tile::<_, false, true>(&parameters, positions, loss),
                            (false, false) => self.tile::<_, false, false>(&parameters, positions, loss),
                        })
                    })
                    .collect();
                partial
                    .into_iter()
                    .reduce(|mut sum, next| {
                        add(&mut sum.losses, &next.losses);
                        add(&mut sum.gradients, &next.gradients);
                        sum
                    })
                    .expect("there is at least one stripe")
            })
            .collect()
    }

    fn tile<L: LaneLoss, const PLAIN: bool, const GRADIENTS: bool>(
        &self,
        parameters: &TileParameters,
        positions: &Range<usize>,
        loss: L,
    ) -> TileSums {
        self.instruction_set.dispatch(TileKernel::<L, VECTORS, PLAIN, GRADIENTS> {
            layout: self.layout,
            positions: positions.clone(),
            parameters,
            loss,
        })
    }

    /// θ of the members of a tile, transposed; the last member fills up an incomplete tile.
    fn tile_parameters(&self, population: &Population, tile: usize) -> TileParameters {
        let (width, features) = (self.tile_width, self.layout.features);
        let member = |lane: usize| (tile * width + lane).min(population.members() - 1);
        let x2 = |lane: usize| x_per_cp(population.k[member(lane)]) * std::f64::consts::LOG2_E;
        let mut parameters = TileParameters {
            width,
            mg: vec![0.0; features * width],
            eg: vec![0.0; features * width],
            x2_per_unit: (0..width)
                .map(|lane| (x2(lane) / f64::from(self.layout.phase_max)) as f32)
                .collect(),
            x2_per_cp: (0..width).map(|lane| x2(lane) as f32).collect(),
        };
        for lane in 0..width {
            let (mg, eg) = population.member(member(lane)).split_at(features);
            for feature in 0..features {
                parameters.mg[feature * width + lane] = mg[feature] as f32;
                parameters.eg[feature * width + lane] = eg[feature] as f32;
            }
        }
        parameters
    }

    fn single(&self, theta: &[f64], k: f64, request: &Request) -> MemberSums {
        let parameters = MemberParameters::new(theta, k);
        let partial: Vec<MemberSums> = self
            .stripes(&request.parts, WORK_ITEMS)
            .into_par_iter()
            .map(|positions| {
                with_lane_loss!(request.loss, loss => self.instruction_set.dispatch(MemberKernel {
                    layout: self.layout,
                    positions,
                    parameters: &parameters,
                    loss,
                    gradients: request.gradients,
                }))
            })
            .collect();
        partial
            .into_iter()
            .reduce(|mut sum, next| {
                sum.loss += next.loss;
                add(&mut sum.gradient, &next.gradient);
                sum
            })
            .expect("there is at least one stripe")
    }
}

fn add(sum: &mut [f64], next: &[f64]) {
    sum.iter_mut().zip(next).for_each(|(sum, next)| *sum += next);
}

impl Evaluator for CpuEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.check(population, request)?;
        let (members, features) = (population.members(), self.layout.features);
        let parts = &self.layout.parts[request.parts.clone()];
        let weight: f64 = parts.iter().map(|part| part.weight).sum();
        let rest = members % self.tile_width;
        let singles = if rest <= SINGLES { rest } else { 0 };
        let in_tiles = members - singles;
        let tiles = self.tiles(population, in_tiles.div_ceil(self.tile_width), request);

        let mut evaluations = Evaluations {
            losses: Vec::with_capacity(members),
            gradients: vec![0.0; if request.gradients { members * 2 * features } else { 0 }],
            part_losses: Vec::new(),
            curvatures: Vec::new(),
            positions: parts.iter().map(|part| part.positions.len()).sum(),
        };
        let per_cp: Vec<f64> = population.k.iter().map(|&k| x_per_cp(k) / weight).collect();
        for member in 0..in_tiles {
            let (tile, lane) = (&tiles[member / self.tile_width], member % self.tile_width);
            evaluations.losses.push(tile.losses[lane] / weight);
            if request.gradients {
                let gradient = &mut evaluations.gradients[member * 2 * features..][..2 * features];
                for (g, row) in gradient.iter_mut().zip(tile.gradients.chunks_exact(self.tile_width)) {
                    *g = row[lane] * per_cp[member];
                }
            }
        }
        drop(tiles);
        for (member, &per_cp) in per_cp.iter().enumerate().skip(in_tiles) {
            let sums = self.single(population.member(member), population.k[member], request);
            evaluations.losses.push(sums.loss / weight);
            if request.gradients {
                let gradient = &mut evaluations.gradients[member * 2 * features..][..2 * features];
                gradient.iter_mut().zip(&sums.gradient).for_each(|(g, sum)| *g = sum * per_cp);
            }
        }
        if request.curvature {
            for member in 0..members {
                let scale = x_per_cp(population.k[member]).powi(2) / weight;
                let matrix = self.curvature(population.member(member), population.k[member], request);
                evaluations.curvatures.extend(matrix.into_iter().map(|value| value * scale));
            }
        }
        Ok(evaluations)
    }

    fn scores(&mut self, theta: &[f64]) -> Result<Vec<f32>> {
        let parameters = MemberParameters::new(theta, 1.0);
        let mut scores = vec![0.0f32; self.layout.positions()];
        let mut table = vec![0.0f32; self.layout.features];
        for bucket in &self.layout.buckets {
            parameters.blend(bucket, &mut table);
            for shape in &self.layout.shapes[bucket.shapes.clone()] {
                single::scores(self.layout, shape, &table, &mut scores[shape.positions.clone()]);
            }
        }
        Ok(scores)
    }

    fn describe(&self) -> String {
        format!("CPU, {}, {} threads", self.instruction_set.name(), rayon::current_num_threads())
    }

    fn has_curvature(&self) -> bool {
        true
    }
}
