//! Kernels with and without run-time checks: the same numbers, bit for bit.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::programs::{program_dataset, program_theta};
use gputexel::evaluator::AdamStep;

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
        let zeros = vec![0.0; plain.parameters.len()];
        let start = AdamStart {
            request: Request { parts: 0..2, loss: LossKind::CrossEntropy, gradients: true, curvature: false },
            prior: vec![1.0; 2 * data.feature_count()],
            settings: vec![AdamMember { beta1: 0.9, beta2: 0.999, epsilon: 1e-12, pull: 1e-8 }; members],
            first_moment: zeros.clone(),
            second_moment: zeros,
            population: plain,
        };
        assert!(gpu.begin_adam(&start).unwrap());
        let steps = gpu.adam_steps(&vec![(1.5, 1000.0); 3 * members]).unwrap().unwrap();
        all.extend(steps.iter().map(AdamStep::evaluations));
        let state = gpu.adam_state(3).unwrap().unwrap();
        let gradients = [state.parameters, state.second_moment, state.best_parameters].concat();
        all.push(Evaluations { gradients, ..steps[2].evaluations() });
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
fn staged_tables_change_no_bit() {
    if context().is_none() {
        return;
    }
    let context = GpuContext::try_new(true).unwrap();
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        // Buckets long enough that a table is worth it.
        let data = common::random_dataset(&scratch(), kind, 9000, 62);
        let layout = Layout::whole(&data).unwrap();
        let set = &data.metadata().feature_set;
        let theta = (0..19).flat_map(|m| common::random_theta(set, false, m as u64)).collect();
        let population = Population::new(data.feature_count(), theta, vec![0.8; 19]);
        for tile in [4, 8, 16, 32] {
            for gradients in [false, true] {
                let answers = [false, true].map(|staged| {
                    let choice = Some(TileChoice { loss: tile, gradient: tile, staged });
                    let options =
                        GpuOptions { tile: Some(tile), choice, workgroups: 2, ..GpuOptions::new(&context) };
                    let mut gpu = GpuEvaluator::with_options(&context, &layout, options).unwrap();
                    let request =
                        Request { parts: 0..1, loss: LossKind::Squared, gradients, curvature: false };
                    let answer = gpu.evaluate(&population, &request).unwrap();
                    (answer, gpu.stats().unwrap().pipelines)
                });
                assert!(answers[0].0 == answers[1].0, "{kind:?}, tile {tile}, gradients {gradients}");
                // The table of a tile of 8 fits the memory of every device, so another kernel was compiled.
                if tile <= 8 && !gradients {
                    assert!(answers[1].1 > 0, "{kind:?}, tile {tile}: not staged");
                }
            }
        }
    }
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
