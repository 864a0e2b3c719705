//! Losses, gradients and matrices of linear evaluations: every tile, with and without each list of a population.

use crate::device::GpuContext;
use crate::gpu::{GpuEvaluator, GpuOptions, TileChoice};
use crate::reference::reference;
use crate::{Evaluator, Population, Request};
use gputexel_dataset::Layout;
use gputexel_dataset::objective::LossKind;
use gputexel_io::Result;

use super::{Findings, Group, Measured, largest_error, relative_error, repeated};
use crate::vetting::positions::{self, Sample};

/// Bounds on relative errors.
const LOSS_BOUND: f64 = 1e-5;
const GRADIENT_BOUND: f64 = 5e-5;
const MATRIX_BOUND: f64 = 5e-5;
/// Number of parts of the layouts: folds, distinguished by factors on the weights of parts.
const PARTS: usize = 2;
/// Tiles with a number of members that leaves part of the last tile empty.
const TILES: [(usize, usize); 5] = [(1, 1), (4, 3), (8, 7), (16, 13), (32, 29)];

const LOSSES: [LossKind; 3] = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lists {
    pub blends: bool,
    pub resamples: bool,
    pub weights: bool,
    pub shared: bool,
}

impl Lists {
    fn groups(self) -> Vec<Group> {
        let all = [
            (self.blends, Group::BlendedTargets),
            (self.resamples, Group::ResampledGames),
            (self.weights, Group::PartWeights),
            (self.shared, Group::SharedScores),
        ];
        all.into_iter().filter_map(|(has, group)| has.then_some(group)).collect()
    }
}

pub(super) fn layout(sample: &Sample) -> Result<Layout> {
    let layout = Layout::try_new(&sample.data, PARTS, |n| sample.data.game(n) as usize % PARTS)?;
    layout.with_search_scores(&sample.data, 2.0)
}

/// Returns members around a θ that all differ and are exact in f32.
pub(super) fn population(theta: &[f64], members: usize, lists: Lists) -> Population {
    let moved = |m: usize| {
        let step = move |(i, value): (usize, &f64)| {
            let hash =
                (i as u32 + 1).wrapping_mul(0x9e37_79b1).wrapping_add((m as u32).wrapping_mul(0x85eb_ca77));
            value + f64::from(hash >> 24) / 8.0 - 16.0
        };
        theta.iter().enumerate().map(step).map(|value| f64::from(value as f32))
    };
    let own = if lists.shared { 1 } else { members };
    let k = (0..members).map(|m| 0.3 + 0.4 * m as f64 / members as f64).collect();
    let mut population = Population::new(theta.len() / 2, (0..own).flat_map(moved).collect(), k);
    if lists.weights {
        let factor = |i: usize| if i.is_multiple_of(4) { 0.0 } else { [1.0, 0.5, 2.0][i % 3] };
        population.part_weights = (0..members * PARTS).map(factor).collect();
    }
    if lists.blends {
        population.blends = (0..members).map(|m| 0.125 + 0.75 * m as f32 / members as f32).collect();
    }
    if lists.resamples {
        population.resamples = (0..members).map(|m| 0x9876_5432u32.wrapping_mul(m as u32 + 1)).collect();
    }
    population
}

pub(super) fn check(context: &GpuContext, sample: &Sample, findings: &mut Findings) -> Result<()> {
    let long = positions::in_long_buckets(sample)?;
    each_kernel(context, sample, findings)?;
    with_staged_tables(context, &long, findings)?;
    if findings.is_thorough() {
        every_variant(context, &long, &[], findings)?;
        let coefficients = positions::with_coefficients(&long)?;
        every_variant(context, &coefficients, &[Group::Coefficients], findings)?;
    } else {
        // Few features: matrices of all squares alone take a second on slow GPUs.
        let material = positions::computed(sample, gputexel_model::FeatureKind::Material)?;
        let layout = layout(&material)?;
        let mut evaluator = GpuEvaluator::try_new(context, &layout)?;
        let case =
            Case { sample: &material, layout: &layout, groups: &[Group::Coefficients], tile: 1, members: 1 };
        case.matrices(&mut evaluator, LossKind::Squared, Lists::default(), findings)?;
        case.run(&mut evaluator, LossKind::Squared, Lists::default(), findings)?;
    }
    Ok(())
}

/// Checks tables in workgroup memory, which evaluators only use for many positions in long segments: as few as there
/// are buckets.
fn with_staged_tables(context: &GpuContext, sample: &Sample, findings: &mut Findings) -> Result<()> {
    let layout = layout(sample)?;
    let thorough = findings.is_thorough();
    let tiles = TILES.into_iter().filter(|&(tile, _)| if thorough { tile > 1 } else { tile == 16 });
    for (tile, members) in tiles {
        let choice = Some(TileChoice { loss: tile, gradient: tile, staged: true });
        let options = GpuOptions { tile: Some(tile), choice, workgroups: 1, ..GpuOptions::new(context) };
        let mut evaluator = GpuEvaluator::with_options(context, &layout, options)?;
        let case = Case { sample, layout: &layout, groups: &[Group::StagedTables], tile, members };
        for loss in if thorough { &LOSSES[..] } else { &LOSSES[..1] } {
            for bits in if thorough { 0..4u32 } else { 0..1 } {
                let lists = Lists { blends: bits & 1 == 1, resamples: bits & 2 == 2, ..Lists::default() };
                case.run(&mut evaluator, *loss, lists, findings)?;
            }
        }
    }
    Ok(())
}

/// Runs each kernel for positions of all phases, in segments as short as they are for so few.
fn each_kernel(context: &GpuContext, sample: &Sample, findings: &mut Findings) -> Result<()> {
    let layout = layout(sample)?;
    for (tile, members) in [TILES[0], TILES[3]] {
        let options = GpuOptions { tile: Some(tile), ..GpuOptions::new(context) };
        let mut evaluator = GpuEvaluator::with_options(context, &layout, options)?;
        let case = Case { sample, layout: &layout, groups: &[], tile, members };
        if members == 1 {
            case.run(&mut evaluator, LossKind::CrossEntropy, Lists::default(), findings)?;
            continue;
        }
        let all = Lists { blends: true, resamples: true, weights: true, shared: false };
        for lists in [Lists::default(), all, Lists { shared: true, ..Lists::default() }] {
            case.run(&mut evaluator, LossKind::Squared, lists, findings)?;
        }
    }
    Ok(())
}

/// Runs all variants on rows of one kind, which all belong to `groups`, in as few segments as there are buckets:
/// drivers that compute on the processor take their time for each workgroup.
fn every_variant(
    context: &GpuContext,
    sample: &Sample,
    groups: &[Group],
    findings: &mut Findings,
) -> Result<()> {
    let layout = layout(sample)?;
    for (tile, members) in TILES {
        let options = GpuOptions { tile: Some(tile), workgroups: 1, ..GpuOptions::new(context) };
        let mut evaluator = GpuEvaluator::with_options(context, &layout, options)?;
        // One table for all needs two members, even in tiles of one.
        let case = |shared: bool| {
            let members = if shared { members.max(2) } else { members };
            Case { sample, layout: &layout, groups, tile, members }
        };
        for loss in LOSSES {
            for bits in 0..16u32 {
                let bit = |n: u32| bits >> n & 1 == 1;
                let lists = Lists { blends: bit(0), resamples: bit(1), weights: bit(2), shared: bit(3) };
                // Kernels that walk positions do not use factors; those after them use no other list.
                if lists.weights && (lists.shared || loss != LossKind::Squared) {
                    continue;
                }
                case(lists.shared).run(&mut evaluator, loss, lists, findings)?;
                if tile == 1 && !lists.shared {
                    case(false).matrices(&mut evaluator, loss, lists, findings)?;
                }
            }
        }
    }
    Ok(())
}

struct Case<'a> {
    sample: &'a Sample,
    layout: &'a Layout,
    groups: &'a [Group],
    tile: usize,
    members: usize,
}

impl Case<'_> {
    fn name(&self, loss: LossKind, lists: Lists) -> String {
        let lists: Vec<&str> = lists.groups().into_iter().map(Group::name).collect();
        let lists = if lists.is_empty() { String::new() } else { format!(", {}", lists.join(", ")) };
        let rows = if self.layout.unit_rows() { "" } else { ", rows with coefficients" };
        format!("{loss}, tiles of {}{rows}{lists}", self.tile)
    }

    fn run(
        &self,
        gpu: &mut GpuEvaluator<'_>,
        loss: LossKind,
        lists: Lists,
        findings: &mut Findings,
    ) -> Result<()> {
        let population = population(&self.sample.theta, self.members, lists);
        let request = Request { parts: 0..PARTS, loss, gradients: true, curvature: false };
        let wanted = reference(&self.sample.data, self.layout, &population, &request);
        let name = self.name(loss, lists);
        let groups = |of: Group| [&[of], self.groups, &lists.groups()[..]].concat();
        for gradients in [false, true] {
            let request = Request { gradients, ..request.clone() };
            let (got, same) = repeated(|| gpu.evaluate(&population, &request))?;
            let of = groups(Group::Losses);
            let factor = findings.factor(&of);
            let error = relative_error(&got.losses, &wanted.losses, factor).max(relative_error(
                &got.part_losses,
                &wanted.part_losses,
                factor,
            ));
            let what = if gradients { format!("losses beside gradients, {name}") } else { name.clone() };
            findings.add(&of, &what, Measured { error, bound: LOSS_BOUND }, same)?;
            if gradients {
                let of = groups(Group::Gradients);
                let factor = findings.factor(&of);
                let size = 2 * population.features;
                let error = largest_error(&got.gradients, &wanted.gradients, size, factor);
                findings.add(&of, &name, Measured { error, bound: GRADIENT_BOUND }, same)?;
            }
        }
        Ok(())
    }

    fn matrices(
        &self,
        gpu: &mut GpuEvaluator<'_>,
        loss: LossKind,
        lists: Lists,
        findings: &mut Findings,
    ) -> Result<()> {
        let population = population(&self.sample.theta, 1, lists);
        let parts = if lists.weights { PARTS } else { 1 };
        let request = Request { parts: 0..parts, loss, gradients: false, curvature: true };
        let wanted = reference(&self.sample.data, self.layout, &population, &request);
        let (got, same) = repeated(|| gpu.evaluate(&population, &request))?;
        let of = [&[Group::Matrices], self.groups, &lists.groups()[..]].concat();
        let error = relative_error(&got.curvatures, &wanted.curvatures, findings.factor(&of));
        findings.add(&of, &self.name(loss, lists), Measured { error, bound: MATRIX_BOUND }, same)?;
        Ok(())
    }
}
