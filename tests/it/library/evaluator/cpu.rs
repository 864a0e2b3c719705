//! The CPU evaluator against the f64 reference, on every SIMD body of this processor.

use crate::common;
use crate::common::prelude::*;
use crate::common::{worsen, worst_errors, worst_errors_of};

fn population(data: &Dataset, members: usize, whole: bool) -> Population {
    let set = &data.metadata().feature_set;
    Population::new(
        data.feature_count(),
        (0..members).flat_map(|m| common::random_theta(set, whole, 77 + m as u64)).collect(),
        (0..members).map(|m| 0.7 + 0.3 * (m as f64 / 7.0).sin()).collect(),
    )
}

#[test]
fn losses_gradients_and_matrices_agree_with_the_reference() {
    // Rows of `classical` have repeated features. `full` has a program, whose evaluators have tests of their own.
    for kind in [FeatureKind::Pst, FeatureKind::Material, FeatureKind::Classical] {
        let mut worst = [0.0; 3];
        for (positions, members) in [(1, 1), (1, 33), (511, 3), (512, 16), (513, 34), (1025, 65), (4000, 35)]
        {
            let data = common::random_dataset(&scratch(), kind, positions, positions as u64);
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
                worsen(&mut worst, worst_errors(&data, &layout, &population, &request, &got));
                let alone = Request { gradients: false, curvature: false, ..request };
                let again = evaluator.evaluate(&population, &alone).unwrap();
                assert_eq!(again.losses, got.losses, "losses do not depend on what else is asked for");
                assert!(again.gradients.is_empty() && again.curvatures.is_empty());
            }
        }
        // The bounds leave a factor of about three above the measured errors. Rows of `classical` are four times as
        // long as others, and so are the scores of random parameters.
        let most = if kind == FeatureKind::Classical { 1.3e-5 } else { 3e-6 };
        assert!(worst[0] < 1e-6 && worst[1] < most && worst[2] < 3e-6, "{kind:?}: {worst:?}");
    }
}

#[test]
fn scores_of_whole_numbers_are_exact() {
    for kind in [FeatureKind::Pst, FeatureKind::Material, FeatureKind::Classical] {
        let data = common::random_dataset(&scratch(), kind, 3000, 3);
        let theta = common::random_theta(&data.metadata().feature_set, true, 1);
        let layout = Layout::whole(&data).unwrap();
        let rows = layout.rows();
        let scores = CpuEvaluator::new(&layout).scores(&theta).unwrap();
        for (position, &n) in rows.iter().enumerate() {
            // In phase units everything is an integer; one product remains.
            let units = (objective::score(&data, &theta, n as usize) * 24.0).round() as f32;
            assert_eq!(scores[position], units * (1.0 / 24.0f32), "position {n}");
        }
    }
}

#[test]
fn members_weight_positions_as_specified() {
    let folder = tempfile::tempdir().unwrap();
    let datasets = [
        common::weighted_dataset(&folder.path().join("a.bin"), 600, 8),
        common::random_dataset(&folder.path().join("b.bin"), FeatureKind::Material, 600, 9),
        common::random_dataset(&folder.path().join("c.bin"), FeatureKind::Pst, 600, 10),
    ];
    let losses = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
    let mut worst = [0.0; 3];
    for (data, loss) in datasets.iter().zip(losses) {
        let layout = Layout::try_new(data, 3, |n| (n / 10) % 3).unwrap();
        let search = layout.rows().iter().map(|&n| (n % 97) as f32 / 96.0).collect();
        let layout = layout.with_search(search).unwrap();
        // Every combination of part weights, blends, resamples and a common θ, for one-member
        // kernels, for one tile with padding, and for several tiles.
        for (options, members) in (0..16).flat_map(|options| [1, 2, 7, 35].map(|members| (options, members)))
        {
            let mut population = population(data, members, false);
            if options & 1 != 0 {
                population.part_weights =
                    (0..members).flat_map(|m| [(m % 3) as f32 / 2.0, 1.0, (m % 5) as f32]).collect();
            }
            if options & 2 != 0 {
                population.blends = (0..members).map(|m| (m % 4) as f32 / 3.0).collect();
            }
            if options & 4 != 0 {
                population.resamples = (0..members).map(|m| 3 * m as u32 + 1).collect();
            }
            if options & 8 != 0 {
                population.parameters.truncate(2 * data.feature_count());
            }
            let sets = InstructionSet::available();
            let set = sets[(options + members) % sets.len()];
            let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
            let request = Request { parts: 0..3, loss, gradients: true, curvature: members == 2 };
            for parts in [0..3, 1..3, 1..2] {
                let request = Request { parts: parts.clone(), ..request.clone() };
                let got = evaluator.evaluate(&population, &request).unwrap();
                assert_eq!(got.part_losses.len(), members * parts.len());
                let some = [0, members - 1, members / 2];
                let found = worst_errors_of(data, &layout, &population, &request, &got, |member| {
                    some.contains(&member)
                });
                worsen(&mut worst, found);
            }
        }
    }
    assert!(worst[0] < 1e-6 && worst[1] < 3e-6 && worst[2] < 3e-6, "{worst:?}");
}

#[test]
fn part_without_weight_has_no_loss() {
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 400, 4);
    // The second part is one game, which most bootstraps of 40 omit for some member.
    let layout = Layout::try_new(&data, 2, |n| usize::from(n < 10)).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    for members in [1, 40] {
        let mut population = population(&data, members, false);
        population.part_weights = [0.0, 1.0].repeat(members);
        population.resamples = (0..members as u32).collect();
        let request = Request { parts: 0..2, loss: LossKind::Squared, gradients: true, curvature: false };
        let got = evaluator.evaluate(&population, &request).unwrap();
        for member in 0..members {
            let drawn = poisson_weight(data.game(0), member as u32) > 0;
            assert!(got.part_losses[2 * member].is_finite());
            assert_eq!(got.part_losses[2 * member + 1].is_nan(), !drawn);
            assert_eq!(got.losses[member].is_nan(), !drawn);
            assert_eq!(got.gradients[member * 2 * layout.features()].is_nan(), !drawn);
        }
        assert_eq!((0..members as u32).any(|seed| poisson_weight(data.game(0), seed) == 0), members > 1);
        population.resamples.clear();
        population.part_weights.fill(0.0);
        let got = evaluator.evaluate(&population, &request).unwrap();
        assert!(got.losses.iter().all(|loss| loss.is_nan()));
        assert!(got.part_losses.iter().all(|loss| loss.is_finite()));
    }
}

#[test]
fn nonfinite_members_leave_others_unchanged() {
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 400, 4);
    let layout = Layout::whole(&data).unwrap();
    for set in InstructionSet::available() {
        let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
        let mut population = population(&data, 64, false);
        let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
        let whole = evaluator.evaluate(&population, &request).unwrap();
        let size = 2 * layout.features();
        population.parameters[3 * size..4 * size].fill(f64::NAN);
        population.parameters[20 * size..21 * size].fill(f64::INFINITY);
        let got = evaluator.evaluate(&population, &request).unwrap();
        for member in 0..64 {
            if member == 3 || member == 20 {
                assert!(!got.losses[member].is_finite(), "{} {member}", set.name());
            } else {
                assert_eq!(got.losses[member], whole.losses[member], "{} {member}", set.name());
                let range = member * size..(member + 1) * size;
                assert_eq!(got.gradients[range.clone()], whole.gradients[range]);
            }
        }
    }
}

#[test]
#[ignore = "full"]
fn threads_do_not_change_a_bit() {
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 60_000, 4);
    let layout = Layout::whole(&data).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let population = population(&data, 34, false);
    let single = Population::single(population.member(0), 0.8);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    let matrix = Request { curvature: true, ..request.clone() };
    let resampled = Population { resamples: (0..34).collect(), ..population.clone() };
    let mut sweep = population.clone();
    sweep.parameters.truncate(2 * layout.features());
    let mut results = Vec::new();
    for threads in [1, 2, 3, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        results.push(pool.install(|| {
            (
                evaluator.evaluate(&population, &request).unwrap(),
                evaluator.evaluate(&single, &matrix).unwrap(),
                evaluator.evaluate(&resampled, &request).unwrap(),
                evaluator.evaluate(&sweep, &request).unwrap(),
            )
        }));
    }
    for other in &results[1..] {
        assert_eq!(*other, results[0]);
    }
}

#[test]
fn kernel_inputs_are_validated() {
    for kind in [FeatureKind::Material, FeatureKind::Pst] {
        let data = common::random_dataset(&scratch(), kind, 100, 4);
        let layout = Layout::try_new(&data, 2, |n| n / 50).unwrap();
        let size = 2 * layout.features();
        let request = Request { parts: 0..2, loss: LossKind::Squared, gradients: true, curvature: false };
        for members in [1, 3, 40] {
            let sound = Population {
                part_weights: vec![1.0; 2 * members],
                resamples: vec![7; members],
                ..Population::new(layout.features(), vec![1.0; size * members], vec![1.0; members])
            };
            let mut evaluator = CpuEvaluator::new(&layout);
            evaluator.evaluate(&sound, &request).unwrap();
            type Break = fn(&mut Population);
            let ways: [Break; 16] = [
                |p| p.features += 1,
                |p| p.features -= 1,
                |p| p.features = 0,
                |p| p.features = usize::MAX,
                |p| drop(p.parameters.split_off(p.parameters.len() - 1)),
                |p| p.parameters.push(0.0),
                |p| p.parameters.clear(),
                |p| p.k.extend_from_slice(&[1.0; 2]),
                |p| p.k.clear(),
                |p| p.part_weights.push(1.0),
                |p| p.part_weights[0] = -1.0,
                |p| p.part_weights[0] = f32::NAN,
                |p| p.resamples.push(1),
                |p| p.blends = vec![0.5; p.k.len()],
                |p| p.blends = vec![0.0; p.k.len() + 1],
                |p| p.blends = vec![2.0; p.k.len()],
            ];
            for (i, way) in ways.into_iter().enumerate() {
                let mut broken = sound.clone();
                way(&mut broken);
                assert!(evaluator.evaluate(&broken, &request).is_err(), "{i}, {members} members");
            }
            #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
            for parts in [0..0, 2..2, 1..3, 2..3, 1..0, 0..usize::MAX, usize::MAX..0] {
                let nowhere = Request { parts, ..request.clone() };
                assert!(evaluator.evaluate(&sound, &nowhere).is_err(), "{nowhere:?}");
            }
        }
        let evaluator = CpuEvaluator::new(&layout);
        for length in [0, 1, size - 1, size + 1, 2 * size] {
            assert!(evaluator.scores(&vec![0.0; length]).is_err(), "{length}");
        }
        assert_eq!(evaluator.scores(&vec![0.0; size]).unwrap(), [0.0; 100]);
    }
}
