//! Constraints: the end of a run satisfies the optimality conditions.

use crate::common::prelude::*;
use gputexel::run::{BasisSettings, OptimizerChoice, Tuned};
use gputexel::tuning::space_of;
use gputexel::{Tuner, TunerSettings};

const K: f64 = 0.8;
const L2: f64 = 1e-3;
/// Tolerance of gradients in f64, as a share of the largest.
const TOLERANCE: f64 = 1e-6;
const TUNED: [&str; 6] =
    ["knight_mobility", "bishop_pawns", "rook_file", "doubled", "bishop_pair", "passed_own_king"];

fn data(folder: &Path) -> Dataset {
    random_dataset(&folder.join("d.bin"), FeatureKind::Classical, 4000, 11)
}

/// Constraints with all groups frozen except [`TUNED`].
fn settings(set: &FeatureSet, list: &[(ConstraintKind, &str)]) -> BasisSettings {
    let mut freeze: Vec<String> = set.features.iter().map(|feature| feature.group.clone()).collect();
    freeze.dedup();
    freeze.retain(|group| !TUNED.contains(&group.as_str()));
    BasisSettings { freeze, constraints: constraints(list), ..BasisSettings::default() }
}

fn constraints(list: &[(ConstraintKind, &str)]) -> Vec<Constraint> {
    list.iter().map(|&(kind, name)| Constraint { kind, name: name.to_string() }).collect()
}

/// Returns the middlegame and endgame values of a group.
fn lines<'t>(set: &FeatureSet, theta: &'t [f64], group: &str) -> [&'t [f64]; 2] {
    let count = set.features.len();
    let first = set.features.iter().position(|feature| feature.group == group).unwrap();
    let size = set.features.iter().filter(|feature| feature.group == group).count();
    [0, count].map(|phase| &theta[phase + first..][..size])
}

/// Creates a run on the data.
fn tuner(data: &Dataset, basis: BasisSettings) -> Tuner<'_> {
    Tuner::new(data, TunerSettings { k: Some(K), l2: vec![L2], basis, ..TunerSettings::default() })
}

/// Returns loss and gradient of z in f64.
fn exactly(data: &Dataset, basis: &Parameterization, z: &[f64], prior: &[f64]) -> Evaluations {
    let objective = Objective { k: K, loss: LossKind::Squared };
    let theta = basis.theta(z);
    let found = objective::loss_and_gradient(data, objective, &theta, 0..data.len());
    let mut answer =
        Evaluations { losses: vec![found.loss], gradients: found.gradient, ..Evaluations::default() };
    Regularization::new(prior, L2, &[]).add(&mut answer, &theta);
    answer.gradients = basis.pull_gradients(&answer.gradients);
    answer
}

/// Returns the optimum near the end of a run, by Gauss–Newton steps with losses and gradients in f64.
fn optimum(data: &Dataset, tuned: &Tuned) -> (Parameterization, Vec<f64>) {
    let basis = tuned.config().basis.clone().unwrap().with_start(&tuned.outcome.z);
    let prior = &tuned.config().prior_theta;
    let layout = Layout::whole(data).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let settings = GaussNewtonSettings::default();
    let mut method = GaussNewton::try_new(&space_of(&basis), settings).unwrap();
    for _ in 0..200 {
        if method.converged() {
            break;
        }
        let ask = method.ask();
        let mut answer = exactly(data, &basis, &ask.parameters, prior);
        if ask.curvature {
            let theta = basis.theta(&ask.parameters);
            let request = Request { parts: 0..1, loss: LossKind::Squared, gradients: false, curvature: true };
            let mut matrix = evaluator.evaluate(&Population::single(&theta, K), &request).unwrap();
            Regularization::new(prior, L2, &[]).add(&mut matrix, &theta);
            answer.curvatures = basis.pull_matrices(matrix.curvatures);
        }
        method.tell(&answer).unwrap();
    }
    (basis, method.best().parameters)
}

#[test]
fn run_satisfies_optimality_conditions() {
    use ConstraintKind::{Negative, Positive};
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let set = &data.metadata().feature_set;
    let list = [
        (Positive, "knight_mobility"),
        (Negative, "bishop_pawns"),
        (Positive, "rook_file"),
        (Negative, "doubled"),
        (Positive, "bishop_pair"),
    ];
    let tuned = tuner(&data, settings(set, &list)).run().unwrap();
    let has_signs = |theta: &[f64]| {
        (0..2).all(|phase| {
            let line = |group: &str| lines(set, theta, group)[phase];
            let at_least_0 = ["knight_mobility", "rook_file", "bishop_pair"].map(line);
            at_least_0.iter().copied().flatten().all(|&value| value >= 0.0)
                && line("bishop_pawns").iter().all(|&value| value <= 0.0)
                && line("doubled").iter().all(|&value| value <= 0.0)
        })
    };
    assert!(has_signs(tuned.parameters()));

    // The Karush–Kuhn–Tucker conditions, with exact gradients: 0 for a free coordinate, and pushing against its bound
    // for one at a bound.
    let (basis, z) = optimum(&data, &tuned);
    let apart = z.iter().zip(&tuned.outcome.z).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 0.1, "{apart} centipawns from the optimum");
    let gradient_at = |z: &[f64]| exactly(&data, &basis, z, &tuned.config().prior_theta).gradients;
    let gradient = gradient_at(&z);
    let theta = basis.theta(&z);
    assert!(has_signs(&theta));
    let start = vec![0.0; z.len()];
    let size = gradient_at(&start).iter().fold(0.0f64, |most, g| most.max(g.abs()));
    let (mut held, mut free) = (0, 0);
    for ((coordinate, z), gradient) in basis.coordinates.iter().zip(z).zip(&gradient) {
        let Coordinate { name, min, max, .. } = coordinate;
        match (*min == Some(z), *max == Some(z)) {
            (true, _) => assert!(*gradient > -TOLERANCE * size, "{name}: {gradient}"),
            (_, true) => assert!(*gradient < TOLERANCE * size, "{name}: {gradient}"),
            _ => assert!(gradient.abs() < TOLERANCE * size, "{name}: {gradient} {size}"),
        }
        match *min == Some(z) || *max == Some(z) {
            true => held += 1,
            false => free += 1,
        }
    }
    assert!(held > 10 && free > 10, "{held} {free}");

    // Without constraints the loss is smaller, and the values have other signs.
    let open = tuner(&data, settings(set, &[])).run().unwrap();
    assert!(open.loss.unwrap() < tuned.loss.unwrap());
    assert!(!has_signs(open.parameters()));
}

#[test]
fn inactive_constraints_change_nothing() {
    use ConstraintKind::{Negative, Positive};
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let set = &data.metadata().feature_set;
    // Strong signs in the prior, and a penalty that keeps the values near them.
    let mut prior = Prior::default().theta(set).unwrap();
    let count = set.features.len();
    for (id, feature) in set.features.iter().enumerate() {
        let value = match feature.group.as_str() {
            "doubled" => -60.0,
            "rook_file" | "bishop_pair" => 60.0,
            _ => continue,
        };
        (prior[id], prior[count + id]) = (value, value);
    }
    let path = folder.path().join("prior.json");
    std::fs::write(&path, ParameterFile::new(set, &prior, None, None).to_json()).unwrap();
    let list = [(Positive, "rook_file"), (Negative, "doubled"), (Positive, "bishop_pair")];
    let run = |list: &[(ConstraintKind, &str)]| {
        let prior = Prior::File(path.clone());
        // It ends so near the optimum that both searches in f64 end at the same point.
        let method = GaussNewtonSettings::default();
        let given = TunerSettings {
            k: Some(K),
            l2: vec![L2],
            optimizer: OptimizerChoice::Given(OptimizerConfig::GaussNewton(method)),
            prior: Some(prior),
            basis: settings(set, list),
            ..TunerSettings::default()
        };
        Tuner::new(&data, given).run().unwrap()
    };
    let (held, open) = (run(&list), run(&[]));
    assert!(held.at_bounds().is_empty(), "{:?}", held.at_bounds());
    let most_apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(most_apart(open.parameters(), &prior) > 1.0, "the data is meant to move values");
    // As close as runs in f32 get, and in f64.
    assert!(most_apart(open.parameters(), held.parameters()) < 1e-3);
    let [open, held] = [open, held].map(|tuned| {
        let (basis, z) = optimum(&data, &tuned);
        basis.theta(&z)
    });
    let apart = most_apart(&open, &held);
    assert!(apart < 1e-6, "{apart}");
}
