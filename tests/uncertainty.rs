//! Standard errors against brute force, and against what they promise: intervals that cover the
//! truth as often as they say.

mod common;

use std::path::Path;

use common::random_board;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use gputexel::chess::PhaseSettings;
use gputexel::dataset::{self, Dataset, DatasetWriter, Layout, Metadata, PositionLabels};
use gputexel::evaluator::cpu::CpuEvaluator;
use gputexel::evaluator::{Evaluator, Population, Request};
use gputexel::model::{Coordinate, FeatureKind, FeatureRow, FeatureSet, Parameterization};
use gputexel::objective::{self, LossKind, Objective, x_per_cp};
use gputexel::optimizer::{GaussNewton, GaussNewtonSettings, Optimizer};
use gputexel::tuning::{Curvature, Fit, Sandwich, Standing, regularize, sandwich};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const K: f64 = 0.8;

/// Games of `length` positions that look alike: each has a piece less than the one before. Every
/// position is written `copies` times.
fn games(path: &Path, kind: FeatureKind, count: usize, length: usize, copies: usize, seed: u64) -> Dataset {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let set = FeatureSet::new(kind, PhaseSettings::default());
    let mut writer = DatasetWriter::create(path, Metadata::new(set.clone()), true).unwrap();
    let mut row = FeatureRow::default();
    for game in 0..count {
        let mut board = random_board(&mut rng);
        let result = [0.0, 0.5, 1.0, 1.0][rng.random_range(0..4usize)];
        for n in 0..length {
            set.compute(&board, &mut row);
            let weight = 0.5 + ((game + n) % 5) as f32 / 4.0;
            for _ in 0..copies {
                let labels = PositionLabels { result, score_cp: None, weight, game: Some(game as u32) };
                writer.push(&row, labels).unwrap();
            }
            let removable: Vec<_> = (board.occupied() & !board.kings()).into_iter().collect();
            if !removable.is_empty() {
                board.discard_piece_at(removable[rng.random_range(0..removable.len())]);
            }
        }
    }
    writer.finish(Vec::new(), []).unwrap();
    dataset::read(path).unwrap()
}

/// The minimum of the first part's mean loss with regularisation, from `start`.
fn minimize(
    layout: &Layout,
    basis: &Parameterization,
    prior: &[f64],
    l2: f64,
    objective: Objective,
) -> Vec<f64> {
    let mut evaluator = CpuEvaluator::new(layout);
    let settings = GaussNewtonSettings { l2, ..GaussNewtonSettings::default() };
    let mut method = GaussNewton::try_new(&gputexel::tuning::space_of(basis), settings).unwrap();
    let mut last = f64::INFINITY;
    for _ in 0..100 {
        if method.converged() {
            break;
        }
        let ask = method.ask();
        let theta = basis.theta(&ask.parameters);
        let request =
            Request { parts: 0..1, loss: objective.loss, gradients: ask.gradients, curvature: ask.curvature };
        let mut answer = evaluator.evaluate(&Population::single(&theta, objective.k), &request).unwrap();
        regularize(&mut answer, &theta, prior, &ask.l2);
        answer.gradients = basis.pull_gradients(&answer.gradients);
        answer.curvatures = basis.pull_matrices(&answer.curvatures);
        method.tell(&answer).unwrap();
        if method.at_rest() {
            let loss = method.best().loss;
            if last - loss <= 1e-9 * loss {
                break;
            }
            last = loss;
        }
    }
    method.best().parameters
}

/// Errors of z and θ by the formula, with dense matrices and plain loops. `games`: whether
/// positions are clustered.
fn brute_force(data: &Dataset, which: &[usize], fit: &Fit<'_>, games: bool) -> (Vec<f64>, Vec<f64>) {
    let (features, basis) = (data.feature_count(), fit.parameterization);
    let (size, dimension) = (2 * features, basis.dimension());
    let factor = |i: usize, j: usize| match basis.is_identity() {
        true => f64::from(u8::from(i == j)),
        false => basis.columns[j].iter().filter(|c| c.0 as usize == i).map(|c| c.1).sum(),
    };
    let b = Mat::from_fn(size, dimension, factor);
    let theta = basis.theta(fit.z);
    let per_cp = x_per_cp(fit.objective.k);
    let mut a = Mat::<f64>::zeros(size, size);
    let mut clusters: std::collections::BTreeMap<u32, (Vec<f64>, f64)> = Default::default();
    let mut total = 0.0;
    for &n in which {
        let row = data.row(n);
        let phi = f64::from(row.phase) / f64::from(data.phase_max());
        let mut dx = vec![0.0; size];
        for (id, c) in row.entries() {
            dx[usize::from(id)] += f64::from(c) * phi * per_cp;
            dx[features + usize::from(id)] += f64::from(c) * (1.0 - phi) * per_cp;
        }
        let (w, y) = (f64::from(row.weight), f64::from(row.result));
        let x = per_cp * objective::score(data, &theta, n);
        let second = w * fit.objective.loss.second_derivative(x, y);
        let slope = w * fit.objective.loss.slope(x, y);
        let used: Vec<usize> = (0..size).filter(|&i| dx[i] != 0.0).collect();
        for &i in &used {
            for &j in &used {
                a[(i, j)] += second * dx[i] * dx[j];
            }
        }
        let key = if games { data.game(n) } else { n as u32 };
        let (u, weight) = clusters.entry(key).or_insert((vec![0.0; size], 0.0));
        used.iter().for_each(|&i| u[i] += slope * dx[i]);
        *weight += w;
        total += w;
    }
    let mut mean = vec![0.0; size];
    for (u, _) in clusters.values() {
        (0..size).for_each(|i| mean[i] += u[i] / total);
    }
    (0..size).for_each(|i| a[(i, i)] += total * 2.0 * fit.l2 / 1e4);
    let count = clusters.len();
    let u = Mat::from_fn(size, count, |i, g| {
        let (u, weight) = clusters.values().nth(g).unwrap();
        u[i] - weight * mean[i]
    });
    let pulled = b.transpose() * &a * &b;
    let free: Vec<usize> = (0..dimension).filter(|&i| pulled[(i, i)] != 0.0).collect();
    let inverse =
        Mat::from_fn(free.len(), free.len(), |i, j| pulled[(free[i], free[j])]).partial_piv_lu().inverse();
    let small = Mat::from_fn(size, free.len(), |i, j| b[(i, free[j])]);
    let influence = &inverse * (small.transpose() * &u);
    let g = count as f64;
    let spread = |m: &Mat<f64>, i: usize| {
        ((0..count).map(|c| m[(i, c)] * m[(i, c)]).sum::<f64>() * g / (g - 1.0)).sqrt()
    };
    let mut z = vec![0.0; dimension];
    free.iter().enumerate().for_each(|(i, &at)| z[at] = spread(&influence, i));
    let of_theta = &small * &influence;
    (z, (0..size).map(|i| spread(&of_theta, i)).collect())
}

/// mg tied to eg for pawn to queen, and the pawn's eg by itself.
fn tied(prior: &[f64]) -> Parameterization {
    let coordinate =
        |name: String, start: f64| Coordinate { name, start, min: None, max: None, integer: false };
    let mut coordinates: Vec<Coordinate> = (0..5).map(|i| coordinate(format!("c{i}"), 0.0)).collect();
    let mut columns: Vec<Vec<(u32, f64)>> = (0..5u32).map(|i| vec![(i, 1.0), (6 + i, 1.5)]).collect();
    coordinates.push(coordinate("pawn".to_string(), 0.0));
    columns.push(vec![(6, 1.0)]);
    Parameterization::try_new("tied", prior.to_vec(), coordinates, columns).unwrap()
}

fn assert_close(got: &[Option<f64>], wanted: &[f64], what: &str) -> usize {
    let mut compared = 0;
    for (i, (got, wanted)) in got.iter().zip(wanted).enumerate() {
        if let Some(got) = got {
            assert!((got - wanted).abs() <= 1e-6 * wanted, "{what}, parameter {i}: {got}, by force {wanted}");
            compared += 1;
        }
    }
    compared
}

#[test]
fn errors_are_those_of_the_formula() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let mut compared = 0;
    for (kind, count, length, l2, loss) in [
        (FeatureKind::Material, 120, 7, 0.0, LossKind::Squared),
        (FeatureKind::Material, 60, 9, 1e-3, LossKind::CrossEntropy),
        (FeatureKind::Material, 90, 8, 1e-2, LossKind::Power(2.5)),
        (FeatureKind::Pst, 40, 12, 1e-2, LossKind::Squared),
        (FeatureKind::Pst, 300, 2, 1e-3, LossKind::CrossEntropy),
    ] {
        let data = games(&path, kind, count, length, 1, 5);
        // A third of the games is held out.
        let held_out = |n: usize| data.game(n) % 3 == 0;
        let which: Vec<usize> = (0..data.len()).filter(|&n| !held_out(n)).collect();
        let prior = common::random_theta(&data.metadata.feature_set, false, 3);
        let objective = Objective { k: K / 3.0, loss };
        let bases = match kind {
            FeatureKind::Material => vec![Parameterization::identity(&prior), tied(&prior)],
            FeatureKind::Pst => vec![Parameterization::identity(&prior)],
        };
        for basis in &bases {
            for by_game in [true, false] {
                let mut layout = Layout::try_new(&data, 2, |n| usize::from(held_out(n))).unwrap();
                if !by_game {
                    layout.games.clear();
                }
                let z = minimize(&layout, basis, &prior, l2, objective);
                let fit = Fit {
                    layout: &layout,
                    parts: 0..1,
                    parameterization: basis,
                    z: &z,
                    prior: &prior,
                    l2,
                    objective,
                };
                let got = sandwich(&fit).unwrap();
                let what = format!("{kind:?} {loss} {} by game {by_game}", basis.name);
                assert_eq!(got.curvature, Curvature::SecondDerivatives, "{what}");
                assert_eq!((got.by_game, got.undetermined), (by_game, 0), "{what}");
                assert!(got.distance.iter().all(|&d| d < 0.02), "{what}: {:?}", got.distance);
                let (z_errors, theta_errors) = brute_force(&data, &which, &fit, by_game);
                compared += assert_close(&got.z, &z_errors, &what);
                compared += assert_close(&got.theta, &theta_errors, &what);
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}

fn material_fit(layout: &Layout, prior: &[f64], l2: f64) -> Sandwich {
    let basis = Parameterization::identity(prior);
    let objective = Objective { k: K / 3.0, loss: LossKind::Squared };
    let z = minimize(layout, &basis, prior, l2, objective);
    sandwich(&Fit { layout, parts: 0..1, parameterization: &basis, z: &z, prior, l2, objective }).unwrap()
}

#[test]
fn copies_of_a_game_s_positions_tell_nothing_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let errors = |copies: usize, by_game: bool| {
        let data = games(&path, FeatureKind::Material, 100, 6, copies, 9);
        let mut layout = Layout::whole(&data).unwrap();
        if !by_game {
            layout.games.clear();
        }
        let prior = common::random_theta(&data.metadata.feature_set, false, 3);
        material_fit(&layout, &prior, 0.0)
    };
    let (once, thrice) = (errors(1, true), errors(3, true));
    assert_eq!((once.clusters, thrice.clusters), (100, 100));
    let (alone, copied) = (errors(1, false), errors(3, false));
    assert_eq!((alone.clusters, copied.clusters), (600, 1800));
    let mut checked = 0;
    for i in 0..12 {
        if let (Some(a), Some(b)) = (once.z[i], thrice.z[i]) {
            assert!((a - b).abs() < 1e-3 * a, "{i}: {a} {b}");
            // As if they were news: smaller by √3, and by the factor G/(G − 1).
            let (c, d) = (alone.z[i].unwrap(), copied.z[i].unwrap());
            assert!((c / d / 3f64.sqrt() - 1.0).abs() < 2e-3, "{i}: {c} {d}");
            checked += 1;
        }
    }
    assert_eq!(checked, 10);
    let kings: Vec<Standing> = [5, 11].map(|i| once.standing[i]).into();
    assert_eq!(kings, [Standing::Unsupported; 2]);
    assert_eq!((once.z[5], once.theta[11]), (None, None));
}

#[test]
fn what_the_data_leave_open_has_no_part_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let data = games(&folder.path().join("d.bin"), FeatureKind::Pst, 1200, 8, 1, 21);
    let layout = Layout::whole(&data).unwrap();
    let prior = gputexel::model::Prior::default().theta(&data.metadata.feature_set).unwrap();
    let basis = Parameterization::identity(&prior);
    let objective = Objective { k: K, loss: LossKind::Squared };
    let errors = |z: &[f64], l2: f64| {
        let fit =
            Fit { layout: &layout, parts: 0..1, parameterization: &basis, z, prior: &prior, l2, objective };
        sandwich(&fit).unwrap()
    };
    // Both levels of the kings' tables are open; the pull toward the prior closes them.
    let here = errors(&prior, 0.0);
    assert_eq!(here.undetermined, 2);
    assert_eq!(errors(&prior, 1e-6).undetermined, 0);
    // A constant on all king squares, middlegame, is the same evaluation with the same errors.
    let mut shifted = prior.clone();
    shifted[320..384].iter_mut().for_each(|value| *value += 50.0);
    let there = errors(&shifted, 0.0);
    for (i, (a, b)) in here.z.iter().zip(&there.z).enumerate() {
        assert_eq!(a.is_some(), b.is_some());
        if let (Some(a), Some(b)) = (a, b) {
            assert!((a - b).abs() < 1e-5 * a, "{i}: {a} {b}");
        }
    }
    // Pawns on the first rank do not exist; the number of games that have a feature decides.
    assert_eq!(here.standing[0], Standing::Unsupported);
    assert_eq!(here.standing[28], Standing::Estimated);
    // The prior is no minimum, and the errors' distance shows it.
    assert!(here.distance.iter().any(|&d| d > 1.0));
}

#[test]
fn bounds_fix_a_coordinate_and_spare_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let data = games(&folder.path().join("d.bin"), FeatureKind::Material, 150, 6, 1, 4);
    let layout = Layout::whole(&data).unwrap();
    let prior = common::random_theta(&data.metadata.feature_set, false, 3);
    let objective = Objective { k: K / 3.0, loss: LossKind::Squared };
    let open = tied(&prior);
    let z = minimize(&layout, &open, &prior, 0.0, objective);
    let mut closed = open.clone();
    // The knight wants to go further than it may.
    let bound = z[1] / 2.0;
    let knight = &mut closed.coordinates[1];
    (knight.min, knight.max) = if bound > 0.0 { (None, Some(bound)) } else { (Some(bound), None) };
    let at = minimize(&layout, &closed, &prior, 0.0, objective);
    assert_eq!(at[1], bound);
    let fit = |basis, z| Fit {
        layout: &layout,
        parts: 0..1,
        parameterization: basis,
        z,
        prior: &prior,
        l2: 0.0,
        objective,
    };
    let got = sandwich(&fit(&closed, &at)).unwrap();
    assert_eq!((got.standing[1], got.z[1]), (Standing::AtBound, None));
    assert_eq!((got.theta[1], got.theta[7]), (None, None));
    // The same as in a basis without the knight.
    let mut base = prior.clone();
    (base[1], base[7]) = (prior[1] + bound, prior[7] + 1.5 * bound);
    let mut without = open.clone();
    without.base = base;
    without.coordinates.remove(1);
    without.columns.remove(1);
    let rest: Vec<f64> = [0, 2, 3, 4, 5].map(|i| at[i]).into();
    let wanted = sandwich(&fit(&without, &rest)).unwrap();
    for (i, j) in [0, 2, 3, 4, 5].into_iter().enumerate() {
        let (a, b) = (wanted.z[i].unwrap(), got.z[j].unwrap());
        assert!((a - b).abs() < 1e-9 * a, "{j}: {a} {b}");
    }
}

#[test]
fn nothing_depends_on_threads_and_bad_fits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = games(&folder.path().join("d.bin"), FeatureKind::Pst, 400, 5, 1, 8);
    let layout = Layout::whole(&data).unwrap();
    let prior = gputexel::model::Prior::default().theta(&data.metadata.feature_set).unwrap();
    let basis = Parameterization::identity(&prior);
    let good = Fit {
        layout: &layout,
        parts: 0..1,
        parameterization: &basis,
        z: &prior,
        prior: &prior,
        l2: 1e-3,
        objective: Objective { k: K, loss: LossKind::Squared },
    };
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sandwich(&good)).unwrap().z
    };
    assert_eq!(with_threads(1), with_threads(3));
    let message = |fit: &Fit<'_>| sandwich(fit).unwrap_err().to_string();
    let rough = Objective { k: K, loss: LossKind::Power(1.5) };
    assert!(message(&Fit { objective: rough, ..good.clone() }).contains("'power:1.5' has none"));
    assert!(message(&Fit { z: &prior[1..], ..good.clone() }).contains("768 finite numbers"));
    let few = games(&folder.path().join("f.bin"), FeatureKind::Pst, 9, 5, 1, 8);
    let few = Layout::whole(&few).unwrap();
    assert!(message(&Fit { layout: &few, ..good.clone() }).contains("9 games are too few"));
}

/// Shares of 95 % intervals that cover the truth, over many samples of results for the same
/// positions: with clusters by game, and with positions by themselves. Expected scores are right;
/// within a game the draw is shared where `shared`.
fn coverage(shared: bool, loss: LossKind) -> (f64, f64, usize) {
    const REPLICATIONS: usize = 500;
    let folder = tempfile::tempdir().unwrap();
    let data = games(&folder.path().join("d.bin"), FeatureKind::Material, 800, 6, 1, 31);
    let mut layout = Layout::whole(&data).unwrap();
    let truth = [18.0, 55.0, 62.0, 96.0, 190.0, 0.0, 30.0, 62.0, 58.0, 110.0, 170.0, 0.0];
    let objective = Objective { k: K, loss };
    let basis = Parameterization::identity(&truth);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2024);
    let expected: Vec<f64> = layout
        .rows
        .iter()
        .map(|&n| objective::expected_score(K, objective::score(&data, &truth, n as usize)))
        .collect();
    let (mut by_game, mut by_position, mut checks) = (0, 0, 0);
    let own_games = layout.games.clone();
    for replication in 0..REPLICATIONS {
        let draws: Vec<f64> = (0..800).map(|_| rng.random_range(0.0..1.0)).collect();
        for (n, &p) in expected.iter().enumerate() {
            let draw = if shared { draws[own_games[n] as usize] } else { rng.random_range(0.0..1.0) };
            // Half of the samples with draws: ½ with twice the smaller probability, so that the
            // mean stays p.
            let drawn = if replication % 2 == 0 { 0.0 } else { 0.6 * p.min(1.0 - p) };
            let win = p - drawn / 2.0;
            layout.targets[n] = if draw < win {
                1.0
            } else if draw < win + drawn {
                0.5
            } else {
                0.0
            };
        }
        layout.games.clone_from(&own_games);
        let z = minimize(&layout, &basis, &truth, 0.0, objective);
        let count = |layout: &Layout, covered: &mut usize| {
            let fit = Fit {
                layout,
                parts: 0..1,
                parameterization: &basis,
                z: &z,
                prior: &truth,
                l2: 0.0,
                objective,
            };
            let errors = sandwich(&fit).unwrap().z;
            let mut here = 0;
            for (i, error) in errors.into_iter().enumerate() {
                if let Some(error) = error {
                    here += 1;
                    *covered += usize::from((z[i] - truth[i]).abs() < 1.959_964 * error);
                }
            }
            here
        };
        checks += count(&layout, &mut by_game);
        layout.games.clear();
        count(&layout, &mut by_position);
    }
    (by_game as f64 / checks as f64, by_position as f64 / checks as f64, checks)
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for loss in [LossKind::Squared, LossKind::CrossEntropy] {
        let (by_game, by_position, checks) = coverage(false, loss);
        eprintln!(
            "{loss}, independent positions: {by_game:.4} by game, {by_position:.4} by position, {checks} checks"
        );
        assert!(checks >= 4000);
        assert!((0.93..=0.97).contains(&by_game), "{loss}: {by_game}");
        assert!((0.93..=0.97).contains(&by_position), "{loss}: {by_position}");
        let (by_game, by_position, _) = coverage(true, loss);
        eprintln!("{loss}, results shared by games: {by_game:.4} by game, {by_position:.4} by position");
        assert!((0.93..=0.97).contains(&by_game), "{loss}: {by_game}");
        // Errors that take a game's positions for independent news promise too much.
        assert!(by_position < 0.85, "{loss}: {by_position}");
    }
}
