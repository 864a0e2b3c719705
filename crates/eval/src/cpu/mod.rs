//! The CPU evaluator: SIMD implementations chosen at run time, stripes of positions on `rayon`'s threads.

mod curvature;
mod instruction_set;
#[cfg(test)]
mod kernel_tests;
mod population;
mod program;
mod sigmoid;
mod single;

use std::f64::consts::LOG2_E;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

pub use instruction_set::InstructionSet;

use self::population::{
    Columns, Groups, SharedScores, Tally, TallyKernel, TileItem, TileParameters, TileSums, TileWidth,
    WovenItem, tile_kernel, woven_kernel,
};
use self::program::ProgramEvaluation;
use self::sigmoid::{AnyLoss, with_lane_loss};
use self::single::{MemberKernel, MemberParameters, MemberSums};
use super::sums::{Node, Sums, Tree, add, part_weights};
use super::{Evaluations, Evaluator, Population, Request};
use gputexel_dataset::Layout;
use gputexel_dataset::objective::{LossKind, x_per_cp};
use gputexel_io::{Result, counted};

/// Target number of work items per call, so that threads finish at about the same time.
const STRIPES_PER_CALL: usize = 64;
/// Minimum number of positions per stripe: with fewer, the tables cost more than the positions.
const MIN_STRIPE: usize = 8192;
const TRANSPOSED: usize = 32;
/// Maximum number of members for which the one-member kernel is called for each, instead of padding a tile; measured,
/// see `docs/performance.md`.
const MAX_SINGLES: usize = 2;
/// Minimum number of tiles for tallying shared scores, which costs about as much as evaluating one or two tiles.
const TALLIED_TILES: usize = 4;

#[derive(Debug)]
pub struct CpuEvaluator<'a> {
    layout: &'a Layout,
    instruction_set: InstructionSet,
    tile_width: usize,
    /// Created when a population first needs them; `None` if the layout does not allow it.
    groups: OnceLock<Option<Groups>>,
    columns: OnceLock<Columns>,
}

impl<'a> CpuEvaluator<'a> {
    pub fn new(layout: &'a Layout) -> Self {
        Self::with_instruction_set(layout, InstructionSet::best())
    }

    pub fn with_instruction_set(layout: &'a Layout, instruction_set: InstructionSet) -> Self {
        let tile_width = instruction_set.dispatch(TileWidth);
        Self { layout, instruction_set, tile_width, groups: OnceLock::new(), columns: OnceLock::new() }
    }

    /// Returns the scores of all positions under one θ (2 F values), in layout order: centipawns, White's view, in
    /// single precision as computed by the kernels.
    pub fn scores(&self, theta: &[f64]) -> Result<Vec<f32>> {
        Population::single(theta, 1.0).validate(self.layout)?;
        Ok(self.scores_in(theta, 0..self.layout.positions()))
    }

    fn positions(&self, parts: &Range<usize>) -> Range<usize> {
        let parts = &self.layout.parts()[parts.clone()];
        parts[0].positions.start..parts[parts.len() - 1].positions.end
    }

    /// Computes scores of the given positions under one θ, centipawns.
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

    fn groups(&self) -> Option<&Groups> {
        let make = || Groups::try_new(self.layout, self.tile_width * size_of::<f32>());
        self.groups.get_or_init(make).as_ref()
    }

    fn shared_scores(&self, population: &Population, parts: &Range<usize>) -> SharedScores {
        let positions = self.positions(parts);
        SharedScores { first: positions.start, scores: self.scores_in(population.member(0), positions) }
    }

    fn tiles(&self, work: &Work<'_>, tiles: usize) -> Vec<TileSums> {
        if tiles == 0 {
            return Vec::new();
        }
        let Work { population, request, shared, ranges } = work;
        let bare = self.layout.weights().is_empty()
            && population.blends.is_empty()
            && population.resamples.is_empty();
        if !population.is_shared()
            && let Some(groups) = self.groups()
        {
            let plain = bare && self.layout.unit_rows() && self.layout.offsets().is_empty();
            return self.woven_tiles(groups, work, tiles, plain);
        }
        let stripes = stripes(ranges, STRIPES_PER_CALL / tiles);
        if let Some(shared) = shared
            && bare
            && !request.gradients
            && tiles >= TALLIED_TILES
            && let Some(tally) = Tally::try_new(self.layout, request.parts.clone(), ranges, shared)
        {
            let stripes = split_into_stripes(tally.pairs(), STRIPES_PER_CALL / tiles);
            return self.each_tile(population, tiles, &request.parts, &stripes, |parameters, pairs| {
                let (tally, pairs, loss) = (&tally, pairs.clone(), AnyLoss::from(request.loss));
                self.instruction_set.dispatch(TallyKernel { tally, pairs, parameters, loss })
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
                shared: *shared,
            };
            let loss = AnyLoss::from(request.loss);
            match (plain, request.gradients) {
                (true, true) => set.dispatch(tile_kernel::<true, true>(item, loss)),
                (true, false) => set.dispatch(tile_kernel::<true, false>(item, loss)),
                (false, true) => set.dispatch(tile_kernel::<false, true>(item, loss)),
                (false, false) => set.dispatch(tile_kernel::<false, false>(item, loss)),
            }
        })
    }

    fn woven_tiles(&self, groups: &Groups, work: &Work<'_>, tiles: usize, plain: bool) -> Vec<TileSums> {
        let Work { population, request, ranges, .. } = work;
        let columns =
            request.gradients.then(|| self.columns.get_or_init(|| Columns::new(self.layout, groups)));
        let stripes: Vec<Range<usize>> = counts(MIN_STRIPE, ranges, STRIPES_PER_CALL / tiles)
            .flat_map(|(positions, count)| split(groups.blocks_of(positions), count))
            .collect();
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

    /// Returns the parameters and settings of a tile's members, transposed; the last member is repeated to pad an
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

    fn single(&self, work: &Work<'_>, member: usize) -> MemberSums {
        let Work { population, request, ranges, .. } = work;
        let parameters = MemberParameters::new(population.member(member), population.k[member]);
        let part_weights = part_weights(population, member, request, self.layout);
        let partial: Vec<MemberSums> = stripes(ranges, STRIPES_PER_CALL)
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

    pub(crate) fn sums(
        &self,
        population: &Population,
        request: &Request,
        sections: Range<usize>,
    ) -> Result<Tree<Sums>> {
        let sums_of = self.sums_of(population, request);
        by_section(sections, sums_of)
    }

    pub fn evaluate_unless(
        &self,
        population: &Population,
        request: &Request,
        cancel: &AtomicBool,
    ) -> Result<Option<Evaluations>> {
        population.validate(self.layout)?;
        request.validate(self.layout)?;
        let sums_of = self.sums_of(population, request);
        let until = self.layout.sections().take_while(|_| !cancel.load(Ordering::Relaxed));
        let sums = by_section(until, sums_of)?;
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(sums.total(self.layout.sections())?.means(self.layout, population, request)))
    }

    fn sums_of<'r>(
        &'r self,
        population: &'r Population,
        request: &'r Request,
    ) -> impl Fn(usize) -> Sums + 'r {
        let of_program = self.layout.program().map(|program| ProgramEvaluation { evaluator: self, program });
        let in_tiles = population.members() > self.singles(population);
        let own = of_program.is_none() && population.is_shared() && in_tiles;
        let shared = own.then(|| self.shared_scores(population, &request.parts));
        let given = of_program.as_ref().and_then(|of| of.shared_scores(population, request));
        move |section| {
            let ranges = &self.layout.section(&request.parts, section)[..];
            let work = Work { population, request, shared: shared.as_ref(), ranges };
            let mut sums = Sums::zero(self.layout, population, request);
            match &of_program {
                _ if ranges.is_empty() => {}
                Some(of_program) => of_program.sum_up(&work, given.as_ref(), &mut sums),
                None => self.sum_up(&work, &mut sums),
            }
            sums.positions = ranges.iter().map(Range::len).sum();
            sums
        }
    }

    fn singles(&self, population: &Population) -> usize {
        let rest = population.members() % self.tile_width;
        let bare = population.blends.is_empty() && population.resamples.is_empty();
        if rest <= MAX_SINGLES && bare { rest } else { 0 }
    }

    fn sum_up(&self, work: &Work<'_>, sums: &mut Sums) {
        let Work { population, request, .. } = work;
        let (members, size, parts) = (population.members(), 2 * self.layout.features(), request.parts.len());
        let in_tiles = members - self.singles(population);
        let tiles = self.tiles(work, in_tiles.div_ceil(self.tile_width));
        for member in 0..in_tiles {
            let (tile, lane) = (&tiles[member / self.tile_width], member % self.tile_width);
            let copy = |to: &mut [f64], lanes: &[f64]| {
                let lanes = lanes.iter().skip(lane).step_by(self.tile_width);
                to.iter_mut().zip(lanes).for_each(|(to, value)| *to = *value);
            };
            copy(&mut sums.losses[member * parts..][..parts], &tile.losses);
            if !sums.weights.is_empty() {
                copy(&mut sums.weights[member * parts..][..parts], &tile.weights);
            }
            if request.gradients {
                copy(&mut sums.gradients[member * size..][..size], &tile.gradients);
            }
        }
        drop(tiles);
        for member in in_tiles..members {
            let own = self.single(work, member);
            sums.losses[member * parts..][..parts].copy_from_slice(&own.losses);
            if request.gradients {
                sums.gradients[member * size..][..size].copy_from_slice(&own.gradient);
            }
        }
        if request.curvature {
            let triangle = sums.curvatures.len() / members.max(1);
            for member in 0..members {
                let own = &mut sums.curvatures[member * triangle..][..triangle];
                self.sum_curvature(work, member, own);
            }
        }
    }
}

fn by_section<T: super::sums::Summand>(
    sections: impl Iterator<Item = usize>,
    compute: impl Fn(usize) -> T,
) -> Result<Tree<T>> {
    let mut tree = Tree::default();
    for first in sections {
        tree.push(Node { first, level: 0, sum: compute(first) })?;
    }
    Ok(tree)
}

struct Work<'a> {
    population: &'a Population,
    request: &'a Request,
    shared: Option<&'a SharedScores>,
    /// Positions; not empty.
    ranges: &'a [Range<usize>],
}

/// Divides ranges of positions into about `count` stripes in total, none of which spans two ranges.
fn stripes(ranges: &[Range<usize>], count: usize) -> Vec<Range<usize>> {
    stripes_of_at_least(MIN_STRIPE, ranges, count)
}

fn stripes_of_at_least(least: usize, ranges: &[Range<usize>], count: usize) -> Vec<Range<usize>> {
    counts(least, ranges, count).flat_map(|(range, count)| split(range, count)).collect()
}

/// Returns the ranges of positions, and the number of stripes to divide each into so that there are about `count`, of
/// at least `least` positions.
fn counts(
    least: usize,
    ranges: &[Range<usize>],
    count: usize,
) -> impl Iterator<Item = (Range<usize>, usize)> {
    let all: usize = ranges.iter().map(Range::len).sum();
    ranges.iter().map(move |range| {
        let most = (count.max(1) * range.len()).div_ceil(all.max(1));
        (range.clone(), stripe_count(least, range.len(), most))
    })
}

fn split_into_stripes(positions: Range<usize>, count: usize) -> Vec<Range<usize>> {
    let count = stripe_count(MIN_STRIPE, positions.len(), count);
    split(positions, count)
}

fn stripe_count(least: usize, positions: usize, most: usize) -> usize {
    most.clamp(1, (positions / least).max(1))
}

fn split(range: Range<usize>, count: usize) -> Vec<Range<usize>> {
    let (first, length) = (range.start, range.len());
    (0..count).map(|i| first + length * i / count..first + length * (i + 1) / count).collect()
}

impl Evaluator for CpuEvaluator<'_> {
    fn evaluate(&mut self, population: &Population, request: &Request) -> Result<Evaluations> {
        let evaluations = self.evaluate_unless(population, request, &AtomicBool::new(false))?;
        Ok(evaluations.expect("nothing cancels it"))
    }

    fn describe(&self) -> String {
        let threads = rayon::current_num_threads();
        format!("CPU, {}, {}", self.instruction_set.name(), counted(threads as u64, "thread"))
    }
}
