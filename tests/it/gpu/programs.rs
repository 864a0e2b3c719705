//! Nonlinear evaluations on the GPU: against f64, and against themselves with streamed data.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::programs::{FEATURES, program_dataset, program_theta};
use gputexel::evaluator::reference::reference;

const PARTS: usize = 3;

fn layout(data: &Dataset) -> Layout {
    let layout = Layout::try_new(data, PARTS, |n| n % PARTS).unwrap();
    layout.with_search((0..data.len()).map(|n| (n % 11) as f32 / 10.0).collect()).unwrap()
}

fn population(theta: &[f64], members: usize, varied: bool) -> Population {
    let moved = |m: usize| {
        let step = move |(i, value): (usize, &f64)| value + ((i * 7 + m * 13) % 11) as f64 - 5.0;
        theta.iter().enumerate().map(step).map(|value| f64::from(value as f32)).collect::<Vec<f64>>()
    };
    let k = (0..members).map(|m| 0.5 + 0.3 * m as f64 / members as f64).collect();
    let plain = Population::new(theta.len() / 2, (0..members).flat_map(moved).collect(), k);
    match varied {
        false => plain,
        true => Population {
            part_weights: (0..members * PARTS)
                .map(|i| if i % (2 * PARTS) == 0 { 0.0 } else { [1.0, 0.5, 2.0][i % 3] })
                .collect(),
            blends: (0..members).map(|m| m as f32 / members as f32).collect(),
            resamples: (0..members).map(|m| 0x9876_5432u32.wrapping_mul(m as u32 + 1)).collect(),
            ..plain
        },
    }
}

fn check(data: &Dataset, theta: &[f64], options: GpuOptions, context: &gputexel::evaluator::gpu::GpuContext) {
    let layout = layout(data);
    let mut gpu = GpuProgramEvaluator::with_options(context, &layout, options).unwrap();
    let losses = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
    for ((members, varied), loss) in [(1, false), (5, true), (67, true)].into_iter().zip(losses) {
        let population = population(theta, members, varied);
        for parts in [0..PARTS, 1..2] {
            let request = Request { parts, loss, gradients: true, curvature: false };
            let got = gpu.evaluate(&population, &request).unwrap();
            let wanted = reference(data, &layout, &population, &request);
            let what = format!("{members} members, {loss}");
            assert!(relative_difference(&got.losses, &wanted.losses) < 1e-5, "{what}");
            assert!(relative_difference(&got.part_losses, &wanted.part_losses) < 1e-5, "{what}");
            let size = theta.len();
            for member in 0..members {
                let slopes = |all: &[f64]| all[size * member..][..size].to_vec();
                let (a, b) = (slopes(&got.gradients), slopes(&wanted.gradients));
                let largest = b.iter().fold(1e-12f64, |most, slope| most.max(slope.abs()));
                for (i, (a, b)) in a.iter().zip(&b).enumerate() {
                    // A position whose sum is at a kink in f32 and next to it in f64 may differ.
                    assert!((a - b).abs() < 1e-3 * largest, "{what}, {member}, {i}: {a} {b}");
                }
            }
            let plain = Request { gradients: false, ..request.clone() };
            assert_eq!(gpu.evaluate(&population, &plain).unwrap().losses, got.losses, "{what}");
            assert_eq!(gpu.evaluate(&population, &request).unwrap(), got, "{what}: the same again");
        }
    }
}

#[test]
fn rows_with_coefficients_agree_with_f64() {
    let Some(context) = context() else { return };
    let data = program_dataset(&scratch(), 900, 3);
    check(&data, &program_theta(), GpuOptions::new(context), context);
}

#[test]
#[ignore = "full"]
fn the_set_full_agrees_with_f64() {
    let Some(context) = context() else { return };
    let data = common::random_dataset(&scratch(), FeatureKind::Full, 250, 3);
    let theta = Prior::default().theta(&data.metadata().feature_set).unwrap();
    check(&data, &theta, GpuOptions::new(context), context);
}

#[test]
#[ignore = "full"]
fn streaming_changes_no_bit() {
    let Some(context) = context() else { return };
    let data = program_dataset(&scratch(), 20_000, 4);
    let layout = layout(&data);
    let population = population(&program_theta(), 6, true);
    let request = Request { parts: 0..PARTS, loss: LossKind::Squared, gradients: true, curvature: false };
    let run = |memory: Option<u64>| {
        let options = GpuOptions { memory_bytes: memory, ..GpuOptions::new(context) };
        let mut gpu = GpuProgramEvaluator::with_options(context, &layout, options).unwrap();
        let first = gpu.evaluate(&population, &request).unwrap();
        assert_eq!(gpu.evaluate(&population, &request).unwrap(), first);
        (first, gpu.stats().unwrap())
    };
    let (whole, kept) = run(None);
    let (streamed, uploads) = run(Some(7 << 20));
    assert_eq!(whole, streamed);
    assert!(uploads.bytes_up > kept.bytes_up, "{uploads:?} {kept:?}");
    let error = {
        let options = GpuOptions { memory_bytes: Some(1 << 20), ..GpuOptions::new(context) };
        let mut gpu = GpuProgramEvaluator::with_options(context, &layout, options).unwrap();
        gpu.evaluate(&population, &request).unwrap_err().to_string()
    };
    assert!(error.contains("bytes allowed"), "{error}");
}

#[test]
fn matrices_come_from_the_cpu_and_nonfinite_members_are_reported() {
    let Some(context) = context() else { return };
    let data = program_dataset(&scratch(), 300, 5);
    let layout = Layout::whole(&data).unwrap();
    let mut population = population(&program_theta(), 2, false);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: true };
    let mut gpu = GpuProgramEvaluator::with_options(context, &layout, GpuOptions::new(context)).unwrap();
    let got = gpu.evaluate(&population, &request).unwrap();
    let mut cpu = gputexel::evaluator::cpu::CpuEvaluator::new(&layout);
    assert_eq!(got.curvatures, cpu.evaluate(&population, &request).unwrap().curvatures);
    population.parameters[FEATURES] = f64::NAN;
    let got = gpu.evaluate(&population, &Request { curvature: false, ..request }).unwrap();
    assert!(got.losses[0].is_nan() && got.losses[1].is_finite());
}
