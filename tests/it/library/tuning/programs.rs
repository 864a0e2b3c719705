//! Tuning nonlinear evaluations: exact steps, standard errors, whole runs.

use crate::common::matrices::{inverse, matrix, product};
use crate::common::prelude::*;
use crate::common::programs::{FEATURES, program_dataset, program_dataset_from, program_theta};
use gputexel::run::{Tuner, TunerSettings};
use gputexel::tuning::{DEFAULT_STARTS, Limits, Watch, sandwich, space_of};

const OBJECTIVE: Objective = Objective { k: 0.9, loss: LossKind::Squared };

/// Returns the loss with the regularization of a run, computed by the reference.
fn loss(data: &Dataset, theta: &[f64], prior: &[f64], l2: f64) -> f64 {
    let distance: f64 = theta.iter().zip(prior).map(|(a, b)| ((a - b) / 100.0).powi(2)).sum();
    objective::loss(data, OBJECTIVE, theta, 0..data.len()) + l2 * distance
}

/// Two values of a danger weight tied to each other, one weight tied to a linear value, and some untied.
fn tied(theta: &[f64]) -> Parameterization {
    let coordinate = |name: &str, start: f64| Coordinate {
        name: name.to_string(),
        start,
        min: None,
        max: None,
        integer: true,
    };
    let at = |f: usize, eg: usize| (f + eg * FEATURES) as u32;
    let columns = vec![
        vec![(at(5, 0), 1.0), (at(5, 1), 1.0)],
        vec![(at(7, 0), 2.0), (at(1, 1), -1.0)],
        vec![(at(0, 0), 1.0)],
        vec![(at(8, 1), 1.0)],
        vec![(at(10, 1), 1.0)],
    ];
    let coordinates = (0..columns.len()).map(|i| coordinate(&format!("c{i}"), 0.0)).collect();
    Parameterization::try_new("tied", theta.to_vec(), coordinates, columns).unwrap()
}

#[test]
fn exact_changes_match_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let data = program_dataset(&folder.path().join("d.bin"), 400, 1);
    let layout = Layout::whole(&data).unwrap();
    let prior: Vec<f64> = program_theta().iter().map(|value| value.round()).collect();
    let coordinate = |(i, &start): (usize, &f64)| Coordinate {
        name: format!("p{i}"),
        start,
        min: None,
        max: None,
        integer: true,
    };
    let coordinates = prior.iter().enumerate().map(coordinate).collect();
    let columns = (0..2 * FEATURES as u32).map(|i| vec![(i, 1.0)]).collect();
    let identity = Parameterization::try_new("whole", vec![0.0; prior.len()], coordinates, columns).unwrap();
    for basis in [identity, tied(&prior)] {
        let space = space_of(&basis);
        let problem = ExactProblem {
            layout: &layout,
            parts: 0..1,
            objective: OBJECTIVE,
            parameterization: &basis,
            space: &space,
            regularization: Regularization::new(&prior, 1e-3, &[]),
        };
        let mut z = basis.start();
        let mut steps = SingleSteps::try_new(&problem, &z).unwrap();
        let reference = |z: &[f64]| loss(&data, &basis.theta(z), &prior, 1e-3);
        for turn in 0..3 {
            let here = reference(&z);
            assert!((steps.loss() - here).abs() < 1e-13);
            for coordinate in 0..z.len() {
                for by in [-1.0, 1.0, 8.0] {
                    let mut there = z.clone();
                    there[coordinate] += by;
                    let wanted = reference(&there) - here;
                    let got = steps.change(coordinate, by);
                    assert!((got - wanted).abs() < 1e-13, "{} {by}: {got} {wanted}", basis.name);
                }
            }
            let coordinate = (turn * 7 + 3) % z.len();
            steps.take(coordinate, 2.0);
            z[coordinate] += 2.0;
        }
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let mut told = Vec::new();
        let mut observe = |text: &str| {
            told.push(text.to_string());
            Ok(())
        };
        let survey = steps.descend(&mut Watch { cancel: &cancel, observe: &mut observe }).unwrap();
        assert!(survey.improving.is_empty() && survey.steps > 0 && survey.untried == 0);
        let first = "whole numbers by single steps, pass 1: ";
        assert!(told[0].starts_with(first) && told[0].ends_with(" s of the pass left"), "{}", told[0]);
        // With no time for more, only steps that slopes recommend are tried, and lead almost as far.
        let mut hasty = SingleSteps::try_new(&problem, &basis.start()).unwrap();
        hasty.max_scores = 0;
        let before = hasty.loss();
        let left_out = hasty.descend(&mut Watch { cancel: &cancel, observe: &mut |_| Ok(()) }).unwrap();
        assert!(left_out.improving.is_empty() && left_out.untried > 0);
        assert_eq!(left_out.steps + left_out.untried, survey.steps);
        let losses = [before, hasty.loss(), steps.loss()];
        assert!(losses[1] < losses[0] && losses[1] - losses[2] < 0.1 * (losses[0] - losses[2]), "{losses:?}");
        let end = steps.z().to_vec();
        let lowest = reference(&end);
        for coordinate in 0..end.len() {
            for by in [-1.0, 1.0] {
                let mut there = end.clone();
                there[coordinate] += by;
                assert!(reference(&there) >= lowest - 1e-13);
            }
        }
    }
}

/// The bread is the full second derivative of the loss, including that of the scores.
#[test]
fn standard_errors_match_finite_differences() {
    let folder = tempfile::tempdir().unwrap();
    let data = program_dataset(&folder.path().join("d.bin"), 1500, 2);
    let layout = Layout::whole(&data).unwrap();
    let (prior, l2) = (program_theta(), 1e-2);
    let basis = Parameterization::identity(&prior);
    let size = prior.len();
    let gradient = |theta: &[f64]| -> Vec<f64> {
        let all = objective::loss_and_gradient(&data, OBJECTIVE, theta, 0..data.len()).gradient;
        (0..size).map(|i| all[i] + 2.0 * l2 * (theta[i] - prior[i]) / 1e4).collect()
    };
    let hessian = |theta: &[f64]| {
        let step = 1e-4;
        let columns: Vec<Vec<f64>> = (0..size)
            .map(|j| {
                let moved = |by: f64| {
                    let mut there = theta.to_vec();
                    there[j] += by;
                    gradient(&there)
                };
                let (up, down) = (moved(step), moved(-step));
                up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * step)).collect()
            })
            .collect();
        matrix(size, size, |i, j| 0.5 * (columns[j][i] + columns[i][j]))
    };
    // The formula holds anywhere; at a minimum a factor or a gate may be at a kink.
    let theta: Vec<f64> = prior.iter().map(|value| 0.9 * value + 1.3).collect();
    let bread = inverse(&hessian(&theta));
    let games: Vec<Vec<usize>> = (0..data.len() / 10).map(|g| (10 * g..10 * g + 10).collect()).collect();
    let mut meat = matrix(size, size, |_, _| 0.0);
    let mean = objective::loss_and_gradient(&data, OBJECTIVE, &theta, 0..data.len()).gradient;
    let share = 10.0 / data.len() as f64;
    for game in &games {
        let own = objective::loss_and_gradient(&data, OBJECTIVE, &theta, game.iter().copied()).gradient;
        let u: Vec<f64> = own.iter().zip(&mean).map(|(a, b)| share * (a - b)).collect();
        (0..size).for_each(|i| (0..size).for_each(|j| meat[i][j] += u[i] * u[j]));
    }
    let count = games.len() as f64;
    let covariance = product(&bread, &product(&meat, &bread));
    let fit = Fit {
        layout: &layout,
        parts: 0..1,
        parameterization: &basis,
        z: &theta,
        regularization: Regularization::new(&prior, l2, &[]),
        objective: OBJECTIVE,
    };
    let got = sandwich(&fit).unwrap();
    assert_eq!(got.curvature, Curvature::SecondDerivatives);
    let mut compared = 0;
    for (i, error) in got.theta.iter().enumerate() {
        let wanted = (covariance[i][i] * count / (count - 1.0)).sqrt();
        if let Some(error) = error {
            assert!((error - wanted).abs() < 1e-3 * wanted, "{i}: {error} {wanted}");
            compared += 1;
        }
    }
    assert!(compared >= 15, "{compared}");
}

/// Settings with the scale of the objective.
fn settings<'a>(l2: &[f64]) -> TunerSettings<'a> {
    TunerSettings { k: Some(OBJECTIVE.k), l2: l2.to_vec(), ..TunerSettings::default() }
}

#[test]
#[ignore = "full"]
fn several_starts_revive_dead_terms() {
    let folder = tempfile::tempdir().unwrap();
    // Sums far below 0, where neither danger term has a slope.
    let mut prior = program_theta();
    [5, 6, 7].iter().for_each(|f| [0, FEATURES].iter().for_each(|phase| prior[f + phase] = -400.0));
    let data = program_dataset_from(&folder.path().join("d.bin"), 6000, 3, &prior);
    let tune = |starts: Option<usize>| {
        Tuner::new(&data, TunerSettings { seed: 5, starts, ..settings(&[1e-9]) }).run().unwrap()
    };
    let alone = tune(Some(1));
    assert_eq!(alone.record.starts, None);
    let several = tune(Some(5));
    let record = several.record.starts.clone().unwrap();
    assert_eq!(record.losses.len(), DEFAULT_STARTS);
    assert!(record.best > 0 && record.losses.iter().all(|&loss| loss >= record.losses[record.best]));
    let again = tune(Some(5));
    assert_eq!(again.record.starts, several.record.starts, "starts depend on the seed alone");
    assert_eq!(again.outcome.parameters, several.outcome.parameters);
    // If a term is off in nearly all positions, several starts are the default.
    prior[0] = -400.0;
    let dead = program_dataset_from(&folder.path().join("e.bin"), 500, 3, &prior);
    let limits = Limits { epochs: Some(1), ..Limits::default() };
    let run = Tuner::new(&dead, TunerSettings { limits, ..settings(&[1e-9]) }).run().unwrap();
    assert_eq!(run.record.starts.unwrap().losses.len(), DEFAULT_STARTS);
    let of_truth = objective::loss(&data, OBJECTIVE, &program_theta(), 0..data.len());
    let (alone, several) = (alone.loss.unwrap(), several.loss.unwrap());
    assert!(several < of_truth, "{several} at the optimum, {of_truth} where results were drawn from");
    assert!(alone > several + 1e-4, "{alone} alone, {several} of several");
}

#[test]
fn several_starts_of_linear_scores_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = random_dataset(&folder.path().join("d.bin"), FeatureKind::Material, 50, 1);
    let tune = |starts: usize| {
        Tuner::new(&data, TunerSettings { starts: Some(starts), ..TunerSettings::default() }).run()
    };
    let error = tune(2).unwrap_err();
    assert!(error.to_string().contains("the scores are linear"), "{error}");
    let error = tune(0).unwrap_err();
    assert!(error.to_string().contains("at least 1 and at most 64"), "{error}");
}

#[test]
#[ignore = "full"]
fn prior_strength_is_judged_on_unseen_folds() {
    let folder = tempfile::tempdir().unwrap();
    // Values close to those from which results are drawn, as in engines.
    let size = |i: usize| [0.6, 1.4, 0.8][i % 3];
    let prior: Vec<f64> = program_theta().iter().enumerate().map(|(i, value)| size(i) * value).collect();
    let fresh = program_dataset_from(&folder.path().join("fresh.bin"), 20_000, 77, &prior);
    let of_fresh = |theta: &[f64]| objective::loss(&fresh, OBJECTIVE, theta, 0..fresh.len());
    for (positions, most) in [(400, 0.006), (4000, 0.003)] {
        let data = program_dataset_from(&folder.path().join("d.bin"), positions, 5, &prior);
        let run = Tuner::new(&data, settings(&[])).run().unwrap();
        let strength = run.record.strength.clone().unwrap();
        let gain = strength.gain.unwrap();
        let (before, after) = (of_fresh(&prior), of_fresh(run.parameters()));
        // With few positions there may be no gain, but there is no loss.
        assert!(gain.after <= gain.before + 1e-9 || strength.keeps_prior);
        assert!(after <= before + 1e-3, "{positions} positions made it worse: {before} -> {after}");
        let promised = gain.before - gain.after;
        assert!((promised - (before - after)).abs() < most, "{promised} promised, {} found", before - after);
    }
}
