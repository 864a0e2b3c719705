//! Shortening of model steps that the exact loss does not confirm.

use super::folded::Folded;
use super::pulled::Pulled;
use crate::config::space_of;
use gputexel_dataset::objective::Objective;
use gputexel_eval::{Evaluator, Population, Request};
use gputexel_io::Result;
use gputexel_model::Parameterization;

const SHARES: [f64; 5] = [1.0, 0.5, 0.25, 0.1, 0.0];

#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    pub parameterization: &'a Parameterization,
    pub around: &'a [f64],
    pub origins: &'a [Vec<f64>],
    pub pulled: &'a [Pulled],
    pub weights: &'a [f64],
    /// Weights of each fold, where they differ from the common ones.
    pub by_fold: &'a [Vec<f64>],
}

/// Shortens the steps to `z` from the point of the model, and to each of `without` from its own origin, if the exact
/// loss of the positions that they were computed for, including penalties, is lower on the way. A fold's origin must
/// not depend on it.
pub(super) fn shorten(
    evaluator: &mut dyn Evaluator,
    folded: &Folded,
    objective: Objective,
    ways: Ways<'_>,
    without: &mut Vec<Vec<f64>>,
    z: &mut Vec<f64>,
) -> Result<()> {
    let Ways { parameterization, around, origins, pulled, weights, by_fold } = ways;
    let space = space_of(parameterization);
    let folds = folded.folds;
    let ends: Vec<&Vec<f64>> = without.iter().chain([&*z]).collect();
    let origin = |end: usize| origins.get(end).map_or(around, |origin| origin);
    let trials: Vec<Vec<f64>> = ends
        .iter()
        .enumerate()
        .flat_map(|(index, end)| {
            SHARES.map(|share| {
                let way = end.iter().zip(origin(index));
                let mut z: Vec<f64> = way.map(|(end, from)| from + share * (end - from)).collect();
                space.clamp(&mut z);
                z
            })
        })
        .collect();
    let theta = parameterization.theta(&trials.concat());
    let k = vec![objective.k; trials.len()];
    let population = Population::new(parameterization.parameters() / 2, theta, k);
    let request = Request { parts: 0..folds, loss: objective.loss, gradients: false, curvature: false };
    let losses = evaluator.evaluate(&population, &request)?.part_losses;
    let parts = &folded.layout.parts()[..folds];
    let value = |trial: usize| {
        let end = trial / SHARES.len();
        let own = &losses[trial * folds..][..folds];
        let counted = (0..folds).filter(|&part| part != end);
        let (sum, weight) = counted.fold((0.0, 0.0), |(sum, weight), part| {
            (sum + parts[part].weight * own[part], weight + parts[part].weight)
        });
        let step: Vec<f64> = trials[trial].iter().zip(around).map(|(z, from)| z - from).collect();
        let weights = by_fold.get(end).map_or(weights, |own| own);
        let penalty: f64 = pulled.iter().zip(weights).map(|(one, weight)| weight * one.value(&step)).sum();
        sum / weight + penalty
    };
    let values: Vec<f64> = (0..trials.len()).map(value).collect();
    let chosen: Vec<Vec<f64>> = (0..trials.len())
        .step_by(SHARES.len())
        .map(|first| {
            let own = first..first + SHARES.len();
            let finite = own.clone().filter(|&trial| !values[trial].is_nan());
            let best = finite.min_by(|&a, &b| values[a].total_cmp(&values[b]));
            trials[best.unwrap_or(own.end - 1)].clone()
        })
        .collect();
    let (folds, whole) = chosen.split_at(folds);
    *without = folds.to_vec();
    z.clone_from(&whole[0]);
    Ok(())
}
