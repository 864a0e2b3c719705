//! Evaluations with a program: rows of ±1 (the set `full`), and rows with coefficients.

use crate::device::GpuContext;
use crate::gpu::{GpuOptions, GpuProgramEvaluator};
use crate::reference::reference;
use crate::{Evaluator, Request};
use gputexel_dataset::objective::LossKind;
use gputexel_io::Result;
use gputexel_model::FeatureKind;

use super::linear::{Lists, layout, population};
use super::{Findings, Group, Measured, largest_error, relative_error, repeated};
use crate::vetting::positions::{self, Sample};

const LOSS_BOUND: f64 = 1e-5;
/// A position whose sum is at a kink in f32 but not in f64 may differ.
const GRADIENT_BOUND: f64 = 1e-3;

pub(super) fn check(context: &GpuContext, sample: &Sample, findings: &mut Findings) -> Result<()> {
    on_rows(context, &positions::with_program(sample)?, &[Group::Programs, Group::Coefficients], findings)?;
    if findings.is_thorough() {
        on_rows(context, &positions::computed(sample, FeatureKind::Full)?, &[Group::Programs], findings)?;
    }
    Ok(())
}

fn on_rows(context: &GpuContext, sample: &Sample, groups: &[Group], findings: &mut Findings) -> Result<()> {
    let layout = layout(sample)?;
    let mut gpu = GpuProgramEvaluator::with_options(context, &layout, GpuOptions::new(context))?;
    let all = Lists { blends: true, resamples: true, weights: true, shared: false };
    let thorough = [
        (1, Lists::default(), LossKind::Squared),
        (5, all, LossKind::CrossEntropy),
        (67, all, LossKind::Power(2.5)),
    ];
    let cases = if findings.is_thorough() { &thorough[..] } else { &thorough[1..2] };
    for &(members, lists, loss) in cases {
        let population = population(&sample.theta, members, lists);
        let request = Request { parts: 0..layout.parts().len(), loss, gradients: true, curvature: false };
        let wanted = reference(&sample.data, &layout, &population, &request);
        let rows = if layout.unit_rows() { "" } else { ", rows with coefficients" };
        let name = format!("{loss}, {members} members{rows}");
        let factor = findings.factor(groups);
        for gradients in [false, true] {
            let request = Request { gradients, ..request.clone() };
            let (got, same) = repeated(|| gpu.evaluate(&population, &request))?;
            let error = relative_error(&got.losses, &wanted.losses, factor);
            findings.add(groups, &name, Measured { error, bound: LOSS_BOUND }, same)?;
            if gradients {
                let error = largest_error(&got.gradients, &wanted.gradients, sample.theta.len(), factor);
                let name = format!("gradients, {name}");
                findings.add(groups, &name, Measured { error, bound: GRADIENT_BOUND }, same)?;
            }
        }
    }
    Ok(())
}
