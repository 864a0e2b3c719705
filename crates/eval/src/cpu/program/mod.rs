//! Kernels for evaluations with a program: scores that are not just sums of parameters.

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
use super::{CpuEvaluator, STRIPES_PER_CALL, Work, split_into_stripes, stripes};
use crate::sums::{Sums, part_weights};
use crate::{Population, Request};
use gputexel_model::program::CompiledProgram;

/// Up to this number, members are evaluated one by one: that takes as long as a tile of three to five.
const MAX_SINGLES: usize = 3;

pub(super) struct ProgramEvaluation<'a> {
    pub evaluator: &'a CpuEvaluator<'a>,
    pub program: &'a CompiledProgram,
}

impl ProgramEvaluation<'_> {
    /// Returns the scores of members that share θ, which are computed once, and the first of their positions.
    pub fn shared_scores(&self, population: &Population, request: &Request) -> Option<(usize, Vec<f64>)> {
        let shared = population.is_shared() && population.members() > 1 && !request.gradients;
        shared.then(|| {
            let positions = self.evaluator.positions(&request.parts);
            (positions.start, self.scores(population.member(0), positions))
        })
    }

    pub fn sum_up(&self, work: &Work<'_>, shared: Option<&(usize, Vec<f64>)>, sums: &mut Sums) {
        let Work { population, request, .. } = work;
        let members = population.members();
        let rest = members % WIDTH;
        let in_tiles = match rest {
            _ if shared.is_some() => 0,
            rest if rest <= MAX_SINGLES => members - rest,
            _ => members,
        };
        for first in (0..in_tiles).step_by(WIDTH) {
            let tile = self.tile(work, first);
            for lane in 0..WIDTH.min(in_tiles - first) {
                self.store(&tile.member(lane), request, first + lane, sums);
            }
        }
        for member in in_tiles..members {
            let given = shared.map(|(first, scores)| (*first, &scores[..]));
            self.store(&self.single(work, member, given), request, member, sums);
        }
        if request.curvature {
            let triangle = sums.curvatures.len() / members.max(1);
            for member in 0..members {
                self.sum_curvature(work, member, &mut sums.curvatures[member * triangle..][..triangle]);
            }
        }
    }

    /// Computes scores of positions under one θ, centipawns, in layout order.
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

    fn store(&self, own: &MemberSums, request: &Request, member: usize, sums: &mut Sums) {
        let (parts, size) = (request.parts.len(), 2 * self.program.features());
        sums.losses[member * parts..][..parts].copy_from_slice(&own.losses);
        sums.weights[member * parts..][..parts].copy_from_slice(&own.weights);
        if request.gradients {
            self.program.add_to_parameters(&own.gradient, &mut sums.gradients[member * size..][..size]);
        }
    }

    fn single(&self, work: &Work<'_>, member: usize, given: Option<(usize, &[f64])>) -> MemberSums {
        let Work { population, request, ranges, .. } = work;
        let table = self.program.column_values(population.member(member));
        let part_weights = part_weights(population, member, request, self.evaluator.layout);
        let stripes = stripes(ranges, STRIPES_PER_CALL);
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

    fn tile(&self, work: &Work<'_>, first: usize) -> TileSums {
        let Work { population, request, ranges, .. } = work;
        let layout = self.evaluator.layout;
        let parameters = TileParameters::new(population, self.program, first, &request.parts, layout);
        let stripes = stripes(ranges, STRIPES_PER_CALL);
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
