//! Definition of the results for populations, term by term, position by position, in f64.

use std::ops::Range;

use gputexel_dataset::objective::{self, x_per_cp};
use gputexel_dataset::{Dataset, Layout, poisson_weight};
use rayon::prelude::*;

use crate::{Evaluations, Population, Request};

/// Computes losses, and the requested gradients and matrices, of a population on a layout of `data`.
pub fn reference(data: &Dataset, layout: &Layout, population: &Population, request: &Request) -> Evaluations {
    let members = (0..population.members()).into_par_iter();
    let members: Vec<_> =
        members.map(|member| of_member(data, layout, population, request, member)).collect();
    let mut out = Evaluations::default();
    for member in members {
        out.append(member);
    }
    out.positions = request.parts.clone().map(|part| layout.parts()[part].positions.len()).sum();
    out
}

#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub part: usize,
    pub factor: f64,
    pub weight: f64,
    /// Argument of the sigmoid: the score, scaled by the member's K.
    pub x: f64,
    pub y: f64,
    /// The parameters that the score depends on, and its derivatives by them.
    pub slopes: &'a [(usize, f64)],
}

/// Visits the positions of some parts as a member sees them, in the order of the layout.
pub fn each_position(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    member: usize,
    parts: Range<usize>,
    mut visit: impl FnMut(&Seen<'_>),
) {
    let (theta, kappa) = (population.member(member), x_per_cp(population.k[member]));
    let blend = f64::from(population.blends.get(member).copied().unwrap_or(0.0));
    let seed = population.resamples.get(member);
    let mut slopes = Vec::new();
    for part in parts {
        let factor = f64::from(population.part_weight(member, part, layout.parts().len()));
        for position in layout.parts()[part].positions.clone() {
            let n = layout.rows()[position] as usize;
            let row = data.row(n);
            let count = seed.map_or(1, |&seed| poisson_weight(data.game(n), seed));
            let weight = f64::from(row.weight) * f64::from(count);
            let result = f64::from(row.result);
            let search = layout.search().get(position).map_or(result, |&search| f64::from(search));
            let y = result + blend * (search - result);
            let x = kappa * objective::score_and_slopes(data, theta, n, &mut slopes);
            visit(&Seen { part, factor, weight, x, y, slopes: &slopes });
        }
    }
}

fn of_member(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    request: &Request,
    member: usize,
) -> Evaluations {
    let size = 2 * population.features;
    let kappa = x_per_cp(population.k[member]);
    let mut sums = vec![(0.0, 0.0, 0.0); request.parts.len()];
    let mut gradient = vec![0.0; if request.gradients { size } else { 0 }];
    let mut matrix = vec![0.0; if request.curvature { size * size } else { 0 }];
    each_position(data, layout, population, member, request.parts.clone(), |seen| {
        let Seen { factor, weight, x, y, slopes, .. } = *seen;
        let (s, w, of_part) = &mut sums[seen.part - request.parts.start];
        *s += weight * request.loss.value(x, y);
        *w += weight;
        *of_part = factor;
        if request.gradients {
            let slope = factor * weight * request.loss.slope(x, y) * kappa;
            for &(i, by_parameter) in slopes {
                gradient[i] += slope * by_parameter;
            }
        }
        if request.curvature {
            let h = factor * weight * request.loss.curvature(x, y) * kappa * kappa;
            for &(i, a) in slopes {
                for &(j, b) in slopes {
                    matrix[i * size + j] += h * a * b;
                }
            }
        }
    });
    let all_s: f64 = sums.iter().map(|(s, _, factor)| factor * s).sum();
    let all_w: f64 = sums.iter().map(|(_, w, factor)| factor * w).sum();
    Evaluations {
        losses: vec![all_s / all_w],
        part_losses: sums.iter().map(|(s, w, _)| s / w).collect(),
        gradients: gradient.into_iter().map(|slope| slope / all_w).collect(),
        curvatures: matrix.into_iter().map(|value| value / all_w).collect(),
        ..Evaluations::default()
    }
}
