//! Standard errors against brute force, and bootstraps against optima.

use crate::common;
use crate::common::games::{K, games, minimize};
use crate::common::matrices::{Matrix, inverse, matrix, product, transposed};
use crate::common::prelude::*;
use gputexel::objective::x_per_cp;
use gputexel::tuning::{Bootstrap, ErrorStatus, bootstrap, resample_seeds, sandwich};

/// Returns errors of z and θ by the formula, with dense matrices and plain loops. `games`: true if positions are
/// clustered.
fn brute_force(data: &Dataset, which: &[usize], fit: &Fit<'_>, games: bool) -> (Vec<f64>, Vec<f64>) {
    let (features, basis) = (data.feature_count(), fit.parameterization);
    let (size, dimension) = (2 * features, basis.dimension());
    let factor = |i: usize, j: usize| match basis.is_identity() {
        true => f64::from(u8::from(i == j)),
        false => basis.columns[j].iter().filter(|c| c.0 as usize == i).map(|c| c.1).sum(),
    };
    let b = matrix(size, dimension, factor);
    let theta = basis.theta(fit.z);
    let per_cp = x_per_cp(fit.objective.k);
    let mut a = matrix(size, size, |_, _| 0.0);
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
                a[i][j] += second * dx[i] * dx[j];
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
    (0..size).for_each(|i| a[i][i] += total * 2.0 * fit.regularization.l2() / 1e4);
    let count = clusters.len();
    let clusters: Vec<(Vec<f64>, f64)> = clusters.into_values().collect();
    let u = matrix(size, count, |i, g| clusters[g].0[i] - clusters[g].1 * mean[i]);
    let pulled = product(&transposed(&b), &product(&a, &b));
    let free: Vec<usize> = (0..dimension).filter(|&i| pulled[i][i] != 0.0).collect();
    let inverse = inverse(&matrix(free.len(), free.len(), |i, j| pulled[free[i]][free[j]]));
    let small = matrix(size, free.len(), |i, j| b[i][free[j]]);
    let influence = product(&inverse, &product(&transposed(&small), &u));
    let g = count as f64;
    let spread =
        |m: &Matrix, i: usize| (m[i].iter().map(|value| value * value).sum::<f64>() * g / (g - 1.0)).sqrt();
    let mut z = vec![0.0; dimension];
    free.iter().enumerate().for_each(|(i, &at)| z[at] = spread(&influence, i));
    let of_theta = product(&small, &influence);
    (z, (0..size).map(|i| spread(&of_theta, i)).collect())
}

/// mg tied to eg for pawn to queen, and the pawn's eg untied.
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
#[ignore = "full"]
fn errors_match_the_formula() {
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
        let held_out = |n: usize| data.game(n).is_multiple_of(3);
        let which: Vec<usize> = (0..data.len()).filter(|&n| !held_out(n)).collect();
        let prior = common::random_theta(&data.metadata().feature_set, false, 3);
        let objective = Objective { k: K / 3.0, loss };
        let bases = match kind {
            FeatureKind::Material => vec![Parameterization::identity(&prior), tied(&prior)],
            _ => vec![Parameterization::identity(&prior)],
        };
        for basis in &bases {
            for by_game in [true, false] {
                let mut layout = Layout::try_new(&data, 2, |n| usize::from(held_out(n))).unwrap();
                if !by_game {
                    layout = layout.with_games(Vec::new()).unwrap();
                }
                let z = minimize(&layout, basis, &prior, l2, objective);
                let fit = fit_of(&layout, basis, &z, (&prior, l2), objective);
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

#[test]
fn copied_positions_add_no_information() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    let errors = |copies: usize, by_game: bool| {
        let data = games(&path, FeatureKind::Material, 100, 6, copies, 9);
        let mut layout = Layout::whole(&data).unwrap();
        if !by_game {
            layout = layout.with_games(Vec::new()).unwrap();
        }
        let prior = common::random_theta(&data.metadata().feature_set, false, 3);
        let (basis, objective) =
            (Parameterization::identity(&prior), Objective { k: K / 3.0, loss: LossKind::Squared });
        let z = minimize(&layout, &basis, &prior, 0.0, objective);
        sandwich(&fit_of(&layout, &basis, &z, (&prior, 0.0), objective)).unwrap()
    };
    let (once, thrice) = (errors(1, true), errors(3, true));
    assert_eq!((once.clusters, thrice.clusters), (100, 100));
    let (alone, copied) = (errors(1, false), errors(3, false));
    assert_eq!((alone.clusters, copied.clusters), (600, 1800));
    let mut checked = 0;
    for i in 0..12 {
        if let (Some(a), Some(b)) = (once.z[i], thrice.z[i]) {
            assert!((a - b).abs() < 1e-3 * a, "{i}: {a} {b}");
            // As if they were independent: smaller by √3, and by the factor G/(G − 1).
            let (c, d) = (alone.z[i].unwrap(), copied.z[i].unwrap());
            assert!((c / d / 3f64.sqrt() - 1.0).abs() < 2e-3, "{i}: {c} {d}");
            checked += 1;
        }
    }
    assert_eq!(checked, 10);
    let kings: Vec<ErrorStatus> = [5, 11].map(|i| once.standing[i]).into();
    assert_eq!(kings, [ErrorStatus::Unsupported; 2]);
    assert_eq!((once.z[5], once.theta[11]), (None, None));
}

#[test]
fn undetermined_directions_have_no_errors() {
    let data = games(&scratch(), FeatureKind::Pst, 1200, 8, 1, 21);
    let layout = Layout::whole(&data).unwrap();
    let prior = gputexel::model::Prior::default().theta(&data.metadata().feature_set).unwrap();
    let basis = Parameterization::identity(&prior);
    let objective = Objective { k: K, loss: LossKind::Squared };
    let errors = |z: &[f64], l2: f64| {
        let fit = fit_of(&layout, &basis, z, (&prior, l2), objective);
        sandwich(&fit).unwrap()
    };
    // Both levels of the kings' tables are undetermined; the pull toward the prior fixes them.
    let here = errors(&prior, 0.0);
    assert_eq!((here.undetermined, errors(&prior, 1e-6).undetermined), (2, 0));
    // A constant on all king squares in the middlegame gives the same evaluation with the same errors.
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
    assert_eq!((here.standing[0], here.standing[28]), (ErrorStatus::Unsupported, ErrorStatus::Estimated));
    // The prior is not a minimum, and the errors' distance shows it.
    assert!(here.distance.iter().any(|&d| d > 1.0));
}

#[test]
fn active_bounds_fix_only_their_coordinate() {
    let data = games(&scratch(), FeatureKind::Material, 150, 6, 1, 4);
    let layout = Layout::whole(&data).unwrap();
    let prior = common::random_theta(&data.metadata().feature_set, false, 3);
    let objective = Objective { k: K / 3.0, loss: LossKind::Squared };
    let open = tied(&prior);
    let z = minimize(&layout, &open, &prior, 0.0, objective);
    let mut closed = open.clone();
    // The knight's bound is active.
    let bound = z[1] / 2.0;
    let knight = &mut closed.coordinates[1];
    (knight.min, knight.max) = if bound > 0.0 { (None, Some(bound)) } else { (Some(bound), None) };
    let at = minimize(&layout, &closed, &prior, 0.0, objective);
    assert_eq!(at[1], bound);
    let fit = |basis, z| fit_of(&layout, basis, z, (&prior, 0.0), objective);
    let got = sandwich(&fit(&closed, &at)).unwrap();
    assert_eq!((got.standing[1], got.z[1]), (ErrorStatus::AtBound, None));
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
fn errors_do_not_depend_on_threads_and_bad_fits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = games(&folder.path().join("d.bin"), FeatureKind::Pst, 400, 5, 1, 8);
    let layout = Layout::whole(&data).unwrap();
    let prior = gputexel::model::Prior::default().theta(&data.metadata().feature_set).unwrap();
    let basis = Parameterization::identity(&prior);
    let good = fit_of(&layout, &basis, &prior, (&prior, 1e-3), Objective { k: K, loss: LossKind::Squared });
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

/// Computes a bootstrap of a fit, on all available threads.
fn resampled(fit: &Fit<'_>, members: usize) -> Bootstrap {
    let errors = sandwich(fit).unwrap();
    let mut evaluator = CpuEvaluator::new(fit.layout);
    bootstrap(fit, &errors, &mut evaluator, members, 7, &AtomicBool::new(false), &mut |_| ()).unwrap()
}

/// Weighs the positions of each game by how often a resample has it.
fn resample(layout: &Layout, seed: u32) -> Layout {
    let count = |n: usize| poisson_weight(layout.game(n), seed) as f32;
    let weights = (0..layout.positions()).map(|n| layout.weights()[n] * count(n)).collect();
    layout.clone().with_weights(weights).unwrap()
}

#[test]
#[ignore = "full"]
fn resamples_match_optima_of_weighted_datasets() {
    let data = games(&scratch(), FeatureKind::Material, 400, 6, 1, 12);
    let held_out = |n: usize| data.game(n) % 4 == 1;
    let prior = common::random_theta(&data.metadata().feature_set, false, 3);
    let identity = Parameterization::identity(&prior);
    // A bound near the optimum of all data, which stops one of the two resamples.
    let mut bounded = tied(&prior);
    let objective = Objective { k: K / 3.0, loss: LossKind::Squared };
    let layout = Layout::try_new(&data, 2, |n| usize::from(held_out(n))).unwrap();
    let open = minimize(&layout, &bounded, &prior, 0.0, objective);
    bounded.coordinates[2].max = Some(open[2] + 0.01);
    let mut stopped = 0;
    for (basis, l2, loss) in [
        (&identity, 0.0, LossKind::Squared),
        (&identity, 1e-2, LossKind::CrossEntropy),
        (&bounded, 0.0, LossKind::Squared),
    ] {
        let objective = Objective { loss, ..objective };
        let z = minimize(&layout, basis, &prior, l2, objective);
        let fit = fit_of(&layout, basis, &z, (&prior, l2), objective);
        let errors = sandwich(&fit).unwrap();
        let got = resampled(&fit, 2);
        assert_eq!((got.used, got.unfinished), (2, 0));
        // Two members: the percentiles reveal both.
        let direct: Vec<Vec<f64>> = resample_seeds(7, 2)
            .into_iter()
            .map(|seed| {
                let weighted = resample(&layout, seed);
                let optimum = minimize(&weighted, basis, &prior, l2, objective);
                // Evaluating a resample agrees with weights.
                let population = Population {
                    resamples: vec![seed],
                    ..Population::single(&basis.theta(&optimum), objective.k)
                };
                let request = Request { parts: 0..1, loss, gradients: false, curvature: false };
                let loss = |layout: &Layout, population: &Population| {
                    CpuEvaluator::new(layout).evaluate(population, &request).unwrap().losses[0]
                };
                let plain = Population { resamples: Vec::new(), ..population.clone() };
                assert!((loss(&layout, &population) / loss(&weighted, &plain) - 1.0).abs() < 1e-6);
                optimum
            })
            .collect();
        for (i, spread) in got.z.iter().enumerate() {
            let Some(spread) = spread else {
                assert_eq!(errors.z[i], None);
                continue;
            };
            let width = (spread.high - spread.low) / 0.95;
            let (low, high) = (spread.low - 0.025 * width, spread.high + 0.025 * width);
            let (a, b) = (direct[0][i].min(direct[1][i]), direct[0][i].max(direct[1][i]));
            let tolerance = 0.02 * errors.z[i].unwrap();
            assert!(
                (low - a).abs() < tolerance && (high - b).abs() < tolerance,
                "{i}: {low} {high}, {a} {b}"
            );
            assert!((spread.error * 2f64.sqrt() - (high - low)).abs() < 1e-9);
            let max = basis.coordinates.get(i).and_then(|c| c.max);
            stopped += usize::from(max.is_some_and(|max| (high - max).abs() < 1e-9));
        }
    }
    assert_eq!(stopped, 1, "the bound is meant to stop a resample");
}

#[test]
#[ignore = "full"]
fn resamples_converge_at_bounds() {
    let data = games(&scratch(), FeatureKind::Material, 300, 6, 1, 17);
    let prior = common::random_theta(&data.metadata().feature_set, false, 3);
    let objective = Objective { k: K / 3.0, loss: LossKind::Squared };
    let layout = Layout::whole(&data).unwrap();
    let mut bounded = tied(&prior);
    let open = minimize(&layout, &bounded, &prior, 0.0, objective);
    let errors = sandwich(&fit_of(&layout, &bounded, &open, (&prior, 0.0), objective)).unwrap().z;
    let errors: Vec<f64> = errors.into_iter().map(Option::unwrap).collect();
    // The optimum of all data lies at two bounds that some resamples leave, and close to others.
    bounded.coordinates[0].min = Some(open[0] + 0.3 * errors[0]);
    bounded.coordinates[1].max = Some(open[1] + 0.3 * errors[1]);
    bounded.coordinates[2].max = Some(open[2] - 0.3 * errors[2]);
    bounded.coordinates[3].min = Some(open[3] - 0.3 * errors[3]);
    bounded.coordinates.iter_mut().for_each(|c| {
        // Wide bounds on the rest, as in bases.
        c.min.get_or_insert(-5000.0);
        c.max.get_or_insert(5000.0);
    });
    let clamp = |z: &[f64]| -> Vec<f64> {
        let bounds = bounded.coordinates.iter();
        z.iter().zip(bounds).map(|(z, c)| z.clamp(c.min.unwrap(), c.max.unwrap())).collect()
    };
    let start = clamp(&open);
    bounded.coordinates.iter_mut().zip(&start).for_each(|(c, &start)| c.start = start);
    let z = minimize(&layout, &bounded, &prior, 0.0, objective);
    let at_bounds = |z: &[f64]| -> Vec<bool> {
        bounded
            .coordinates
            .iter()
            .zip(z)
            .map(|(c, z)| *z <= c.min.unwrap() + 1e-9 || *z >= c.max.unwrap() - 1e-9)
            .collect()
    };
    assert!(at_bounds(&z).contains(&true), "the optimum is meant to lie at a bound");
    let fit = fit_of(&layout, &bounded, &z, (&prior, 0.0), objective);
    let errors = sandwich(&fit).unwrap();
    let members = 40;
    let got = resampled(&fit, members);
    assert_eq!((got.used, got.unfinished), (members, 0));
    assert!(got.evaluations <= 15, "{}", got.evaluations);
    let (mut left, mut stopped) = (0, 0);
    let direct: Vec<Vec<f64>> = resample_seeds(7, members)
        .into_iter()
        .map(|seed| {
            let optimum = minimize(&resample(&layout, seed), &bounded, &prior, 0.0, objective);
            for (here, there) in at_bounds(&z).into_iter().zip(at_bounds(&optimum)) {
                left += usize::from(here && !there);
                stopped += usize::from(!here && there);
            }
            optimum
        })
        .collect();
    assert!(left > 3 && stopped > 3, "{left} {stopped}");
    let mut compared = 0;
    for (i, spread) in got.z.iter().enumerate() {
        assert_eq!(spread.is_some(), errors.standing[i] == ErrorStatus::Estimated);
        let Some(spread) = spread else { continue };
        let mut values: Vec<f64> = direct.iter().map(|z| z[i]).collect();
        values.sort_unstable_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / members as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let error = (squares / (members - 1) as f64).sqrt();
        // 2.5 % of 40 lies 0.975 past the first.
        let low = values[0] + 0.975 * (values[1] - values[0]);
        let high = values[39] + 0.975 * (values[38] - values[39]);
        let tolerance = 0.02 * error;
        for (got, wanted) in [(spread.error, error), (spread.low, low), (spread.high, high)] {
            assert!((got - wanted).abs() < tolerance, "{i}: {spread:?}, directly {error} {low} {high}");
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared}");
}
