//! What populations are defined to give, term by term, position by position, in f64.

use gputexel_dataset::objective::{self, x_per_cp};
use gputexel_dataset::{Dataset, Layout, poisson_weight};
use gputexel_evaluator::{Evaluations, Population, Request};
use rayon::prelude::*;

/// Losses, and the gradients and matrices that are asked for, of a population on a layout of `data`. No backend's
/// tricks: scores, slopes and weights are those of the population's documentation. Slow, and meant for some
/// thousand positions.
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

fn of_member(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    request: &Request,
    member: usize,
) -> Evaluations {
    let size = 2 * population.features;
    let theta = population.member(member);
    let kappa = x_per_cp(population.k[member]);
    let blend = f64::from(population.blends.get(member).copied().unwrap_or(0.0));
    let seed = population.resamples.get(member);
    let mut out = Evaluations::default();
    let (mut all_s, mut all_w) = (0.0, 0.0);
    let mut gradient = vec![0.0; if request.gradients { size } else { 0 }];
    let mut matrix = vec![0.0; if request.curvature { size * size } else { 0 }];
    let mut entries = Vec::new();
    for part in request.parts.clone() {
        let factor = f64::from(population.part_weight(member, part, layout.parts().len()));
        let (mut s, mut w) = (0.0, 0.0);
        for position in layout.parts()[part].positions.clone() {
            let n = layout.rows()[position] as usize;
            let row = data.row(n);
            let count = seed.map_or(1, |&seed| poisson_weight(layout.game(position), seed));
            let weight = f64::from(row.weight) * f64::from(count);
            let result = f64::from(row.result);
            let search = layout.search().get(position).map_or(result, |&search| f64::from(search));
            let y = result + blend * (search - result);
            entries.clear();
            let x = kappa * objective::score_and_slopes(data, theta, n, &mut entries);
            s += weight * request.loss.value(x, y);
            w += weight;
            if request.gradients {
                let slope = factor * weight * request.loss.slope(x, y) * kappa;
                for &(i, by_parameter) in &entries {
                    gradient[i] += slope * by_parameter;
                }
            }
            if request.curvature {
                let h = factor * weight * request.loss.curvature(x, y) * kappa * kappa;
                for &(i, a) in &entries {
                    for &(j, b) in &entries {
                        matrix[i * size + j] += h * a * b;
                    }
                }
            }
        }
        out.part_losses.push(s / w);
        all_s += factor * s;
        all_w += factor * w;
    }
    out.losses.push(all_s / all_w);
    out.gradients.extend(gradient.into_iter().map(|slope| slope / all_w));
    out.curvatures.extend(matrix.into_iter().map(|value| value / all_w));
    out
}
