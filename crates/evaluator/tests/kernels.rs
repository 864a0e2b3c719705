//! Runs every CPU kernel on edge cases: rows that are empty, repeat features or contain the first and the
//! last one, and stripes of one position and of more than a flush. Small enough to run under a sanitizer
//! (`scripts/sanitize`), which finds errors that do not show in results.

use std::path::Path;

use gputexel_chess::PhaseSettings;
use gputexel_dataset::objective::{self, LossKind, Objective};
use gputexel_dataset::{Dataset, DatasetWriter, ImportedPosition, Layout, Metadata, PositionLabels};
use gputexel_evaluator::cpu::{CpuEvaluator, InstructionSet};
use gputexel_evaluator::{Evaluator, Population, Request};
use gputexel_model::{Feature, FeatureKind, FeatureRow, FeatureSet, Imported, ImportedParameter};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const LOSSES: [LossKind; 3] = [LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)];

/// Ids of a row: some at random, often the first and the last feature, sometimes none.
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

/// Rows without coefficients.
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

/// Rows with coefficients, offsets and endgame scale factors.
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
        let position = ImportedPosition {
            ids: &ids,
            coefficients: &coefficients,
            phase: rng.random_range(0..=24),
            scale: rng.random_range(0..=5),
            offset_cp: rng.random_range(-30.0..30.0),
            evaluation_cp: None,
            labels: labels(&mut rng, n, true),
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

/// The optional properties of populations, in every combination that kernels distinguish.
fn variants(plain: &Population, parts: usize) -> Vec<Population> {
    let members = plain.members();
    let weighted = Population {
        part_weights: (0..members * parts).map(|i| [0.0, 1.0, 2.5][i % 3]).collect(),
        ..plain.clone()
    };
    let blended = Population { blends: vec![0.3; members], ..plain.clone() };
    let resampled = Population { resamples: (0..members as u32).collect(), ..weighted.clone() };
    let shared = Population { parameters: plain.member(0).to_vec(), ..blended.clone() };
    vec![plain.clone(), weighted, blended, resampled, shared]
}

/// Evaluates with every SIMD implementation, and compares losses and gradients of plain populations with f64.
fn check(data: &Dataset, parts: usize, members: usize) {
    let layout = Layout::try_new(data, parts, |n| n % parts).unwrap();
    let layout = layout.with_search_scores(data, 1.0).unwrap();
    let (features, plain) = (data.feature_count(), population(data.feature_count(), members));
    for (set, loss) in InstructionSet::available().into_iter().zip(LOSSES.into_iter().cycle()) {
        let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
        for population in variants(&plain, parts) {
            for range in [0..parts, parts - 1..parts] {
                for gradients in [false, true] {
                    let curvature = gradients && members < 3 && features < 100;
                    let request = Request { parts: range.clone(), loss, gradients, curvature };
                    let got = evaluator.evaluate(&population, &request).unwrap();
                    assert_eq!(got.part_losses.len(), members * range.len());
                    assert!(got.gradients.iter().all(|g| !g.is_infinite()));
                }
            }
        }
        let request = Request { parts: 0..parts, loss, gradients: true, curvature: false };
        let got = evaluator.evaluate(&plain, &request).unwrap();
        for member in 0..members {
            let objective = Objective { k: plain.k[member], loss };
            let wanted = objective::loss_and_gradient(data, objective, plain.member(member), 0..data.len());
            assert!((got.losses[member] - wanted.loss).abs() < 1e-5, "{set:?} {loss}");
            let gradient = &got.gradients[2 * features * member..][..2 * features];
            let largest = wanted.gradient.iter().fold(1e-12f64, |a, b| a.max(b.abs()));
            for (a, b) in gradient.iter().zip(&wanted.gradient) {
                assert!((a - b).abs() < 1e-4 * largest, "{set:?} {loss}: {a} {b}");
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
    for (positions, members, features) in [(1, 1, 1), (7, 2, 3), (500, 33, 31), (4200, 2, 64)] {
        let data = imported(folder.path(), positions, features);
        check(&data, positions.min(3), members);
    }
}

/// More features than the offsets of groups can name with wide rows, or with any.
#[test]
fn rows_of_many_features() {
    let folder = tempfile::tempdir().unwrap();
    for features in [4094, 4095, 4200, 9000] {
        check(&imported(folder.path(), 70, features), 2, 18);
    }
}
