//! Steps of Adam on the device: moments and parameters after each, from the gradient in f64.

use crate::device::GpuContext;
use crate::device_steps::{AdamMember, AdamStart};
use crate::gpu::GpuEvaluator;
use crate::reference::reference;
use crate::{AdamState, AdamStep, Evaluator, Request};
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
        let start = start(sample, layout.parts().len(), members);
        let (steps, same) = repeated(|| take(&mut gpu, &start))?;
        let groups = [Group::AdamSteps];
        let Some(steps) = steps else {
            // The sample is so small that every device has room for it.
            let none = Measured { error: f64::INFINITY, bound: BOUND };
            findings.add(&groups, &format!("steps of {members} members that never came"), none, same)?;
            continue;
        };
        let factor = findings.factor(&groups);
        let size = sample.theta.len();
        let mut now = start.clone();
        for (number, (step, state)) in steps.iter().enumerate() {
            let wanted = reference(&sample.data, &layout, &now.population, &now.request);
            let name = format!("step {} of {members} members", number + 1);
            let mut losses = wanted.losses.clone();
            let mut error = 0f64;
            let mut along = 0f64;
            for (member, loss) in losses.iter_mut().enumerate() {
                let range = member * size..(member + 1) * size;
                let AdamMember { beta1, beta2, epsilon, pull } = now.settings[member];
                let parameters = &now.population.parameters[range.clone()];
                let distances = parameters.iter().zip(&start.prior).map(|(value, prior)| value - prior);
                *loss += 0.5 * pull * distances.clone().map(|d| d * d).sum::<f64>();
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
                    .max(relative_error(&state.first_moment[range.clone()], &first, factor))
                    .max(relative_error(&state.second_moment[range.clone()], &second, factor));
                // From the device's own moments, so that gradients near 0 do not matter.
                let (rate, correction) = rate(number, member);
                for (i, old) in range.zip(parameters) {
                    let root = (correction * state.second_moment[i]).sqrt() + epsilon;
                    let wanted = old - rate * state.first_moment[i] / root;
                    along = along.max((state.parameters[i] - wanted).abs() / rate);
                }
            }
            error = error.max(relative_error(&step.losses, &losses, factor));
            findings.add(&groups, &name, Measured { error, bound: BOUND }, same)?;
            findings.add(&groups, &name, Measured { error: along, bound: STEP_BOUND }, same)?;
            now.population.parameters.clone_from(&state.parameters);
            now.first_moment.clone_from(&state.first_moment);
            now.second_moment.clone_from(&state.second_moment);
        }
    }
    Ok(())
}

const STEPS: usize = 3;

fn rate(step: usize, member: usize) -> (f64, f64) {
    (0.5 + member as f64 + 0.1 * step as f64, 1.0 / (1.0 - 0.999f64.powi(step as i32 + 1)))
}

/// Takes some steps at once; returns each with the state after it, `None` if the device takes none.
fn take(gpu: &mut GpuEvaluator<'_>, start: &AdamStart) -> Result<Option<Vec<(AdamStep, AdamState)>>> {
    let members = start.settings.len();
    let rates: Vec<_> = (0..STEPS).flat_map(|step| (0..members).map(move |m| rate(step, m))).collect();
    let mut all = Vec::with_capacity(STEPS);
    for number in 0..STEPS {
        // From the start each time, because states are forgotten once an earlier one is fetched.
        if !gpu.begin_adam(start)? {
            return Ok(None);
        }
        let Some(mut steps) = gpu.adam_steps(&rates)? else { return Ok(None) };
        let Some(state) = gpu.adam_state(number + 1)? else { return Ok(None) };
        all.push((steps.swap_remove(number), state));
    }
    Ok(Some(all))
}

fn start(sample: &Sample, parts: usize, members: usize) -> AdamStart {
    let population = population(&sample.theta, members, Lists::default());
    let zeros = vec![0.0; population.parameters.len()];
    AdamStart {
        population,
        request: Request { parts: 0..parts, loss: LossKind::Squared, gradients: true, curvature: false },
        prior: sample.theta.clone(),
        settings: (0..members)
            .map(|m| AdamMember { beta1: 0.9, beta2: 0.999, epsilon: 1e-12, pull: 1e-8 * m as f64 })
            .collect(),
        first_moment: zeros.clone(),
        second_moment: zeros,
    }
}
