//! Datasets of nonlinear evaluations.

use crate::common::prelude::*;
use gputexel::model::program::trial_program;

pub const FEATURES: usize = 14;

/// The program of [`program_dataset`]; the first feature also counts in the danger.
pub fn program() -> Program {
    trial_program([&[5, 6, 7, 0], &[8, 9], &[10, 11, 12], &[13, 7]])
}

/// θ from which the results of [`program_dataset`] are drawn.
pub fn program_theta() -> Vec<f64> {
    let mg = [30.0, 60.0, 25.0, 90.0, -20.0, 40.0, 30.0, -20.0, 0.0, 0.0, 0.0, 0.0, 0.0, 30.0];
    let eg = [35.0, 70.0, 30.0, 80.0, -10.0, 30.0, 20.0, -10.0, 12.0, -15.0, 40.0, 20.0, -15.0, 20.0];
    mg.into_iter().chain(eg).collect()
}

/// Writes a dataset of random rows, ten per game, to `path` and reads it back.
pub fn program_dataset(path: &Path, positions: usize, seed: u64) -> Dataset {
    program_dataset_from(path, positions, seed, &[0.0; 2 * FEATURES])
}

pub fn program_dataset_from(path: &Path, positions: usize, seed: u64, prior: &[f64]) -> Dataset {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(seed);
    let names = (0..FEATURES).map(|i| Feature {
        name: format!("f{i}"),
        group: ["plain", "nonlinear"][usize::from(i >= 5)].to_string(),
    });
    let starting =
        |f: usize| ImportedParameter { prior: [prior[f], prior[FEATURES + f]], ..Default::default() };
    let parameters = (0..FEATURES).map(starting).collect();
    let imported = Imported::new(1, parameters);
    let compiled = CompiledProgram::try_new(program(), FEATURES).unwrap();
    let set = FeatureSet::try_imported_program(
        names.collect(),
        PhaseSettings::default(),
        imported,
        Some(program()),
    )
    .unwrap();
    let write = |results: &[f32], rng: &mut Xoshiro256PlusPlus| {
        let mut writer = DatasetWriter::create(path, Metadata::new(set.clone()), true).unwrap();
        for n in 0..positions {
            let mut ids: Vec<u16> = (0..5).filter(|_| rng.random_bool(0.6)).collect();
            for slot in 1..compiled.slots() {
                let open = rng.random_bool(0.8);
                let columns = compiled.slot_columns(slot).filter(|_| rng.random_bool(0.7) && open);
                ids.extend(columns.map(|column| column as u16));
            }
            let coefficient = |id: u16, rng: &mut Xoshiro256PlusPlus| match usize::from(id) < FEATURES {
                true => f32::from([-2i8, -1, 1, 2][rng.random_range(0..4)]),
                false => f32::from([1i8, 1, 2, 3][rng.random_range(0..4)]),
            };
            let coefficients: Vec<f32> = ids.iter().map(|&id| coefficient(id, rng)).collect();
            let position = ImportedPosition {
                ids: &ids,
                coefficients: &coefficients,
                phase: rng.random_range(0..=24),
                scale: 1,
                offset_cp: 0.0,
                evaluation_cp: None,
                labels: PositionLabels {
                    result: results.get(n).copied().unwrap_or(0.5),
                    score_cp: None,
                    weight: 1.0,
                    game: Some(n as u32 / 10),
                },
                board: Default::default(),
            };
            writer.push_imported(&position).unwrap();
        }
        writer.finish(Vec::new(), []).unwrap();
        dataset::read(path).unwrap()
    };
    let rows = rng.clone();
    let unlabeled = write(&[], &mut rows.clone());
    let theta = program_theta();
    let results: Vec<f32> = (0..positions)
        .map(|n| {
            let expected = 1.0 / (1.0 + (-objective::score(&unlabeled, &theta, n) / 120.0).exp());
            let draw: f64 = rng.random_range(0.0..1.0);
            if draw < expected - 0.15 {
                1.0
            } else if draw > expected + 0.15 {
                0.0
            } else {
                0.5
            }
        })
        .collect();
    write(&results, &mut rows.clone())
}
