//! Per-member options of a population on the GPU: part weights, blended targets, resampled games, a shared θ. Against
//! f64, and against each other where the same sums can be computed in two ways.

use crate::common;
use crate::common::gpu::context;
use crate::common::prelude::*;
use crate::common::worsen;
use gputexel::dataset::{POISSON_TAILS, game_hash};

fn theta(data: &Dataset, members: usize) -> Vec<f64> {
    let set = &data.metadata().feature_set;
    let of = |member| common::random_theta(set, false, 7 + member as u64);
    (0..members).flat_map(of).map(|value| f64::from(value as f32)).collect()
}

/// Five parts, with search scores that differ from the results.
fn layout(data: &Dataset) -> Layout {
    let split = Split::try_new(data, 0.2, 4, 3).unwrap();
    let layout = Layout::try_new(data, split.parts(), |n| split.part_of(n)).unwrap();
    layout.with_search((0..data.len()).map(|n| (n % 11) as f32 / 10.0).collect()).unwrap()
}

/// Returns a population with a combination of the lists.
fn population(data: &Dataset, layout: &Layout, members: usize, lists: usize, shared: bool) -> Population {
    let all = 0..members;
    let parts = layout.parts().len();
    let k = all.clone().map(|m| 0.4 + 0.3 * m as f64 / members as f64).collect();
    let theta = theta(data, if shared { 1 } else { members });
    let mut population = Population::new(data.feature_count(), theta, k);
    if lists & 1 != 0 {
        let weight = |m: usize, p: usize| {
            if (m + p).is_multiple_of(parts) { 0.0 } else { 1.0 + (m * p % 3) as f32 / 2.0 }
        };
        population.part_weights = all.clone().flat_map(|m| (0..parts).map(move |p| weight(m, p))).collect();
    }
    if lists & 2 != 0 {
        population.blends = all.clone().map(|m| m as f32 / members as f32).collect();
    }
    if lists & 4 != 0 {
        population.resamples = all.map(|m| 0x9876_5432u32.wrapping_mul(m as u32 + 1)).collect();
    }
    population
}

#[test]
#[ignore = "full"]
fn every_list_matches_its_definition() {
    let Some(context) = context() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut worst = [0.0; 3];
    for kind in [FeatureKind::Pst, FeatureKind::Material, FeatureKind::Classical] {
        let data = match kind {
            FeatureKind::Pst => common::weighted_dataset(&folder.path().join("p.bin"), 700, 5),
            FeatureKind::Classical => common::random_dataset(&folder.path().join("c.bin"), kind, 200, 5),
            _ => common::random_dataset(&folder.path().join("m.bin"), kind, 700, 5),
        };
        let layout = layout(&data);
        let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
        for (members, shared) in [(1, false), (5, false), (34, true)] {
            for lists in 0..8 {
                // Rows with repeated ids are the new case in these sets, and their matrices are large.
                if kind == FeatureKind::Classical && (members > 1 || lists % 4 != 3) {
                    continue;
                }
                let population = population(&data, &layout, members, lists, shared);
                let losses = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];
                let (loss, parts) = (losses[lists % 3], [0..5, 1..4][lists % 2].clone());
                // One matrix of 768 x 768 per member is a lot to check; one of 12 x 12 is not.
                let curvature = kind == FeatureKind::Material || members == 1;
                let request = Request { parts, loss, gradients: true, curvature };
                for gradients in [true, false] {
                    // Once without gradients is enough for large matrices.
                    let curvature = curvature && (gradients || kind == FeatureKind::Material || lists == 7);
                    let request = Request { gradients, curvature, ..request.clone() };
                    let got = evaluator.evaluate(&population, &request).unwrap();
                    worsen(&mut worst, common::worst_errors(&data, &layout, &population, &request, &got));
                    let bound = worst[0] < 2e-6 && worst[1] < 1e-5 && worst[2] < 3e-6;
                    assert!(bound, "{members} {lists}: {worst:?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "full"]
fn games_count_exactly_as_often_as_on_the_host() {
    let Some(context) = context() else { return };
    let data = common::random_dataset(&scratch(), FeatureKind::Material, 4000, 9);
    // With θ = 0 a decided game loses ¼ and a drawn one nothing: sums are multiples of a quarter, and a part of two
    // positions shows how often each counts.
    let parts = 2000;
    let layout = Layout::try_new(&data, parts, |n| (n * 7 + n / parts) % parts).unwrap();
    let seeds: Vec<u32> = (0..9u32).map(|i| i.wrapping_mul(0x0123_4567) ^ i << 31).collect();
    // In each part, a decided game whose hash is just below or above a threshold under one of the seeds, and a drawn
    // one that counts.
    let mut close = Vec::new();
    for &seed in &seeds {
        let mut nearest = [[(u32::MAX, 0u32); 2]; POISSON_TAILS.len()];
        for game in 0..2_000_000 {
            let hash = game_hash(game, seed);
            for (nearest, tail) in nearest.iter_mut().zip(POISSON_TAILS) {
                let side = usize::from(hash >= tail);
                nearest[side] = nearest[side].min((hash.abs_diff(tail), game));
            }
        }
        close.extend(nearest.into_iter().flatten().map(|(_, game)| game));
    }
    let counts = |&game: &u32| seeds.iter().all(|&seed| poisson_weight(game, seed) > 0);
    let drawn = (0..).find(counts).unwrap();
    let (mut targets, mut games) = (layout.targets().to_vec(), vec![0; layout.positions()]);
    for (part, range) in layout.parts().iter().enumerate() {
        let [first, second] = [range.positions.start, range.positions.start + 1];
        assert_eq!(range.positions.end, second + 1);
        (targets[first], games[first]) = (1.0, close[part % close.len()]);
        (targets[second], games[second]) = (0.5, drawn);
    }
    let layout = layout.with_targets(targets).unwrap().with_games(games).unwrap();
    let mut population =
        Population::new(data.feature_count(), vec![0.0; 2 * data.feature_count()], vec![1.0; seeds.len()]);
    population.resamples = seeds.clone();
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    for gradients in [false, true] {
        let request = Request { parts: 0..parts, loss: LossKind::Squared, gradients, curvature: false };
        let got = evaluator.evaluate(&population, &request).unwrap();
        for (member, &seed) in seeds.iter().enumerate() {
            for (part, range) in layout.parts().iter().enumerate() {
                let (mut sum, mut weight) = (0.0, 0.0);
                for position in range.positions.clone() {
                    let count = f64::from(poisson_weight(layout.game(position), seed));
                    let decided = layout.targets()[position] != 0.5;
                    sum += count * if decided { 0.25 } else { 0.0 };
                    weight += count;
                }
                let found = got.part_losses[member * parts + part];
                let wanted = sum / weight;
                assert!(
                    found == wanted || found.is_nan() && wanted.is_nan(),
                    "{seed} {part}: {found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn shared_theta_equals_copies() {
    let Some(context) = context() else { return };
    let data = common::random_dataset(&scratch(), FeatureKind::Pst, 3000, 6);
    let layout = layout(&data);
    let mut evaluator = GpuEvaluator::try_new(context, &layout).unwrap();
    let shared = population(&data, &layout, 40, 7, true);
    let copies = Population { parameters: shared.parameters.repeat(40), ..shared.clone() };
    let request = Request { parts: 0..5, loss: LossKind::Squared, gradients: true, curvature: false };
    let before = evaluator.stats().unwrap().bytes_up;
    let first = evaluator.evaluate(&shared, &request).unwrap();
    let sent = evaluator.stats().unwrap().bytes_up - before;
    assert_eq!(evaluator.evaluate(&copies, &request).unwrap(), first);
    let alone = Request { gradients: false, ..request };
    assert_eq!(evaluator.evaluate(&shared, &alone).unwrap(), evaluator.evaluate(&copies, &alone).unwrap());
    // θ is uploaded once, not 40 times; the rest is the dataset.
    let mut again = evaluator.stats().unwrap().bytes_up;
    evaluator.evaluate(&shared, &alone).unwrap();
    again = evaluator.stats().unwrap().bytes_up - again;
    assert!(again < 20_000 && again < sent, "{again} bytes of {sent}");
}
