//! Constraints: what a run with them ends at, by the conditions that an optimum has.

use std::path::Path;

use crate::common::random_dataset;
use gputexel::dataset::Dataset;
use gputexel::model::{
    Constraint, ConstraintKind, Coordinate, FeatureKind, FeatureSet, ParameterFile, Parameterization, Prior,
};
use gputexel::objective::{self, LossKind, Objective};
use gputexel::run::{BasisSettings, Tuned};
use gputexel::{Sweep, Tuner};

const K: f64 = 0.8;
const TUNED: [&str; 6] =
    ["knight_mobility", "bishop_pawns", "rook_file", "doubled", "bishop_pair", "passed_own_king"];

fn data(folder: &Path) -> Dataset {
    random_dataset(&folder.join("d.bin"), FeatureKind::Classical, 4000, 11)
}

/// Constraints and all groups but those of [`TUNED`] frozen.
fn settings(set: &FeatureSet, list: &[(ConstraintKind, &str)]) -> BasisSettings {
    let mut freeze: Vec<String> = set.features.iter().map(|feature| feature.group.clone()).collect();
    freeze.dedup();
    freeze.retain(|group| !TUNED.contains(&group.as_str()));
    BasisSettings { freeze, constraints: constraints(list), ..BasisSettings::default() }
}

fn constraints(list: &[(ConstraintKind, &str)]) -> Vec<Constraint> {
    list.iter().map(|&(kind, name)| Constraint { kind, name: name.to_string() }).collect()
}

/// The middlegame and endgame values of a group.
fn lines<'t>(set: &FeatureSet, theta: &'t [f64], group: &str) -> [&'t [f64]; 2] {
    let count = set.features.len();
    let first = set.features.iter().position(|feature| feature.group == group).unwrap();
    let size = set.features.iter().filter(|feature| feature.group == group).count();
    [0, count].map(|phase| &theta[phase + first..][..size])
}

fn basis_of(tuned: &Tuned) -> Parameterization {
    tuned.config().basis.clone().unwrap()
}

#[test]
fn a_run_ends_where_no_direction_that_is_allowed_improves_the_loss() {
    use ConstraintKind::{Decreasing, Increasing, Negative, Positive};
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let set = &data.metadata().feature_set;
    let list = [
        (Increasing, "knight_mobility"),
        (Decreasing, "bishop_pawns"),
        (Increasing, "passed_own_king"),
        (Positive, "rook_file"),
        (Negative, "doubled"),
        (Positive, "bishop_pair"),
    ];
    let tuned = Tuner::builder(&data).k(K).basis(settings(set, &list)).run().unwrap();
    let theta = tuned.parameters();
    for phase in 0..2 {
        let line = |group: &str| lines(set, theta, group)[phase];
        assert!(line("knight_mobility").windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(line("bishop_pawns").windows(2).all(|pair| pair[0] >= pair[1]));
        assert!(line("passed_own_king")[..8].windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(line("passed_own_king")[8..].windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(line("rook_file").iter().chain(line("bishop_pair")).all(|&value| value >= 0.0));
        assert!(line("doubled").iter().all(|&value| value <= 0.0));
    }

    // The conditions of Karush, Kuhn and Tucker, with exact gradients: 0 where a coordinate is free, and
    // pushing against its bound where it is at one.
    let basis = basis_of(&tuned);
    let z = &tuned.outcome.z;
    let objective = Objective { k: K, loss: LossKind::Squared };
    let gradient_at = |z: &[f64]| {
        let found = objective::loss_and_gradient(&data, objective, &basis.theta(z), 0..data.len());
        basis.pull_gradients(&found.gradient)
    };
    let gradient = gradient_at(z);
    let size = gradient_at(&basis.start()).iter().fold(0.0f64, |most, g| most.max(g.abs()));
    let (mut held, mut free) = (0, 0);
    for ((coordinate, z), gradient) in basis.coordinates.iter().zip(z).zip(&gradient) {
        let Coordinate { name, min, max, .. } = coordinate;
        match (*min == Some(*z), *max == Some(*z)) {
            (true, _) => assert!(*gradient > -1e-5 * size, "{name}: {gradient}"),
            (_, true) => assert!(*gradient < 1e-5 * size, "{name}: {gradient}"),
            _ => assert!(gradient.abs() < 1e-5 * size, "{name}: {gradient}"),
        }
        match *min == Some(*z) || *max == Some(*z) {
            true => held += 1,
            false => free += 1,
        }
    }
    assert!(held > 10 && free > 10, "{held} {free}");

    // Without constraints the loss is smaller, and the values are not in order.
    let open = Tuner::builder(&data).k(K).basis(settings(set, &[])).run().unwrap();
    assert!(open.loss < tuned.loss);
    assert!(!lines(set, open.parameters(), "knight_mobility")[0].windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn constraints_that_hold_anyway_change_nothing() {
    use ConstraintKind::{Decreasing, Increasing, Negative, Positive};
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let set = &data.metadata().feature_set;
    // Steep lines and strong signs in the prior, and a penalty that keeps the values near them.
    let mut prior = Prior::default().theta(set).unwrap();
    let count = set.features.len();
    for (id, feature) in set.features.iter().enumerate() {
        let steep = 40.0 * id as f64 - 8.0 * count as f64;
        let value = match feature.group.as_str() {
            "knight_mobility" => steep,
            "bishop_pawns" => -steep,
            "doubled" => -60.0,
            "rook_file" | "bishop_pair" => 60.0,
            _ => continue,
        };
        (prior[id], prior[count + id]) = (value, value);
    }
    let path = folder.path().join("prior.json");
    std::fs::write(&path, ParameterFile::new(set, &prior, None, None).to_json()).unwrap();
    let list = [
        (Increasing, "knight_mobility"),
        (Decreasing, "bishop_pawns"),
        (Positive, "rook_file"),
        (Negative, "doubled"),
        (Positive, "bishop_pair"),
    ];
    let run = |list: &[(ConstraintKind, &str)]| {
        let prior = Prior::File(path.clone());
        Tuner::builder(&data).k(K).l2(1.0).prior(prior).basis(settings(set, list)).run().unwrap()
    };
    let (held, open) = (run(&list), run(&[]));
    assert!(held.at_bounds().is_empty(), "{:?}", held.at_bounds());
    let moved = open.parameters().iter().zip(&prior).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(moved > 0.1, "{moved}");
    let apart = held.parameters().iter().zip(open.parameters()).map(|(a, b)| (a - b).abs());
    let apart = apart.fold(0.0, f64::max);
    eprintln!("APART {apart} {moved} {}", held.loss - open.loss);
    assert!(apart < 1e-6 * moved.max(1.0), "{apart}");
}

#[test]
fn sweeps_hold_constraints() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    let set = &data.metadata().feature_set;
    let list = constraints(&[(ConstraintKind::Increasing, "knight_mobility")]);
    let frozen = settings(set, &[]).freeze;
    let sweep = || Sweep::builder(&data).k(K).axis("l2", "0,1e-3").freeze(&frozen).epochs(5);
    let config = sweep().constraints(&list).config().unwrap();
    let basis = config.basis.unwrap();
    assert!(basis.coordinates.iter().any(|c| c.name == "knight_mobility_1.mg - knight_mobility_0.mg"));
    let losses = |sweep: gputexel::sweep::SweepBuilder<'_>| {
        sweep.run().unwrap().ranking.iter().map(|row| row.training).collect::<Vec<f64>>()
    };
    let (held, open) = (losses(sweep().constraints(&list)), losses(sweep()));
    assert!(held.iter().zip(&open).all(|(held, open)| held != open), "{held:?} {open:?}");
}
