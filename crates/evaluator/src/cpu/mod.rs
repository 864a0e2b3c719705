//! The CPU evaluator: SIMD implementations chosen at run time, stripes of positions on `rayon`'s threads.
//!
//! Results do not depend on the number of threads: the division into stripes depends only on the data and the
//! population, and partial sums are added in a fixed order.

mod blocks;
mod curvature;
mod instruction_set;
mod population;
mod products;
mod program;
mod sigmoid;
mod single;

use std::f64::consts::LOG2_E;
use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

pub use instruction_set::InstructionSet;

use self::population::{
    Columns, Groups, SharedScores, Tally, TallyKernel, TileItem, TileParameters, TileSums, TileWidth,
    WovenItem, tile_kernel, woven_kernel,
};
use self::program::ProgramEvaluation;
use self::sigmoid::with_lane_loss;
use self::single::{MemberKernel, MemberParameters, MemberSums};
use super::{Evaluations, Evaluator, Population, ProductRequest, Products, Request};
use gputexel_dataset::Layout;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_files::Result;

/// Target number of work items per call, so that threads finish at about the same time.
const STRIPES_PER_CALL: usize = 64;
/// Minimum number of positions per stripe: with fewer, the tables cost more than the positions.
const MIN_STRIPE: usize = 8192;
/// Number of features transposed together.
const TRANSPOSED: usize = 32;
/// Maximum number of members for which the one-member kernel is called for each, instead of padding a tile;
/// measured, see `docs/performance.md`.
const MAX_SINGLES: usize = 2;
/// Tiles from which on shared scores are tallied, which costs about as much as judging them for one tile or two.
const TALLIED_TILES: usize = 4;

/// Evaluates on the CPU. Needs no preparation beyond the layout.
#[derive(Debug)]
pub struct CpuEvaluator<'a> {
    layout: &'a Layout,
    instruction_set: InstructionSet,
    tile_width: usize,
    /// Made when a population first needs them; none if the layout does not allow it.
    groups: OnceLock<Option<Groups>>,
    columns: OnceLock<Columns>,
}

impl<'a> CpuEvaluator<'a> {
    /// An evaluator with the widest SIMD implementation of this processor.
    pub fn new(layout: &'a Layout) -> Self {
        Self::with_instruction_set(layout, InstructionSet::best())
    }

    /// An evaluator with the given SIMD implementation.
    pub fn with_instruction_set(layout: &'a Layout, instruction_set: InstructionSet) -> Self {
        let tile_width = instruction_set.dispatch(TileWidth);
        Self { layout, instruction_set, tile_width, groups: OnceLock::new(), columns: OnceLock::new() }
    }

    /// Scores of all positions under one θ (2 F values), in layout order: centipawns, White's view, in single
    /// precision as computed by the kernels.
    ///
    /// # Errors
    /// [`Error::Usage`](gputexel_files::Error::Usage) when θ has the wrong length.
    pub fn scores(&self, theta: &[f64]) -> Result<Vec<f32>> {
        Population::single(theta, 1.0).validate(self.layout)?;
        Ok(self.scores_in(theta, 0..self.layout.positions()))
    }

    /// Positions of consecutive parts.
    fn positions(&self, parts: &Range<usize>) -> Range<usize> {
        let parts = &self.layout.parts()[parts.clone()];
        parts[0].positions.start..parts[parts.len() - 1].positions.end
    }

    fn check(&self, population: &Population, request: &Request) -> Result<()> {
        population.validate(self.layout)?;
        request.validate(self.layout)
    }

    /// Scores of the given positions under one θ, centipawns.
    fn scores_in(&self, theta: &[f64], positions: Range<usize>) -> Vec<f32> {
        if let Some(program) = self.layout.program() {
            let scores = ProgramEvaluation { evaluator: self, program }.scores(theta, positions);
            return scores.into_iter().map(|score| score as f32).collect();
        }
        let parameters = MemberParameters::new(theta, 1.0);
        let stripes: Vec<Vec<f32>> = split_into_stripes(positions, STRIPES_PER_CALL)
            .into_par_iter()
            .map(|positions| {
                let mut scores = vec![0.0f32; positions.len()];
                let mut table = vec![0.0f32; self.layout.features()];
                for (bucket, range) in self.layout.buckets_in(positions.clone()) {
                    gputexel_paging::keep_limit();
                    parameters.blend(bucket, &mut table);
                    for shape in self.layout.shapes_in(range) {
                        let (start, end) = (shape.positions.start, shape.positions.end);
                        let out = &mut scores[start - positions.start..end - positions.start];
                        single::scores(self.layout, &shape, &table, out);
                    }
                }
                scores
            })
            .collect();
        stripes.concat()
    }

    /// The layout in groups, if it has a form that the kernel of groups can take.
    fn groups(&self) -> Option<&Groups> {
        let make = || Groups::try_new(self.layout, self.tile_width * size_of::<f32>());
        self.groups.get_or_init(make).as_ref()
    }

    /// Sums of complete tiles, in tile order.
    fn tiles(&self, population: &Population, tiles: usize, request: &Request) -> Vec<TileSums> {
        if tiles == 0 {
            return Vec::new();
        }
        let bare = self.layout.weights().is_empty()
            && population.blends.is_empty()
            && population.resamples.is_empty();
        if !population.is_shared()
            && let Some(groups) = self.groups()
        {
            let plain = bare && self.layout.unit_rows() && self.layout.offsets().is_empty();
            return self.woven_tiles(groups, population, tiles, request, plain);
        }
        let positions = self.positions(&request.parts);
        let stripes = split_into_stripes(positions.clone(), STRIPES_PER_CALL / tiles);
        let shared = population.is_shared().then(|| SharedScores {
            first: positions.start,
            scores: self.scores_in(population.member(0), positions),
        });
        if let Some(shared) = &shared
            && bare
            && !request.gradients
            && tiles >= TALLIED_TILES
            && let Some(tally) = Tally::try_new(self.layout, request.parts.clone(), &shared.scores)
        {
            let stripes = split_into_stripes(tally.pairs(), STRIPES_PER_CALL / tiles);
            return self.each_tile(population, tiles, &request.parts, &stripes, |parameters, pairs| {
                let (set, tally, pairs) = (self.instruction_set, &tally, pairs.clone());
                with_lane_loss!(request.loss, loss =>
                    set.dispatch(TallyKernel { tally, pairs, parameters, loss }))
            });
        }
        let plain = bare && self.layout.unit_rows() && (shared.is_some() || self.layout.offsets().is_empty());
        self.each_tile(population, tiles, &request.parts, &stripes, |parameters, positions| {
            let set = self.instruction_set;
            let item = TileItem {
                layout: self.layout,
                parts: request.parts.clone(),
                positions: positions.clone(),
                parameters,
                shared: shared.as_ref(),
            };
            with_lane_loss!(request.loss, loss => match (plain, request.gradients) {
                (true, true) => set.dispatch(tile_kernel::<_, true, true>(item, loss)),
                (true, false) => set.dispatch(tile_kernel::<_, true, false>(item, loss)),
                (false, true) => set.dispatch(tile_kernel::<_, false, true>(item, loss)),
                (false, false) => set.dispatch(tile_kernel::<_, false, false>(item, loss)),
            })
        })
    }

    /// [`tiles`](Self::tiles) by the kernel of groups.
    fn woven_tiles(
        &self,
        groups: &Groups,
        population: &Population,
        tiles: usize,
        request: &Request,
        plain: bool,
    ) -> Vec<TileSums> {
        let columns =
            request.gradients.then(|| self.columns.get_or_init(|| Columns::new(self.layout, groups)));
        let positions = self.positions(&request.parts);
        let count = stripe_count(positions.len(), STRIPES_PER_CALL / tiles);
        let stripes = split(groups.blocks_of(positions), count);
        self.each_tile(population, tiles, &request.parts, &stripes, |parameters, blocks| {
            let set = self.instruction_set;
            let item = WovenItem {
                layout: self.layout,
                groups,
                columns,
                parts: request.parts.clone(),
                blocks: blocks.clone(),
                parameters,
            };
            with_lane_loss!(request.loss, loss => match (plain, request.gradients) {
                (true, true) => set.dispatch(woven_kernel::<_, true, true>(item, loss)),
                (true, false) => set.dispatch(woven_kernel::<_, true, false>(item, loss)),
                (false, true) => set.dispatch(woven_kernel::<_, false, true>(item, loss)),
                (false, false) => set.dispatch(woven_kernel::<_, false, false>(item, loss)),
            })
        })
    }

    /// Computes each tile stripe by stripe and adds the stripes up, in order.
    fn each_tile(
        &self,
        population: &Population,
        tiles: usize,
        parts: &Range<usize>,
        stripes: &[Range<usize>],
        compute: impl Fn(&TileParameters, &Range<usize>) -> TileSums + Sync,
    ) -> Vec<TileSums> {
        (0..tiles)
            .into_par_iter()
            .map(|tile| {
                let parameters = self.tile_parameters(population, tile, parts);
                let partial: Vec<TileSums> =
                    stripes.par_iter().map(|stripe| compute(&parameters, stripe)).collect();
                partial
                    .into_iter()
                    .reduce(|mut sum, next| {
                        add(&mut sum.losses, &next.losses);
                        add(&mut sum.weights, &next.weights);
                        add(&mut sum.gradients, &next.gradients);
                        sum
                    })
                    .expect("there is at least one stripe")
            })
            .collect()
    }

    /// The parameters and settings of a tile's members, transposed; the last member is repeated to pad an
    /// incomplete tile.
    fn tile_parameters(&self, population: &Population, tile: usize, parts: &Range<usize>) -> TileParameters {
        let (width, features) = (self.tile_width, self.layout.features());
        let member = |lane: usize| (tile * width + lane).min(population.members() - 1);
        let units = if population.is_shared() { 1.0 } else { f64::from(self.layout.phase_max()) };
        let x2 = |lane: usize| (x_per_cp(population.k[member(lane)]) * LOG2_E / units) as f32;
        let rows = if population.is_shared() { 0 } else { features * width };
        let mut parameters = TileParameters {
            width,
            mg: vec![0.0; rows],
            eg: vec![0.0; rows],
            x2_per_unit: (0..width).map(x2).collect(),
            part_weights: Vec::new(),
            blends: Vec::new(),
            seeds: Vec::new(),
        };
        if !population.part_weights.is_empty() {
            let weight = |part, lane| population.part_weight(member(lane), part, self.layout.parts().len());
            parameters.part_weights =
                parts.clone().flat_map(|part| (0..width).map(move |lane| weight(part, lane))).collect();
        }
        if !population.blends.is_empty() {
            parameters.blends = (0..width).map(|lane| population.blends[member(lane)]).collect();
        }
        if !population.resamples.is_empty() {
            parameters.seeds = (0..width).map(|lane| population.resamples[member(lane)]).collect();
        }
        if !population.is_shared() {
            // In blocks, so that the rows being written stay in the L1 cache.
            for start in (0..features).step_by(TRANSPOSED) {
                let block = start..(start + TRANSPOSED).min(features);
                for lane in 0..width {
                    let (mg, eg) = population.member(member(lane)).split_at(features);
                    for feature in block.clone() {
                        parameters.mg[feature * width + lane] = mg[feature] as f32;
                        parameters.eg[feature * width + lane] = eg[feature] as f32;
                    }
                }
            }
        }
        parameters
    }

    fn single(&self, population: &Population, member: usize, request: &Request) -> MemberSums {
        let parameters = MemberParameters::new(population.member(member), population.k[member]);
        let part_weights = self.part_weights(population, member, &request.parts);
        let partial: Vec<MemberSums> = split_into_stripes(self.positions(&request.parts), STRIPES_PER_CALL)
            .into_par_iter()
            .map(|positions| {
                with_lane_loss!(request.loss, loss => self.instruction_set.dispatch(MemberKernel {
                    layout: self.layout,
                    parts: request.parts.clone(),
                    part_weights,
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
                add(&mut sum.losses, &next.losses);
                add(&mut sum.gradient, &next.gradient);
                sum
            })
            .expect("there is at least one stripe")
    }

    /// A member's weights for the parts of a request; empty: 1.
    fn part_weights<'p>(&self, population: &'p Population, member: usize, parts: &Range<usize>) -> &'p [f32] {
        match &population.part_weights[..] {
            [] => &[],
            all => &all[member * self.layout.parts().len()..][parts.clone()],
        }
    }
}

/// Divides positions into at most `count` stripes of about equal length.
fn split_into_stripes(positions: Range<usize>, count: usize) -> Vec<Range<usize>> {
    let count = stripe_count(positions.len(), count);
    split(positions, count)
}

/// So many stripes, or fewer if they would be short.
fn stripe_count(positions: usize, most: usize) -> usize {
    most.clamp(1, (positions / MIN_STRIPE).max(1))
}

/// Divides a range into `count` of about equal length.
fn split(range: Range<usize>, count: usize) -> Vec<Range<usize>> {
    let (first, length) = (range.start, range.len());
    (0..count).map(|i| first + length * i / count..first + length * (i + 1) / count).collect()
}

/// Sets losses to NaN if the parameters are not finite: not every SIMD implementation's minimum propagates
/// NaN.
pub(crate) fn nan_unless_finite(population: &Population, member: usize, losses: &mut [f64]) {
    let finite = population.member(member).iter().fold(true, |all, value| all & value.is_finite());
    if !(finite && population.k[member].is_finite()) {
        losses.fill(f64::NAN);
    }
}

/// Appends a member's losses, given its sums and weights by part, and returns its total weight.
pub(crate) fn push_means(
    evaluations: &mut Evaluations,
    losses: &[f64],
    weights: &[f64],
    part_weights: &[f32],
) -> f64 {
    let (mut loss, mut weight) = (0.0, 0.0);
    for (part, (&sum, &total)) in losses.iter().zip(weights).enumerate() {
        evaluations.part_losses.push(sum / total);
        // A part with weight 0 must not contribute even if its loss is NaN.
        let factor = part_weights.get(part).map_or(1.0, |&factor| f64::from(factor));
        if factor != 0.0 {
            loss += factor * sum;
            weight += factor * total;
        }
    }
    evaluations.losses.push(loss / weight);
    weight
}

fn add(sum: &mut [f64], next: &[f64]) {
    sum.iter_mut().zip(next).for_each(|(sum, next)| *sum += next);
}

impl Evaluator for CpuEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        self.check(population, request)?;
        if let Some(program) = self.layout.program() {
            return Ok(ProgramEvaluation { evaluator: self, program }.evaluate(population, request));
        }
        let (members, size) = (population.members(), 2 * self.layout.features());
        let weights: Vec<f64> =
            self.layout.parts()[request.parts.clone()].iter().map(|part| part.weight).collect();
        let rest = members % self.tile_width;
        let bare = population.blends.is_empty() && population.resamples.is_empty();
        let singles = if rest <= MAX_SINGLES && bare { rest } else { 0 };
        let in_tiles = members - singles;
        let tiles = self.tiles(population, in_tiles.div_ceil(self.tile_width), request);

        let mut evaluations = Evaluations {
            losses: Vec::with_capacity(members),
            part_losses: Vec::with_capacity(members * weights.len()),
            gradients: vec![0.0; if request.gradients { members * size } else { 0 }],
            curvatures: Vec::new(),
            positions: self.positions(&request.parts).len(),
        };
        let mut totals = Vec::with_capacity(members);
        for member in 0..in_tiles {
            let (tile, lane) = (&tiles[member / self.tile_width], member % self.tile_width);
            let of_lane =
                |values: &[f64]| values.iter().skip(lane).step_by(self.tile_width).copied().collect();
            let mut losses: Vec<f64> = of_lane(&tile.losses);
            nan_unless_finite(population, member, &mut losses);
            let weights = if tile.weights.is_empty() { weights.clone() } else { of_lane(&tile.weights) };
            let part_weights = self.part_weights(population, member, &request.parts);
            let weight = push_means(&mut evaluations, &losses, &weights, part_weights);
            totals.push(weight);
            if request.gradients {
                let per_cp = x_per_cp(population.k[member]) / weight;
                let gradient = &mut evaluations.gradients[member * size..][..size];
                for (g, row) in gradient.iter_mut().zip(tile.gradients.chunks_exact(self.tile_width)) {
                    *g = row[lane] * per_cp;
                }
            }
        }
        drop(tiles);
        for member in in_tiles..members {
            let mut sums = self.single(population, member, request);
            nan_unless_finite(population, member, &mut sums.losses);
            let part_weights = self.part_weights(population, member, &request.parts);
            let weight = push_means(&mut evaluations, &sums.losses, &weights, part_weights);
            totals.push(weight);
            if request.gradients {
                let per_cp = x_per_cp(population.k[member]) / weight;
                let gradient = &mut evaluations.gradients[member * size..][..size];
                gradient.iter_mut().zip(&sums.gradient).for_each(|(g, sum)| *g = sum * per_cp);
            }
        }
        if request.curvature {
            for (member, weight) in totals.into_iter().enumerate() {
                let scale = x_per_cp(population.k[member]).powi(2) / weight;
                self.push_curvature(population, member, request, scale, &mut evaluations.curvatures);
            }
        }
        Ok(evaluations)
    }

    fn products(&mut self, population: &Population, request: &ProductRequest) -> Result<Products> {
        population.validate(self.layout)?;
        request.validate(self.layout, population)?;
        Ok(Products {
            products: self.matrix_products(population, request),
            blocks: self.matrix_blocks(population, request),
            positions: self.positions(&request.parts).len(),
        })
    }

    fn describe(&self) -> String {
        format!("CPU, {}, {} threads", self.instruction_set.name(), rayon::current_num_threads())
    }
}
