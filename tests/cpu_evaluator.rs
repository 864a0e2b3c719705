//! The CPU evaluator against the f64 reference, on every SIMD body of this processor.

mod common;

use gputexel::dataset::{Dataset, Layout, Split};
use gputexel::evaluator::cpu::{CpuEvaluator, InstructionSet};
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::FeatureKind;
use gputexel::objective::{self, LossKind, Objective};

fn population(data: &Dataset, members: usize, whole: bool) -> Population {
    let set = &data.metadata.feature_set;
    Population::new(
        data.feature_count(),
        (0..members).flat_map(|m| common::random_theta(set, whole, 77 + m as u64)).collect(),
        (0..members).map(|m| 0.7 + 0.3 * (m as f64 / 7.0).sin()).collect(),
    )
}

/// Largest difference relative to the largest magnitude wanted.
fn relative_difference(got: &[f64], wanted: &[f64]) -> f64 {
    let largest = wanted.iter().fold(1e-300f64, |a, b| a.max(b.abs()));
    got.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn losses_gradients_and_matrices_agree_with_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let (mut worst_loss, mut worst_gradient, mut worst_matrix) = (0.0f64, 0.0f64, 0.0f64);
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        for (positions, members) in [(1, 1), (1, 33), (511, 3), (512, 16), (513, 34), (1025, 65), (4000, 35)]
        {
            let data =
                common::random_dataset(&folder.path().join("d.bin"), kind, positions, positions as u64);
            let population = population(&data, members, false);
            let layout = Layout::whole(&data).unwrap();
            let losses = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
            for (set, loss) in InstructionSet::available()
                .into_iter()
                .zip(losses.into_iter().cycle())
                .chain([(InstructionSet::best(), LossKind::Power(2.0))])
            {
                let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
                let curvature = members == 3;
                let request = Request { parts: 0..1, loss, gradients: true, curvature };
                let got = evaluator.evaluate(&population, &request).unwrap();
                let size = 2 * data.feature_count();
                for member in 0..members {
                    let objective = Objective { k: population.k[member], loss };
                    let theta = population.member(member);
                    let wanted = objective::loss_and_gradient(&data, objective, theta, 0..positions);
                    worst_loss = worst_loss.max((got.losses[member] - wanted.loss).abs());
                    let gradient = &got.gradients[member * size..][..size];
                    worst_gradient = worst_gradient.max(relative_difference(gradient, &wanted.gradient));
                    if curvature {
                        let matrix = objective::gauss_newton_matrix(&data, objective, theta, 0..positions);
                        let mine = &got.curvatures[member * size * size..][..size * size];
                        worst_matrix = worst_matrix.max(relative_difference(mine, &matrix));
                    }
                }
                let alone = Request { gradients: false, curvature: false, ..request };
                let again = evaluator.evaluate(&population, &alone).unwrap();
                assert_eq!(again.losses, got.losses, "losses do not depend on what else is asked for");
                assert!(again.gradients.is_empty() && again.curvatures.is_empty());
            }
        }
    }
    eprintln!("worst: loss {worst_loss:.1e}, gradient {worst_gradient:.1e}, matrix {worst_matrix:.1e}");
    // The bounds leave a factor of about three to what was measured.
    assert!(worst_loss < 1e-6, "{worst_loss:e}");
    assert!(worst_gradient < 3e-6, "{worst_gradient:e}");
    assert!(worst_matrix < 3e-6, "{worst_matrix:e}");
}

#[test]
fn scores_of_whole_numbers_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [FeatureKind::Pst, FeatureKind::Material] {
        let data = common::random_dataset(&folder.path().join("d.bin"), kind, 3000, 3);
        let theta = common::random_theta(&data.metadata.feature_set, true, 1);
        let layout = Layout::whole(&data).unwrap();
        let rows = layout.rows.clone();
        let scores = CpuEvaluator::new(&layout).scores(&theta).unwrap();
        for (position, &n) in rows.iter().enumerate() {
            // In phase units everything is a whole number; one product remains.
            let units = (objective::score(&data, &theta, n as usize) * 24.0).round() as f32;
            assert_eq!(scores[position], units * (1.0 / 24.0f32), "position {n}");
        }
    }
}

#[test]
fn parts_and_weights_count_as_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let data = common::weighted_dataset(&path, 4000, 8);
    let split = Split::try_new(&data, 0.25, 2, 5).unwrap();
    let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    for members in [1, 40] {
        let population = population(&data, members, false);
        for parts in [0..1, 1..2, 0..2, 2..3, 0..3] {
            let request =
                Request { parts: parts.clone(), loss: LossKind::Squared, gradients: true, curvature: false };
            let got = evaluator.evaluate(&population, &request).unwrap();
            let which: Vec<usize> = (0..data.len()).filter(|&n| parts.contains(&split.part_of(n))).collect();
            assert_eq!(got.positions, which.len());
            let objective = Objective { k: population.k[0], loss: LossKind::Squared };
            let wanted = objective::loss_and_gradient(&data, objective, population.member(0), which);
            assert!((got.losses[0] - wanted.loss).abs() < 1e-6);
            let gradient = &got.gradients[..2 * data.feature_count()];
            assert!(relative_difference(gradient, &wanted.gradient) < 3e-6);
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let folder = tempfile::tempdir().unwrap();
    let data = common::random_dataset(&folder.path().join("d.bin"), FeatureKind::Pst, 60_000, 4);
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let population = population(&data, 34, false);
    let single = Population::single(population.member(0), 0.8);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    let matrix = Request { curvature: true, ..request.clone() };
    let mut results = Vec::new();
    for threads in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        results.push(pool.install(|| {
            (
                evaluator.evaluate(&population, &request).unwrap(),
                evaluator.evaluate(&single, &matrix).unwrap(),
            )
        }));
    }
    for other in &results[1..] {
        assert_eq!(*other, results[0]);
    }
}

#[test]
fn mistakes_are_refused_and_broken_numbers_show() {
    let folder = tempfile::tempdir().unwrap();
    let data = common::random_dataset(&folder.path().join("d.bin"), FeatureKind::Material, 100, 4);
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    assert!(evaluator.evaluate(&Population::single(&[0.0; 768], 1.0), &request).is_err());
    let nowhere = Request { parts: 1..2, ..request.clone() };
    assert!(evaluator.evaluate(&Population::single(&[0.0; 12], 1.0), &nowhere).is_err());
    let mut theta = [100.0; 12];
    theta[2] = f64::NAN;
    let got = evaluator.evaluate(&Population::single(&theta, 1.0), &request).unwrap();
    assert!(!got.losses[0].is_finite());
}
