//! Compares every CPU kernel with f64 on edge cases.

use std::path::Path;

use gputexel_chess::PhaseSettings;
use gputexel_dataset::objective::{self, LossKind};
use gputexel_dataset::{Dataset, DatasetWriter, ImportedPosition, Layout, Metadata, PositionLabels};
use gputexel_model::{Feature, FeatureKind, FeatureRow, FeatureSet, Imported, ImportedParameter};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::cpu::{CpuEvaluator, InstructionSet};
use crate::reference::{Seen, each_position};
use crate::{Evaluator, Population, Request};

const LOSSES: [LossKind; 3] = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];

/// Draws the ids of a row: some at random, often the first and the last feature, sometimes none.
fn ids(rng: &mut Xoshiro256PlusPlus, features: u16, most: usize) -> Vec<u16> {
    let count = rng.random_range(0..=most);
    let id = |rng: &mut Xoshiro256PlusPlus| match rng.random_range(0..6) {
        0 => 0,
        1 => features - 1,
        _ => rng.random_range(0..features),
    };
    (0..count).map(|_| id(rng)).collect()
}

fn labels(rng: &mut Xoshiro256PlusPlus, n: usize, weighted: bool) -> PositionLabels {
    PositionLabels {
        result: [0.0, 0.5, 1.0][rng.random_range(0..3)],
        score_cp: (n % 3 != 1).then(|| rng.random_range(-300.0..300.0)),
        weight: if weighted { rng.random_range(0.5..2.0) } else { 1.0 },
        game: Some(n as u32 / 4),
    }
}

fn unit(folder: &Path, positions: usize, weighted: bool) -> Dataset {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(positions as u64);
    let set = FeatureSet::new(FeatureKind::Pst, PhaseSettings::default());
    let features = set.features.len() as u16;
    let path = folder.join("unit.bin");
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
    for n in 0..positions {
        let row = FeatureRow {
            plus: ids(&mut rng, features, 20),
            minus: ids(&mut rng, features, 20),
            coefficients: Vec::new(),
            phase: rng.random_range(0..=24),
        };
        writer.push(&row, labels(&mut rng, n, weighted)).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    gputexel_dataset::read(&path).unwrap()
}

/// Creates rows with coefficients, offsets and endgame scale factors. Half of them share a phase and a factor, so that
/// there are many of the same length in a bucket.
fn imported(folder: &Path, positions: usize, features: u16) -> Dataset {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(positions as u64 + 1);
    let names = (0..features).map(|i| Feature { name: format!("f{i}"), group: "g".to_string() });
    let parameters = vec![ImportedParameter::default(); usize::from(features)];
    let imported = Imported::new(4, parameters);
    let set = FeatureSet::try_imported(names.collect(), PhaseSettings::default(), imported).unwrap();
    let path = folder.join("imported.bin");
    let mut writer = DatasetWriter::create(&path, Metadata::new(set), true).unwrap();
    for n in 0..positions {
        let mut ids = ids(&mut rng, features, 12);
        ids.sort_unstable();
        ids.dedup();
        let coefficients: Vec<f32> = ids.iter().map(|_| rng.random_range(-3.0..3.0)).collect();
        let (phase, scale) = match n % 2 {
            0 => (17, 4),
            _ => (rng.random_range(0..=24), rng.random_range(0..=5)),
        };
        let position = ImportedPosition {
            ids: &ids,
            coefficients: &coefficients,
            phase,
            scale,
            offset_cp: rng.random_range(-30.0..30.0),
            evaluation_cp: None,
            labels: labels(&mut rng, n, true),
            board: Default::default(),
        };
        writer.push_imported(&position).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    gputexel_dataset::read(&path).unwrap()
}

fn population(features: usize, members: usize) -> Population {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(members as u64);
    let theta = (0..2 * features * members).map(|_| rng.random_range(-60.0..60.0)).collect();
    Population::new(features, theta, (0..members).map(|m| 0.6 + 0.01 * m as f64).collect())
}

fn variants(plain: &Population, parts: usize) -> Vec<Population> {
    let members = plain.members();
    let weighted = Population {
        part_weights: (0..members * parts).map(|i| [0.0, 1.0, 2.5][i % 3]).collect(),
        ..plain.clone()
    };
    let blended =
        Population { blends: (0..members).map(|m| (m % 5) as f32 / 4.0).collect(), ..plain.clone() };
    let resampled = Population { resamples: (0..members as u32).collect(), ..weighted.clone() };
    let shared = Population { parameters: plain.member(0).to_vec(), ..blended.clone() };
    vec![plain.clone(), weighted, blended, resampled, shared]
}

/// Computes the mean loss of a member over the parts of a request, and its gradient, position by position in f64;
/// `None` if no position counts.
fn wanted(
    data: &Dataset,
    layout: &Layout,
    population: &Population,
    member: usize,
    request: &Request,
) -> Option<(f64, Vec<f64>)> {
    let (theta, per_cp) = (population.member(member), objective::x_per_cp(population.k[member]));
    let (mut loss, mut weights, mut gradient) = (0.0, 0.0, vec![0.0; theta.len()]);
    each_position(data, layout, population, member, request.parts.clone(), |seen| {
        let Seen { x, y, slopes, .. } = *seen;
        let weight = seen.factor * seen.weight;
        loss += weight * request.loss.value(x, y);
        weights += weight;
        let outer = weight * request.loss.slope(x, y) * per_cp;
        slopes.iter().for_each(|&(parameter, slope)| gradient[parameter] += outer * slope);
    });
    gradient.iter_mut().for_each(|slope| *slope /= weights);
    (weights > 0.0).then_some((loss / weights, gradient))
}

/// Evaluates with every SIMD implementation, and compares losses and gradients of some members with f64.
fn check(data: &Dataset, parts: usize, members: usize) {
    let layout = Layout::try_new(data, parts, |n| n % parts).unwrap();
    let layout = layout.with_search_scores(data, 1.0).unwrap();
    let (features, plain) = (data.feature_count(), population(data.feature_count(), members));
    for (set, loss) in InstructionSet::available().into_iter().zip(LOSSES.into_iter().cycle()) {
        let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
        for (variant, population) in variants(&plain, parts).into_iter().enumerate() {
            for range in [0..parts, parts - 1..parts] {
                for gradients in [false, true] {
                    let curvature = gradients && members < 3 && features < 100;
                    let request = Request { parts: range.clone(), loss, gradients, curvature };
                    let got = evaluator.evaluate(&population, &request).unwrap();
                    assert_eq!(got.part_losses.len(), members * range.len());
                    let slopes = if gradients { 2 * features * members } else { 0 };
                    assert_eq!(got.gradients.len(), slopes);
                    assert!(got.gradients.iter().all(|g| !g.is_infinite()));
                    for member in [0, members / 2, members - 1] {
                        let what = format!("{} {loss}, variant {variant}, member {member}", set.name());
                        let mine = got.losses[member];
                        let Some((loss, gradient)) = wanted(data, &layout, &population, member, &request)
                        else {
                            assert!(mine.is_nan(), "{what}: {mine}");
                            continue;
                        };
                        assert!((mine - loss).abs() < 1e-5, "{what}: {mine} {loss}");
                        let largest = gradient.iter().fold(1e-12f64, |a, b| a.max(b.abs()));
                        let own = got.gradients.get(2 * features * member..).unwrap_or_default();
                        for (a, b) in own.iter().zip(&gradient) {
                            assert!((a - b).abs() < 1e-4 * largest, "{what}: {a} {b}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_without_coefficients() {
    let folder = tempfile::tempdir().unwrap();
    for (positions, members) in [(1, 1), (7, 3), (300, 33), (4200, 2), (600, 17), (9001, 19)] {
        for weighted in [false, true] {
            let data = unit(folder.path(), positions, weighted);
            check(&data, positions.min(2), members);
        }
    }
}

#[test]
fn rows_with_coefficients() {
    let folder = tempfile::tempdir().unwrap();
    for (positions, members, features) in [(1, 1, 1), (7, 2, 3), (500, 33, 31), (4200, 2, 64), (2000, 19, 64)]
    {
        let data = imported(folder.path(), positions, features);
        check(&data, positions.min(3), members);
    }
}

/// More features than the offsets of groups can address with wide rows, or with any.
#[test]
fn rows_of_many_features() {
    let folder = tempfile::tempdir().unwrap();
    for features in [4094, 4095, 4200, 9000] {
        check(&imported(folder.path(), 70, features), 2, 18);
    }
}

/// Shared scores, few of them distinct or nearly all, by part and with weighted parts.
#[test]
fn scores_that_all_members_share() {
    let folder = tempfile::tempdir().unwrap();
    let data = unit(folder.path(), 9001, false);
    let layout = Layout::try_new(&data, 3, |n| n % 3).unwrap();
    let (features, members) = (data.feature_count(), 150);
    let few: Vec<f64> = (0..2 * features).map(|i| 100.0 * ((i % features % 3) as f64 - 1.0)).collect();
    let many = (0..2 * features).map(|i| (i * 7919 % 1009) as f64 / 10.0 - 50.0).collect();
    for theta in [few, many] {
        let k = (0..members).map(|m| 0.2 + 0.02 * m as f64).collect();
        let plain = Population::new(features, theta, k);
        let part_weights = (0..3 * members).map(|i| [0.0, 1.0, 2.5, 0.5][i % 4]).collect();
        for population in [Population { part_weights, ..plain.clone() }, plain] {
            for (range, loss) in [(0..3, LOSSES[0]), (1..2, LOSSES[1]), (1..3, LOSSES[2])] {
                let request = Request { parts: range.clone(), loss, gradients: false, curvature: false };
                for set in InstructionSet::available() {
                    let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
                    let got = evaluator.evaluate(&population, &request).unwrap();
                    for member in [0, 1, 2, 3, members / 2, members - 1] {
                        let mine = got.losses[member];
                        match wanted(&data, &layout, &population, member, &request) {
                            Some((loss, _)) => {
                                let error = (mine - loss).abs() / loss;
                                assert!(error < 1e-6, "{} {request:?}, {member}: {mine} {loss}", set.name());
                            }
                            None => assert!(mine.is_nan(), "{mine}"),
                        }
                    }
                }
            }
        }
    }
}
