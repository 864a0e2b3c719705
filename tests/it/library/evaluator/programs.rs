//! The kernels of evaluations with a program against the f64 reference: every operator, sums of sides and of both,
//! shared parameters, adjustments and factors, with every option of populations.

use crate::common::prelude::*;

const FEATURES: u16 = 24;

fn input(accumulator: usize, phase: Phase) -> Input {
    Input { accumulator, phase }
}

fn term(target: Phase, from: Input, operator: Operator, divide: f64) -> Term {
    Term {
        into: None,
        steps: 1.0,
        target,
        input: from,
        operator,
        times: None,
        scale: -1.0,
        shift: 0.0,
        over: None,
        divide,
    }
}

fn accumulator(name: &str, sides: bool, features: std::ops::Range<u16>) -> Accumulator {
    Accumulator { name: name.to_string(), sides, features: features.collect() }
}

/// Creates a program with one of everything.
fn program(target: FactorTarget) -> Program {
    use Phase::{Eg, Mg};
    let table = Operator::Table(vec![[-1.0, 5.0], [0.0, -7.0], [2.0, 30.0]]);
    Program {
        accumulators: vec![
            accumulator("danger", true, 8..14),
            // Shares parameters with the linear part and with danger.
            accumulator("space", true, 2..10),
            accumulator("complexity", false, 14..17),
            accumulator("scale", true, 17..20),
            accumulator("cap", true, 20..22),
            accumulator("pressure", true, 22..24),
        ],
        terms: vec![
            term(Mg, input(0, Mg), Operator::Relu2, 200.0),
            Term { over: Some(3.0), ..term(Eg, input(0, Eg), Operator::Relu, 4.0) },
            Term { shift: 4.0, scale: 60.0, ..term(Mg, input(1, Eg), Operator::Sigmoid, 32.0) },
            Term { times: Some(input(1, Mg)), ..term(Eg, input(0, Mg), Operator::Identity, 90.0) },
            term(Eg, input(1, Mg), Operator::Square, 300.0),
            term(Mg, input(0, Eg), table, 30.0),
            // Into sums: a function of a function, a product of three, and the sum of a factor.
            Term { into: Some(5), ..term(Mg, input(0, Mg), Operator::Relu, 4.0) },
            Term {
                into: Some(5),
                times: Some(input(0, Eg)),
                ..term(Eg, input(1, Eg), Operator::Identity, 200.0)
            },
            Term { into: Some(4), ..term(Eg, input(0, Eg), Operator::Sigmoid, 32.0) },
            term(Mg, input(5, Mg), Operator::Relu2, 300.0),
            Term { times: Some(input(1, Mg)), ..term(Eg, input(5, Eg), Operator::Identity, 60.0) },
        ],
        adjustments: vec![
            Adjustment { target: Mg, by: input(2, Mg), at_most: Some(5.0) },
            Adjustment { target: Eg, by: input(2, Eg), at_most: None },
        ],
        factor: Some(Factor { target, by: vec![input(3, Eg), input(4, Eg)], min: 0.0, max: 64.0, one: 64.0 }),
    }
}

fn dataset(folder: &Path, positions: usize, target: FactorTarget) -> Dataset {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(positions as u64);
    let names = (0..FEATURES).map(|i| Feature { name: format!("f{i}"), group: "g".to_string() });
    let parameters = vec![ImportedParameter::default(); usize::from(FEATURES)];
    let imported = Imported::new(4, parameters);
    let program = program(target);
    let compiled = CompiledProgram::try_new(program.clone(), usize::from(FEATURES)).unwrap();
    let set =
        FeatureSet::try_imported_program(names.collect(), PhaseSettings::default(), imported, Some(program));
    let path = folder.join("program.bin");
    let mut writer = DatasetWriter::create(&path, Metadata::new(set.unwrap()), true).unwrap();
    for n in 0..positions {
        let mut ids = Vec::new();
        for slot in 0..compiled.slots() {
            let columns = compiled.slot_columns(slot);
            // Gates are closed occasionally.
            let share = if rng.random_range(0..4) == 0 { 0.0 } else { 0.5 };
            ids.extend(columns.filter(|_| rng.random_bool(share)).map(|column| column as u16));
        }
        let coefficients: Vec<f32> = ids.iter().map(|_| rng.random_range(-2.0f32..3.0)).collect();
        let position = ImportedPosition {
            ids: &ids,
            coefficients: &coefficients,
            phase: rng.random_range(0..=24),
            scale: rng.random_range(2..=4),
            offset_cp: rng.random_range(-30.0..30.0),
            evaluation_cp: None,
            labels: PositionLabels {
                result: [0.0, 0.5, 1.0][rng.random_range(0..3)],
                score_cp: (n % 3 != 1).then(|| rng.random_range(-300.0..300.0)),
                weight: rng.random_range(0.5..2.0),
                game: Some(n as u32 / 4),
            },
            board: Default::default(),
        };
        writer.push_imported(&position).unwrap();
    }
    writer.finish(Vec::new(), []).unwrap();
    gputexel::dataset::read(&path).unwrap()
}

/// Draws θ with sums of the size that makes all parts of the program matter.
fn theta(rng: &mut Xoshiro256PlusPlus) -> Vec<f64> {
    let value = |f: u16, rng: &mut Xoshiro256PlusPlus| match f {
        17..22 => rng.random_range(0.0..40.0),
        _ => rng.random_range(-30.0..60.0),
    };
    (0..2).flat_map(|_| 0..FEATURES).map(|f| value(f, rng)).collect()
}

fn close(got: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    let largest = wanted.iter().fold(1e-12f64, |a, b| a.max(b.abs()));
    for (i, (a, b)) in got.iter().zip(wanted).enumerate() {
        assert!((a - b).abs() <= tolerance * largest, "{what}, {i}: {a} {b}");
    }
}

#[test]
fn one_member_is_exact_and_many_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (positions, target) in [(1, FactorTarget::Eg), (700, FactorTarget::Score), (2600, FactorTarget::Eg)] {
        let data = dataset(folder.path(), positions, target);
        let layout = Layout::whole(&data).unwrap();
        let rng = &mut Xoshiro256PlusPlus::seed_from_u64(9);
        for (set, loss) in InstructionSet::available()
            .into_iter()
            .zip([LossKind::Squared, LossKind::CrossEntropy, LossKind::Power(2.5)].into_iter().cycle())
        {
            let mut evaluator = CpuEvaluator::with_instruction_set(&layout, set);
            for members in [1, 3, 16, 21] {
                let parameters: Vec<f64> = (0..members).flat_map(|_| theta(rng)).collect();
                let k = (0..members).map(|m| 0.6 + 0.02 * m as f64).collect();
                let population = Population::new(usize::from(FEATURES), parameters, k);
                let curvature = members == 1 && loss != LossKind::Power(2.5);
                let request = Request { parts: 0..1, loss, gradients: true, curvature };
                let got = evaluator.evaluate(&population, &request).unwrap();
                for member in 0..members {
                    // f32 lanes may be on the other side of a kink; a single member never is.
                    let (exact, tolerance) = if members <= 3 { (1e-12, 1e-11) } else { (1e-5, 2e-3) };
                    let objective = Objective { k: population.k[member], loss };
                    let theta = population.member(member);
                    let wanted = objective::loss_and_gradient(&data, objective, theta, 0..data.len());
                    let what = format!("{set:?}, {loss}, {positions} positions, {members} members");
                    close(&got.losses[member..=member], &[wanted.loss], exact, &what);
                    let size = theta.len();
                    close(&got.gradients[size * member..][..size], &wanted.gradient, tolerance, &what);
                    if curvature {
                        let matrix = objective::gauss_newton_matrix(&data, objective, theta, 0..data.len());
                        close(&got.curvatures, &matrix, 1e-11, &what);
                    }
                }
                let scores = evaluator.scores(population.member(0)).unwrap();
                for (&row, score) in layout.rows().iter().zip(scores) {
                    let wanted = objective::score(&data, population.member(0), row as usize);
                    assert!((f64::from(score) - wanted).abs() <= 1e-6 * wanted.abs().max(1.0));
                }
            }
        }
    }
}

#[test]
fn members_with_different_options_match_separate_runs() {
    let folder = tempfile::tempdir().unwrap();
    let data = dataset(folder.path(), 900, FactorTarget::Eg);
    let parts = 3;
    let layout = Layout::try_new(&data, parts, |n| n % parts).unwrap();
    let layout = layout.with_search_scores(&data, 1.0).unwrap();
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(10);
    let members = 20;
    let plain = Population::new(
        usize::from(FEATURES),
        (0..members).flat_map(|_| theta(rng)).collect(),
        (0..members).map(|m| 0.7 + 0.01 * m as f64).collect(),
    );
    let part_weights: Vec<f32> = (0..members * parts).map(|i| [1.0, 0.0, 2.5][(i + i / 3) % 3]).collect();
    let blends: Vec<f32> = (0..members).map(|m| m as f32 / members as f32).collect();
    let resamples: Vec<u32> = (0..members as u32).collect();
    let all = Population { part_weights, blends, resamples, ..plain };
    let shared = Population { parameters: all.member(4).to_vec(), ..all.clone() };
    let mut evaluator = CpuEvaluator::new(&layout);
    for population in [all, shared] {
        for gradients in [false, true] {
            let request = Request { parts: 0..parts, loss: LossKind::Squared, gradients, curvature: false };
            let many = evaluator.evaluate(&population, &request).unwrap();
            for member in 0..members {
                let one = Population {
                    features: population.features,
                    parameters: population.member(member).to_vec(),
                    k: vec![population.k[member]],
                    part_weights: population.part_weights[member * parts..][..parts].to_vec(),
                    blends: vec![population.blends[member]],
                    resamples: vec![population.resamples[member]],
                };
                let alone = evaluator.evaluate(&one, &request).unwrap();
                close(&many.losses[member..=member], &alone.losses, 1e-5, "loss");
                close(&many.part_losses[member * parts..][..parts], &alone.part_losses, 1e-5, "parts");
                if gradients {
                    let size = 2 * usize::from(FEATURES);
                    close(&many.gradients[size * member..][..size], &alone.gradients, 2e-3, "gradient");
                }
                // The definition: weights of parts and games, blended targets.
                let (mut sum, mut total) = (0.0, 0.0);
                let x = objective::x_per_cp(one.k[0]);
                for (at, &row) in layout.rows().iter().enumerate() {
                    let weight = f64::from(data.row(row as usize).weight)
                        * f64::from(poisson_weight(layout.game(at), one.resamples[0]))
                        * f64::from(one.part_weights[row as usize % parts]);
                    let (y, search) = (layout.targets()[at], layout.search()[at]);
                    let y = f64::from(y + one.blends[0] * (search - y));
                    let score = objective::score(&data, &one.parameters, row as usize);
                    sum += weight * LossKind::Squared.value(x * score, y);
                    total += weight;
                }
                close(&alone.losses, &[sum / total], 1e-7, "definition");
            }
        }
    }
}

#[test]
fn nonfinite_members_do_not_affect_others() {
    let folder = tempfile::tempdir().unwrap();
    let data = dataset(folder.path(), 50, FactorTarget::Eg);
    let layout = Layout::whole(&data).unwrap();
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(11);
    let mut parameters: Vec<f64> = (0..16).flat_map(|_| theta(rng)).collect();
    parameters[3] = f64::NAN;
    let population = Population::new(usize::from(FEATURES), parameters, vec![0.8; 16]);
    let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: true, curvature: false };
    let got = CpuEvaluator::new(&layout).evaluate(&population, &request).unwrap();
    assert!(got.losses[0].is_nan() && got.losses[1..].iter().all(|loss| loss.is_finite()));
    let size = 2 * usize::from(FEATURES);
    assert!(got.gradients[size..].iter().all(|slope| slope.is_finite()));
}
