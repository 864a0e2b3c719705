//! Integers: exact changes by single steps, rounding, and the local search.

use crate::common::prelude::*;
use crate::common::random_theta;
use gputexel::tuning::{REGULARIZATION_SCALE_CP, Watch, round_naively, round_successively, space_of};

/// Loss with regularization by the reference, over the training positions.
fn reference(
    data: &Dataset,
    split: &Split,
    objective: Objective,
    theta: &[f64],
    prior: &[f64],
    l2: f64,
) -> f64 {
    let squares: f64 = theta.iter().zip(prior).map(|(a, b)| (a - b).powi(2)).sum();
    objective::loss(data, objective, theta, split.training())
        + l2 * squares / (REGULARIZATION_SCALE_CP * REGULARIZATION_SCALE_CP)
}

/// Mirrored files of the first 64 features with mg and eg tied, and one coordinate per table.
fn basis(theta: &[f64]) -> Parameterization {
    let features = theta.len() as u32 / 2;
    let mut columns: Vec<Vec<(u32, f64)>> = Vec::new();
    for square in (0..64).filter(|square| square % 8 < 4) {
        let both = [square, square ^ 7];
        columns.push(both.into_iter().flat_map(|i| [(i, 1.0), (features + i, 0.5)]).collect());
    }
    for table in 1..6 {
        columns.push((table * 64..table * 64 + 64).map(|i| (features + i, 1.0 + f64::from(i % 3))).collect());
    }
    let coordinate = |i: usize| Coordinate {
        name: format!("c{i}"),
        start: 0.0,
        min: i.is_multiple_of(5).then_some(-1.0),
        max: i.is_multiple_of(7).then_some(0.0),
        integer: true,
    };
    let coordinates = (0..columns.len()).map(coordinate).collect();
    Parameterization::try_new("test", theta.to_vec(), coordinates, columns).unwrap()
}

#[test]
fn exact_changes_match_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.bin");
    for (kind, loss, l2, share) in [
        (FeatureKind::Pst, LossKind::Squared, 0.0, 0.0),
        (FeatureKind::Pst, LossKind::CrossEntropy, 0.02, 0.3),
        (FeatureKind::Material, LossKind::Power(2.5), 0.02, 0.2),
        (FeatureKind::Classical, LossKind::Squared, 0.0, 0.2),
    ] {
        let data = match kind {
            FeatureKind::Pst => weighted_dataset(&path, 700, 3),
            // A full reference for every step of its parameters is slow.
            FeatureKind::Classical => random_dataset(&path, kind, 120, 3),
            _ => random_dataset(&path, kind, 700, 3),
        };
        let set = &data.metadata().feature_set;
        let theta = random_theta(set, true, 5);
        let prior = random_theta(set, false, 6);
        let split = Split::try_new(&data, share, 1, 9).unwrap();
        let layout = Layout::try_new(&data, split.parts(), |n| split.part_of(n)).unwrap();
        let objective = Objective { k: 0.8, loss };
        let mut bases = vec![Parameterization::identity(&theta)];
        if kind == FeatureKind::Pst {
            bases.push(basis(&theta));
        }
        for parameterization in bases {
            let mut space = space_of(&parameterization);
            space.integer.fill(true);
            let problem = ExactProblem {
                layout: &layout,
                parts: 0..1,
                objective,
                parameterization: &parameterization,
                space: &space,
                regularization: Regularization::new(&prior, l2, &[]),
            };
            let mut steps = SingleSteps::try_new(&problem, &parameterization.start()).unwrap();
            let exact =
                |z: &[f64]| reference(&data, &split, objective, &parameterization.theta(z), &prior, l2);
            let mut seen = 0.0f64;
            for round in 0..3 {
                let z = steps.z().to_vec();
                let here = exact(&z);
                assert!((steps.loss() - here).abs() < 1e-12, "{} {here}", steps.loss());
                for i in 0..z.len() {
                    for by in [-1.0, 1.0, 3.0] {
                        let mut neighbor = z.clone();
                        neighbor[i] += by;
                        let (change, expected) = (steps.change(i, by), exact(&neighbor) - here);
                        assert!((change - expected).abs() < 1e-12, "{i} {by}: {change} {expected}");
                        seen = seen.max(change.abs());
                    }
                }
                // It also holds elsewhere, after some steps.
                for i in 0..z.len() {
                    steps.take(i, [2.0, -1.0, 1.0][(i + round) % 3]);
                }
            }
            assert!(seen > 1e-6, "nothing was compared");
        }
    }
}

#[test]
fn descent_ends_at_the_minimum_of_the_reference() {
    let data = random_dataset(&scratch(), FeatureKind::Pst, 400, 8);
    let theta = random_theta(&data.metadata().feature_set, true, 5);
    let split = Split::try_new(&data, 0.0, 1, 9).unwrap();
    let layout = Layout::whole(&data).unwrap();
    let objective = Objective { k: 0.8, loss: LossKind::Squared };
    for parameterization in [Parameterization::identity(&theta), basis(&theta)] {
        let mut space = space_of(&parameterization);
        space.integer.fill(true);
        // A coordinate that is not an integer is left alone.
        space.integer[3] = false;
        let problem = ExactProblem {
            layout: &layout,
            parts: 0..1,
            objective,
            parameterization: &parameterization,
            space: &space,
            regularization: Regularization::new(&theta, 0.01, &[]),
        };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut steps = SingleSteps::try_new(&problem, &parameterization.start()).unwrap();
                let before = steps.loss();
                let survey = steps
                    .descend(&mut Watch { cancel: &AtomicBool::new(false), observe: &mut |_| Ok(()) })
                    .unwrap();
                assert!(steps.loss() < before && steps.taken() > 10);
                (steps.z().to_vec(), steps.loss(), survey)
            })
        };
        let (z, loss, survey) = run(1);
        assert_eq!((z.clone(), loss, survey.clone()), run(3), "threads decide");
        assert!(survey.improving.is_empty());
        assert_eq!(z[3], parameterization.start()[3]);
        let exact = |z: &[f64]| reference(&data, &split, objective, &parameterization.theta(z), &theta, 0.01);
        let (here, mut count, mut least) = (exact(&z), 0, f64::INFINITY);
        for i in (0..z.len()).filter(|&i| i != 3) {
            for by in [-1.0, 1.0] {
                let mut neighbor = z.clone();
                neighbor[i] += by;
                if (space.lower[i]..=space.upper[i]).contains(&neighbor[i]) {
                    count += 1;
                    least = f64::min(least, exact(&neighbor) - here);
                }
                assert!((space.lower[i]..=space.upper[i]).contains(&z[i]));
            }
        }
        assert_eq!(survey.steps, count);
        assert!(least > -1e-14 && (survey.smallest_increase.unwrap() - least).abs() < 1e-13, "{least}");
        // One step away, the survey names the step back as the best.
        let mut steps = SingleSteps::try_new(&problem, &z).unwrap();
        steps.take(5, 3.0);
        let watch = &mut Watch { cancel: &AtomicBool::new(false), observe: &mut |_| Ok(()) };
        let best = steps.survey(watch).unwrap().improving[0];
        assert_eq!((best.coordinate, best.by), (5, -1.0));
        let cancelled = AtomicBool::new(true);
        let watch = &mut Watch { cancel: &cancelled, observe: &mut |_| Ok(()) };
        assert!(matches!(steps.descend(watch), Err(Error::Interrupted(_))));
    }
}

#[test]
#[ignore = "full"]
fn successive_rounding_costs_less_within_bounds() {
    // H = M Mᵀ of a hashed M with strong correlations, and a coordinate without curvature.
    let n = 24;
    let hash = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24) - 0.5;
    let (mut costs, mut least) = ([0.0; 2], 0);
    for case in 0..40 {
        let m = |i: usize, j: usize| {
            let common = 1.0 + i as f64 / 8.0;
            hash(case * 5000 + i * n + j) + if j < 2 { common } else { 0.0 }
        };
        let h = |i: usize, j: usize| -> f64 {
            if i == 7 || j == 7 {
                return 0.0;
            }
            (0..n).map(|k| m(i, k) * m(j, k)).sum()
        };
        let matrix: Vec<f64> = (0..n * n).map(|at| h(at / n, at % n)).collect();
        let z: Vec<f64> = (0..n).map(|i| 100.0 * hash(case * 5000 + 3000 + i)).collect();
        let mut space = Space::unbounded(&z);
        space.integer.fill(true);
        let cost = |rounded: &[f64]| -> f64 {
            let e: Vec<f64> = rounded.iter().zip(&z).map(|(a, b)| a - b).collect();
            (0..n * n).map(|at| e[at / n] * matrix[at] * e[at % n]).sum()
        };
        let (naive, successive) = (
            round_naively(&z, &space),
            round_successively(&z, &matrix, &space, &AtomicBool::new(false)).unwrap(),
        );
        assert!(successive.iter().all(|value| value.fract() == 0.0));
        assert_eq!(successive[7], z[7].round(), "no curvature: naively");
        costs[0] += cost(&naive);
        costs[1] += cost(&successive);
        least += usize::from(cost(&successive) <= cost(&naive));

        (space.lower[2], space.upper[2]) = (z[2] - 0.1, z[2].ceil() + 0.3);
        (space.lower[9], space.upper[9]) = (z[9].floor(), z[9].floor());
        space.integer[11] = false;
        let bounded = round_successively(&z, &matrix, &space, &AtomicBool::new(false)).unwrap();
        assert_eq!((bounded[2], bounded[9]), (z[2].ceil(), z[9].floor()));
        assert!(bounded[11].fract() != 0.0, "a real coordinate takes what is left");
        let moved = |by: f64| {
            let mut other = bounded.clone();
            other[11] += by;
            cost(&other)
        };
        assert!(cost(&bounded) <= moved(0.01).min(moved(-0.01)));
    }
    assert_eq!(least, 40);
    assert!(costs[1] < 0.3 * costs[0], "{costs:?}");
}
