//! Kernels for evaluations with a program: scores that are not just sums of parameters.
//!
//! A row's entries are summed slot by slot, the program turns the sums into a score and its slopes by the sums, and
//! each entry adds the loss's slope times that of its slot to the gradient. Phases are not interpolated in
//! advance, because adjustments and factors need the middlegame and the endgame value apart: a table row is a
//! pair of both. One member is evaluated in f64, which costs no more than f32 where entries are loaded one by
//! one; many members in f32, with members as SIMD lanes.

mod curvature;
mod lanes;
mod population;
mod rows;
mod single;

use std::ops::Range;

use rayon::prelude::*;

use self::population::{TileItem, TileParameters, TileSums, WIDTH};
use self::rows::{Rows, Target};
use self::single::{MemberItem, MemberSums};
use super::{CpuEvaluator, STRIPES_PER_CALL, nan_unless_finite, push_means, split_into_stripes};
use crate::{Evaluations, Population, Request};
use gputexel_dataset::objective::x_per_cp;
use gputexel_model::program::CompiledProgram;

/// Up to this number of members each is evaluated by itself: that takes as long as a tile of three to five.
const MAX_SINGLES: usize = 3;

/// Evaluates members on the layout of `evaluator`, which has the program.
pub(super) struct ProgramEvaluation<'a> {
    pub evaluator: &'a CpuEvaluator<'a>,
    pub program: &'a CompiledProgram,
}

impl ProgramEvaluation<'_> {
    /// See [`Evaluator::evaluate`](crate::Evaluator::evaluate).
    pub fn evaluate(&self, population: &Population, request: &Request) -> Evaluations {
        let members = population.members();
        let layout = self.evaluator.layout;
        let mut evaluations = Evaluations {
            losses: Vec::with_capacity(members),
            part_losses: Vec::with_capacity(members * request.parts.len()),
            gradients: Vec::with_capacity(if request.gradients {
                members * 2 * layout.features()
            } else {
                0
            }),
            curvatures: Vec::new(),
            positions: self.evaluator.positions(&request.parts).len(),
        };
        let rest = members % WIDTH;
        // Members that share θ also share scores, which are then computed once.
        let shared = population.is_shared() && members > 1 && !request.gradients;
        let in_tiles = match rest {
            _ if shared => 0,
            rest if rest <= MAX_SINGLES => members - rest,
            _ => members,
        };
        let scores = shared.then(|| {
            let positions = self.evaluator.positions(&request.parts);
            (positions.start, self.scores(population.member(0), positions))
        });
        for first in (0..in_tiles).step_by(WIDTH) {
            let tile = self.tile(population, first, request);
            for lane in 0..WIDTH.min(in_tiles - first) {
                let sums = tile.member(lane);
                self.push(&mut evaluations, population, first + lane, sums, request);
            }
        }
        for member in in_tiles..members {
            let given = scores.as_ref().map(|(first, scores)| (*first, &scores[..]));
            let sums = self.single(population, member, request, given);
            self.push(&mut evaluations, population, member, sums, request);
        }
        if request.curvature {
            for member in 0..members {
                evaluations.curvatures.append(&mut self.curvature(population, member, request));
            }
        }
        evaluations
    }

    /// Scores of positions under one θ, centipawns, in layout order.
    pub fn scores(&self, theta: &[f64], positions: Range<usize>) -> Vec<f64> {
        let table = self.program.column_values(theta);
        let stripes: Vec<Vec<f64>> = split_into_stripes(positions, STRIPES_PER_CALL)
            .into_par_iter()
            .map(|positions| {
                let rows = Rows { layout: self.evaluator.layout, program: self.program };
                self.evaluator.instruction_set.dispatch(single::Scores { rows, table: &table, positions })
            })
            .collect();
        stripes.concat()
    }

    /// Adds a member's results.
    fn push(
        &self,
        evaluations: &mut Evaluations,
        population: &Population,
        member: usize,
        mut sums: MemberSums,
        request: &Request,
    ) {
        nan_unless_finite(population, member, &mut sums.losses);
        let part_weights = self.evaluator.part_weights(population, member, &request.parts);
        let weight = push_means(evaluations, &sums.losses, &sums.weights, part_weights);
        if request.gradients {
            let per_cp = x_per_cp(population.k[member]) / weight;
            let mut gradient = vec![0.0; 2 * self.program.features()];
            self.program.add_to_parameters(&sums.gradient, &mut gradient);
            evaluations.gradients.extend(gradient.into_iter().map(|slope| slope * per_cp));
        }
    }

    fn single(
        &self,
        population: &Population,
        member: usize,
        request: &Request,
        given: Option<(usize, &[f64])>,
    ) -> MemberSums {
        let table = self.program.column_values(population.member(member));
        let part_weights = self.evaluator.part_weights(population, member, &request.parts);
        let stripes = split_into_stripes(self.evaluator.positions(&request.parts), STRIPES_PER_CALL);
        let partial: Vec<MemberSums> = stripes
            .into_par_iter()
            .map(|positions| {
                self.evaluator.instruction_set.dispatch(MemberItem {
                    rows: Rows { layout: self.evaluator.layout, program: self.program },
                    table: &table,
                    given,
                    target: Target::of(population, member, request.loss),
                    parts: request.parts.clone(),
                    part_weights,
                    positions,
                    gradients: request.gradients,
                })
            })
            .collect();
        partial.into_iter().reduce(MemberSums::merge).expect("there is at least one stripe")
    }

    fn tile(&self, population: &Population, first: usize, request: &Request) -> TileSums {
        let layout = self.evaluator.layout;
        let parameters = TileParameters::new(population, self.program, first, &request.parts, layout);
        let stripes = split_into_stripes(self.evaluator.positions(&request.parts), STRIPES_PER_CALL);
        let partial: Vec<TileSums> = stripes
            .into_par_iter()
            .map(|positions| {
                self.evaluator.instruction_set.dispatch(TileItem {
                    rows: Rows { layout, program: self.program },
                    parameters: &parameters,
                    parts: request.parts.clone(),
                    positions,
                    loss: request.loss,
                    gradients: request.gradients,
                })
            })
            .collect();
        partial.into_iter().reduce(TileSums::merge).expect("there is at least one stripe")
    }
}
