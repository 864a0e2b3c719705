//! Kernels with and without run-time checks: the same numbers, bit for bit.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::programs::{program_dataset, program_theta};

fn evaluations(context: &GpuContext, kind: FeatureKind) -> Vec<Evaluations> {
    let data = common::random_dataset(&scratch(), kind, 2300, 61);
    let layout = Layout::try_new(&data, 2, |n| n % 2).unwrap();
    let layout = layout.with_search((0..data.len()).map(|n| (n % 11) as f32 / 10.0).collect()).unwrap();
    let mut gpu = GpuEvaluator::try_new(context, &layout).unwrap();
    let set = &data.metadata().feature_set;
    let mut all = Vec::new();
    for members in [1, 3, 37] {
        let theta = (0..members).flat_map(|m| common::random_theta(set, false, m as u64)).collect();
        let k = (0..members).map(|m| 0.5 + 0.01 * m as f64).collect();
        let plain = Population::new(data.feature_count(), theta, k);
        let varied = Population {
            part_weights: (0..2 * members).map(|i| (1 + i % 3) as f32).collect(),
            resamples: (0..members as u32).collect(),
            blends: vec![0.25; members],
            ..plain.clone()
        };
        let shared = Population { parameters: plain.member(0).to_vec(), ..plain.clone() };
        for population in [&plain, &varied, &shared] {
            for gradients in [false, true] {
                let curvature = members == 3 && gradients;
                let request = Request { parts: 0..2, loss: LossKind::Squared, gradients, curvature };
                all.push(gpu.evaluate(population, &request).unwrap());
            }
        }
    }
    all
}

fn program_evaluations(context: &GpuContext) -> Vec<Evaluations> {
    let data = program_dataset(&scratch(), 700, 5);
    let layout = Layout::whole(&data).unwrap();
    let mut gpu = GpuProgramEvaluator::with_options(context, &layout, GpuOptions::new(context)).unwrap();
    let theta = program_theta();
    [1, 9]
        .map(|members: usize| {
            let population = Population::new(theta.len() / 2, theta.repeat(members), vec![0.7; members]);
            let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
            gpu.evaluate(&population, &request).unwrap()
        })
        .into()
}

#[test]
#[ignore = "full"]
fn kernels_without_checks_compute_the_same() {
    if context().is_none() {
        return;
    }
    let own = GpuContext::try_new(true).unwrap();
    let (checked, trusting) = (own.clone().with_shader_checks(true), own.with_shader_checks(false));
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let wanted = evaluations(&checked, kind);
        assert!(wanted.len() > 20 && wanted.iter().all(|e| e.losses.iter().all(|loss| loss.is_finite())));
        assert!(evaluations(&trusting, kind) == wanted, "{kind:?}");
    }
    // A compiler may fuse other multiplications and additions of a program without the checks; NVIDIA's does.
    for (trusted, wanted) in program_evaluations(&trusting).iter().zip(&program_evaluations(&checked)) {
        let close = |got: &[f64], wanted: &[f64]| {
            let largest = wanted.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-6 * largest)
        };
        assert!(close(&trusted.losses, &wanted.losses) && close(&trusted.gradients, &wanted.gradients));
    }
}
