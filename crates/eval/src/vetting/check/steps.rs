//! Steps of Adam on the device: moments and parameters after each, from the gradient in f64.

use crate::device::GpuContext;
use crate::gpu::GpuEvaluator;
use crate::reference::reference;
use crate::{AdamBatch, AdamMember, Evaluator, Request};
use gputexel_dataset::objective::LossKind;
use gputexel_io::Result;

use super::linear::{Lists, layout, population};
use super::{Findings, Group, Measured, relative_error, repeated};
use crate::vetting::positions::Sample;

const BOUND: f64 = 1e-4;

/// Bound on the error of parameters relative to a step: they are sums of two floats, so that no part of it is lost.
const STEP_BOUND: f64 = 1e-5;

pub(super) fn check(context: &GpuContext, sample: &Sample, findings: &mut Findings) -> Result<()> {
    let layout = layout(sample)?;
    let counts: &[usize] = if findings.is_thorough() { &[1, 5, 16] } else { &[5] };
    let mut gpu = GpuEvaluator::try_new(context, &layout)?;
    for &members in counts {
        let batch = batch(sample, layout.parts().len(), members);
        let (steps, same) = repeated(|| gpu.adam_steps(&batch))?;
        let groups = [Group::AdamSteps];
        let Some(steps) = steps.filter(|steps| !steps.is_empty()) else {
            // The sample is so small that every device has room for it.
            let none = Measured { error: f64::INFINITY, bound: BOUND };
            findings.add(&groups, &format!("steps of {members} members that never came"), none, same)?;
            continue;
        };
        let factor = findings.factor(&groups);
        let size = sample.theta.len();
        let mut now = batch.clone();
        for (number, step) in steps.iter().enumerate() {
            let wanted = reference(&sample.data, &layout, &now.population, &now.request);
            let name = format!("step {} of {members} members", number + 1);
            let mut error = relative_error(&step.losses, &wanted.losses, factor);
            let mut along = 0f64;
            for member in 0..members {
                let range = member * size..(member + 1) * size;
                let AdamMember { beta1, beta2, epsilon, pull } = now.settings[member];
                let parameters = &now.population.parameters[range.clone()];
                let distances = parameters.iter().zip(&batch.prior).map(|(value, prior)| value - prior);
                let gradient: Vec<f64> = wanted.gradients[range.clone()]
                    .iter()
                    .zip(distances)
                    .map(|(g, d)| g + pull * d)
                    .collect();
                let moment = |old: &[f64], beta: f64, power: i32| -> Vec<f64> {
                    old.iter()
                        .zip(&gradient)
                        .map(|(old, g)| beta * old + (1.0 - beta) * g.powi(power))
                        .collect()
                };
                let first = moment(&now.first_moment[range.clone()], beta1, 1);
                let second = moment(&now.second_moment[range.clone()], beta2, 2);
                error = error
                    .max(relative_error(&step.first_moment[range.clone()], &first, factor))
                    .max(relative_error(&step.second_moment[range.clone()], &second, factor));
                // From the device's own moments, so that gradients near 0 do not matter.
                let (rate, correction) = batch.rates[number * members + member];
                for (i, old) in range.zip(parameters) {
                    let root = (correction * step.second_moment[i]).sqrt() + epsilon;
                    let wanted = old - rate * step.first_moment[i] / root;
                    along = along.max((step.parameters[i] - wanted).abs() / rate);
                }
            }
            findings.add(&groups, &name, Measured { error, bound: BOUND }, same)?;
            findings.add(&groups, &name, Measured { error: along, bound: STEP_BOUND }, same)?;
            now.population.parameters.clone_from(&step.parameters);
            now.first_moment.clone_from(&step.first_moment);
            now.second_moment.clone_from(&step.second_moment);
        }
    }
    Ok(())
}

/// Returns three steps of members that differ in everything.
fn batch(sample: &Sample, parts: usize, members: usize) -> AdamBatch {
    let population = population(&sample.theta, members, Lists::default());
    let zeros = vec![0.0; population.parameters.len()];
    let rate = |step: usize, m: usize| {
        (0.5 + m as f64 + 0.1 * step as f64, 1.0 / (1.0 - 0.999f64.powi(step as i32 + 1)))
    };
    AdamBatch {
        population,
        request: Request { parts: 0..parts, loss: LossKind::Squared, gradients: true, curvature: false },
        prior: sample.theta.clone(),
        settings: (0..members)
            .map(|m| AdamMember { beta1: 0.9, beta2: 0.999, epsilon: 1e-12, pull: 1e-8 * m as f64 })
            .collect(),
        first_moment: zeros.clone(),
        second_moment: zeros,
        rates: (0..3).flat_map(|step| (0..members).map(move |m| rate(step, m))).collect(),
    }
}
