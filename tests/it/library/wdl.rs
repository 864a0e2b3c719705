//! Fits to simulated games, for which the truth is known.

use crate::common::prelude::*;
use gputexel::wdl::{Counts, Fit, FitSettings, MAX_DEGREE, Outcome, fit};

fn truth() -> WdlModel {
    WdlModel {
        by: Variable::Material,
        range: (17, 78),
        target: 58,
        a: vec![380.0, -150.0, 60.0, 20.0],
        b: vec![40.0, 60.0, -30.0, 10.0],
    }
}

fn settings() -> FitSettings {
    FitSettings { by: Variable::Material, target: 58, degree: MAX_DEGREE }
}

/// Simulates positions that follow the true model, each repeated `repeated` times in a game of its own.
fn simulated(positions: usize, repeated: usize, seed: u64) -> Counts {
    let (model, mut rng) = (truth(), Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut counts = Counts::default();
    for _ in 0..positions {
        let value = rng.random_range(17..=78u16);
        let score = rng.random_range(-700..=700i32);
        let [win, draw, _] = model.probabilities(f64::from(score), f64::from(value));
        let outcome = match rng.random_range(0.0..1.0) {
            x if x < win => Outcome::Win,
            x if x < win + draw => Outcome::Draw,
            _ => Outcome::Loss,
        };
        (0..repeated).for_each(|_| counts.add(value, score, outcome));
        counts.end_game();
    }
    counts
}

fn coefficients(fit: &Fit) -> Vec<f64> {
    [&fit.model.a[..], &fit.model.b[..]].concat()
}

#[test]
fn known_constants_are_recovered_within_their_errors() {
    let mut squares = Vec::new();
    for seed in 1..=5 {
        let fit = fit(&simulated(40_000, 1, seed), settings()).unwrap();
        let errors = [&fit.errors.a[..], &fit.errors.b[..]].concat();
        let naive = [&fit.naive_errors.a[..], &fit.naive_errors.b[..]].concat();
        let truth = [&truth().a[..], &truth().b[..]].concat();
        for (i, found) in coefficients(&fit).into_iter().enumerate() {
            squares.push(((found - truth[i]) / errors[i]).powi(2));
            // Where the model is correct and games are single positions, both estimates agree.
            assert!((errors[i] / naive[i] - 1.0).abs() < 0.1, "{errors:?} {naive:?}");
        }
        let (target, true_a) = (fit.model.pawn_value(), self::truth().pawn_value());
        assert!((target - true_a).abs() < 4.0 * fit.errors.a_target, "{target} {true_a}");
        assert!(fit.errors.a_target < 0.03 * true_a && fit.errors.draw_rate < 0.02, "{:?}", fit.errors);
        assert!(fit.by_game && (fit.model.draw_rate() - self::truth().draw_rate()).abs() < 0.02);
    }
    // Squared errors in units of standard errors have mean 1.
    let mean = squares.iter().sum::<f64>() / squares.len() as f64;
    assert!((0.4..2.0).contains(&mean), "{mean}");
}

#[test]
fn positions_of_one_game_count_once() {
    let (single, repeated) = (simulated(20_000, 1, 9), simulated(20_000, 10, 9));
    let [single, repeated] = [single, repeated].map(|counts| fit(&counts, settings()).unwrap());
    for (a, b) in coefficients(&single).into_iter().zip(coefficients(&repeated)) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
    let ratio = |a: f64, b: f64| a / b;
    assert!((ratio(single.errors.a_target, repeated.errors.a_target) - 1.0).abs() < 1e-3);
    let naive = ratio(single.naive_errors.a_target, repeated.naive_errors.a_target);
    assert!((naive - 10.0f64.sqrt()).abs() < 1e-2, "{naive}");
}

#[test]
fn colors_can_be_exchanged() {
    let counts = simulated(20_000, 1, 4);
    let mut mirrored = Counts::default();
    for (value, cells) in counts.rows() {
        for cell in cells {
            for (outcome, count) in [Outcome::Win, Outcome::Draw, Outcome::Loss].into_iter().zip(cell.counts)
            {
                for _ in 0..count as u64 {
                    mirrored.add(value, -(cell.score as i32), outcome.reversed());
                    mirrored.end_game();
                }
            }
        }
    }
    let [one, other] = [counts, mirrored].map(|counts| fit(&counts, settings()).unwrap());
    assert!((one.mean_log_likelihood - other.mean_log_likelihood).abs() < 1e-12);
    for (a, b) in coefficients(&one).into_iter().zip(coefficients(&other)) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}

#[test]
fn lower_degrees_fit_less_well() {
    let counts = simulated(20_000, 1, 7);
    let mut last = f64::NEG_INFINITY;
    for degree in 0..=3 {
        let fit = fit(&counts, FitSettings { degree, ..settings() }).unwrap();
        assert_eq!((fit.model.a.len(), fit.errors.b.len()), (degree + 1, degree + 1));
        assert!(fit.mean_log_likelihood > last);
        last = fit.mean_log_likelihood;
    }
}

#[test]
fn rejects_uninformative_counts() {
    type Outcomes = fn(i32, usize) -> Outcome;
    let by_score: Outcomes = |score, n| match (score, n % 3) {
        (_, 0) => Outcome::Draw,
        (score, _) if score > 0 => Outcome::Win,
        _ => Outcome::Loss,
    };
    let cases: [(&str, usize, u16, i32, Outcomes); 6] = [
        ("no position has a score", 0, 50, 300, by_score),
        ("0 positions are of drawn games", 5000, 50, 300, |score, _| {
            if score > 0 { Outcome::Win } else { Outcome::Loss }
        }),
        ("0 positions are of decided games", 5000, 50, 300, |_, _| Outcome::Draw),
        ("1 value of material are too few for polynomials of degree 3", 5000, 1, 300, by_score),
        // Scores that are all zero do not constrain b.
        ("scores and results do not determine it", 5000, 50, 0, |_, n| {
            [Outcome::Win, Outcome::Draw, Outcome::Loss][n % 3]
        }),
        // The worse the score, the better the result.
        ("scores and results do not determine it", 5000, 50, 300, |score, n| match n % 3 {
            0 => Outcome::Draw,
            _ if score < 0 => Outcome::Win,
            _ => Outcome::Loss,
        }),
    ];
    for (part, positions, values, limit, outcome) in cases {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut counts = Counts::default();
        for n in 0..positions {
            let score = rng.random_range(-limit..=limit);
            counts.add(58 - n as u16 % values.min(40), score, outcome(score, n));
            counts.end_game();
        }
        let error = fit(&counts, settings()).unwrap_err().to_string();
        assert!(error.starts_with("the model cannot be fitted: ") && error.contains(part), "{part}: {error}");
    }
    let counts = simulated(2000, 1, 1);
    for (settings, part) in [
        (FitSettings { degree: 4, ..settings() }, "degree 4: must be from 0 to 3"),
        (FitSettings { target: 0, ..settings() }, "target 0: must be at least 1"),
        (FitSettings { target: 90, ..settings() }, "not of 90"),
    ] {
        assert_has(&fit(&counts, settings).unwrap_err().to_string(), part);
    }
}
