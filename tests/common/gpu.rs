//! The device of the GPU tests, and the weighted losses of a population in f64.

use std::sync::OnceLock;

use gputexel::dataset::{Dataset, Layout, poisson_weight};
use gputexel::evaluator::gpu::GpuContext;
use gputexel::evaluator::{Evaluations, Population, Request};
use gputexel::objective::{self, x_per_cp};

use super::requirement;

/// One device for all tests, with the limits that every WebGPU device has, if there is an adapter.
pub fn context() -> Option<&'static GpuContext> {
    static CONTEXT: OnceLock<Result<GpuContext, String>> = OnceLock::new();
    let context = CONTEXT.get_or_init(|| {
        let context = GpuContext::with_default_limits(true);
        context.map_err(|error| error.to_string())
    });
    context.as_ref().inspect_err(|error| requirement::lack("gpu", error)).ok()
}

/// What the population's documentation says, term by term, position by position, in f64.
pub fn reference(data: &Dataset, layout: &Layout, population: &Population, request: &Request) -> Evaluations {
    let (features, members) = (population.features, population.members());
    let size = 2 * features;
    let mut out = Evaluations::default();
    for member in 0..members {
        let theta = population.member(member);
        let kappa = x_per_cp(population.k[member]);
        let (mut all_s, mut all_w) = (0.0, 0.0);
        let mut gradient = vec![0.0; size];
        let mut matrix = vec![0.0; if request.curvature { size * size } else { 0 }];
        for part in request.parts.clone() {
            let factor = f64::from(population.part_weight(member, part, layout.parts().len()));
            let (mut s, mut w) = (0.0, 0.0);
            for position in layout.parts()[part].positions.clone() {
                let n = layout.rows()[position] as usize;
                let row = data.row(n);
                let count = population
                    .resamples
                    .get(member)
                    .map_or(1, |&seed| poisson_weight(layout.game(position), seed));
                let weight = f64::from(row.weight) * f64::from(count);
                let blend = f64::from(population.blends.get(member).copied().unwrap_or(0.0));
                let result = f64::from(row.result);
                let search = layout.search().get(position).map_or(result, |&search| f64::from(search));
                let y = result + blend * (search - result);
                let mut entries = Vec::new();
                let x = kappa * objective::score_and_slopes(data, theta, n, &mut entries);
                s += weight * request.loss.value(x, y);
                w += weight;
                let slope = factor * weight * request.loss.slope(x, y) * kappa;
                for &(i, by_parameter) in &entries {
                    gradient[i] += slope * by_parameter;
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
        if request.gradients {
            out.gradients.extend(gradient.into_iter().map(|g| g / all_w));
        }
        out.curvatures.extend(matrix.into_iter().map(|value| value / all_w));
    }
    out.positions = request.parts.clone().map(|part| layout.parts()[part].positions.len()).sum();
    out
}
