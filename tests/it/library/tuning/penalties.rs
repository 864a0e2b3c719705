//! Optima under penalties, against Newton's method with plain loops over neighbors.

use crate::common::prelude::*;
use crate::common::traces::imported;
use std::fmt::Write as _;

/// Middlegame values, then endgame values.
const SIZE: usize = 24;
const K: f64 = 0.9;
/// Lines and a group of values, by the indices of parameters.
const MOBILITY: [usize; 5] = [0, 1, 2, 3, 4];
const PASSED: [usize; 3] = [5, 7, 9];
const PIECES: [usize; 3] = [6, 8, 10];

/// The entries of a line and of a group alternate.
const SCHEMA: &str = r#"{"format": "gputexel-schema", "version": 1, "index_base": 1,
 "phase": {"middlegame": 24, "endgame": 0}, "columns": {"phase": 1},
 "parameters": [
  {"name": "mobility", "index": 2, "count": 5, "line": true, "priors": [0, 4, 7, 9, 10]},
  {"name": "rank 4", "group": "passed", "line": "by rank", "index": 7, "prior": [5, 20]},
  {"name": "knight", "group": "pieces", "index": 8, "prior": [80, 70]},
  {"name": "rank 5", "group": "passed", "line": "by rank", "index": 9, "prior": [10, 40]},
  {"name": "bishop", "group": "pieces", "index": 10, "prior": [85, 75]},
  {"name": "rank 6", "group": "passed", "line": "by rank", "index": 11, "prior": [30, 70]},
  {"name": "rook", "group": "pieces", "index": 12, "prior": [120, 130]},
  {"name": "tempo", "index": 13, "prior": 8}]}"#;

/// A position as a row of 24 numbers whose product with θ is its score, and its result.
struct Position {
    row: [f64; SIZE],
    result: f64,
}

/// Returns positions with results drawn from values unrelated to the prior, and their trace.
fn positions() -> (Vec<Position>, String) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let truth: Vec<f64> = (0..SIZE).map(|_| rng.random_range(-60.0..120.0)).collect();
    let (mut all, mut text) = (Vec::new(), String::new());
    for _ in 0..300 {
        let phase: u32 = rng.random_range(1..=24);
        let share = f64::from(phase) / 24.0;
        let mut row = [0.0; SIZE];
        let mut line = format!(" 1:{phase}");
        for i in 0..SIZE / 2 {
            let coefficient = f64::from(rng.random_range(-2..=2));
            row[i] = share * coefficient;
            row[SIZE / 2 + i] = (1.0 - share) * coefficient;
            if coefficient != 0.0 {
                let _ = write!(line, " {}:{coefficient}", i + 2);
            }
        }
        let result = [1.0, 0.5, 0.0][match rng.random_range(0.0..1.0) {
            draw if draw < 0.2 => 1,
            rest if rest < 0.2 + 0.8 * expected(&row, &truth) => 0,
            _ => 2,
        }];
        let _ = writeln!(text, "{result}{line}");
        all.push(Position { row, result });
    }
    (all, text)
}

fn expected(row: &[f64; SIZE], theta: &[f64]) -> f64 {
    let score: f64 = row.iter().zip(theta).map(|(c, value)| c * value).sum();
    1.0 / (1.0 + 10f64.powf(-K * score / 400.0))
}

#[derive(Clone, Copy)]
struct Weights {
    smooth_mobility: f64,
    bend_mobility_eg: f64,
    smooth_passed_mg: f64,
    mean_pieces: f64,
    phases_pieces: f64,
    ridge: f64,
}

/// The same penalties on the command line and in the loops below.
const PENALTIES: &str = "smooth:mobility=0.02,bend:mobility.eg=0.05,smooth:passed.mg=0.04,mean:pieces=0.03,\
                         phases:pieces=0.06,ridge=0.001";
const WEIGHTS: Weights = Weights {
    smooth_mobility: 0.02,
    bend_mobility_eg: 0.05,
    smooth_passed_mg: 0.04,
    mean_pieces: 0.03,
    phases_pieces: 0.06,
    ridge: 0.001,
};

/// Returns weighted squares of linear combinations: each with the factors of all values.
fn squares(weights: Weights) -> Vec<(f64, [f64; SIZE])> {
    let mut all = Vec::new();
    let mut square = |weight: f64, factors: &[(usize, f64)]| {
        let mut row = [0.0; SIZE];
        factors.iter().for_each(|&(i, factor)| row[i] += factor);
        all.push((weight, row));
    };
    let eg = SIZE / 2;
    for i in 0..4 {
        for phase in [0, eg] {
            let (low, high) = (phase + MOBILITY[i], phase + MOBILITY[i + 1]);
            square(weights.smooth_mobility, &[(low, -1.0), (high, 1.0)]);
        }
    }
    for i in 0..3 {
        let [a, b, c] = [0, 1, 2].map(|step| eg + MOBILITY[i + step]);
        square(weights.bend_mobility_eg, &[(a, 1.0), (b, -2.0), (c, 1.0)]);
    }
    for i in 0..2 {
        square(weights.smooth_passed_mg, &[(PASSED[i], -1.0), (PASSED[i + 1], 1.0)]);
    }
    for own in PIECES {
        for phase in [0, eg] {
            let mut factors = vec![(phase + own, 1.0)];
            PIECES.iter().for_each(|other| factors.push((phase + other, -1.0 / 3.0)));
            square(weights.mean_pieces, &factors);
        }
        let mut factors = vec![(own, 1.0), (eg + own, -1.0)];
        PIECES.iter().for_each(|other| factors.extend([(*other, -1.0 / 3.0), (eg + other, 1.0 / 3.0)]));
        square(weights.phases_pieces, &factors);
    }
    for i in 0..SIZE {
        square(weights.ridge, &[(i, 1.0)]);
    }
    all
}

/// Returns mean cross-entropy plus the weighted squares of distances from the prior, in pawns.
fn loss(positions: &[Position], squares: &[(f64, [f64; SIZE])], prior: &[f64], theta: &[f64]) -> f64 {
    let entropy = positions.iter().map(|position| {
        let p = expected(&position.row, theta);
        -position.result * p.ln() - (1.0 - position.result) * (1.0 - p).ln()
    });
    let penalties = squares.iter().map(|(weight, row)| {
        let sum: f64 = (0..SIZE).map(|i| row[i] * (theta[i] - prior[i]) / 100.0).sum();
        weight * sum * sum
    });
    entropy.sum::<f64>() / positions.len().max(1) as f64 + penalties.sum::<f64>()
}

/// Returns the optimum by Newton's method: the loss is convex, and steps that do not lower it are halved.
fn newton(positions: &[Position], squares: &[(f64, [f64; SIZE])], prior: &[f64]) -> Vec<f64> {
    let mut theta = prior.to_vec();
    let slope = K * std::f64::consts::LN_10 / 400.0;
    for _ in 0..100 {
        let mut gradient = [0.0; SIZE];
        let mut matrix = [[0.0; SIZE]; SIZE];
        let mut add = |first: f64, second: f64, row: &[f64; SIZE]| {
            for (i, own) in row.iter().enumerate() {
                gradient[i] += first * own;
                row.iter().zip(&mut matrix[i]).for_each(|(other, entry)| *entry += second * own * other);
            }
        };
        let count = positions.len() as f64;
        for Position { row, result } in positions {
            let p = expected(row, &theta);
            add(slope * (p - result) / count, slope * slope * p * (1.0 - p) / count, row);
        }
        for (weight, row) in squares {
            let sum: f64 = (0..SIZE).map(|i| row[i] * (theta[i] - prior[i])).sum();
            add(2e-4 * weight * sum, 2e-4 * weight, row);
        }
        let step = solve(matrix, gradient);
        if step.iter().all(|value| value.abs() < 1e-10) {
            return theta;
        }
        let before = loss(positions, squares, prior, &theta);
        let moved = |factor: f64| -> Vec<f64> {
            theta.iter().zip(&step).map(|(value, step)| value - factor * step).collect()
        };
        let factors = (0..40).map(|halvings| 0.5f64.powi(halvings));
        let lower = factors.map(moved).find(|next| loss(positions, squares, prior, next) < before);
        match lower {
            Some(next) => theta = next,
            // Only rounding errors are left.
            None => return moved(1.0),
        }
    }
    panic!("Newton's method did not converge");
}

/// Gaussian elimination; the matrix is positive definite.
fn solve(mut matrix: [[f64; SIZE]; SIZE], mut right: [f64; SIZE]) -> [f64; SIZE] {
    for k in 0..SIZE {
        let (top, value) = (matrix[k], right[k]);
        assert!(top[k] > 0.0);
        for i in k + 1..SIZE {
            let factor = matrix[i][k] / top[k];
            matrix[i].iter_mut().zip(top).for_each(|(entry, above)| *entry -= factor * above);
            right[i] -= factor * value;
        }
    }
    for k in (0..SIZE).rev() {
        let known: f64 = (k + 1..SIZE).map(|j| matrix[k][j] * right[j]).sum();
        right[k] = (right[k] - known) / matrix[k][k];
    }
    right
}

fn tuned(data: &Dataset, config: RunConfig) -> Vec<f64> {
    let stopping = Stopping { epochs: 100, improvement: 1e-14, ..config.stopping };
    let config = RunConfig { loss: LossKind::CrossEntropy, stopping, ..config };
    let split = Split::try_new(data, 0.0, 1, 1).unwrap();
    let layout = Layout::try_new(data, 1, |_| 0).unwrap();
    let mut evaluator = CpuEvaluator::new(&layout);
    let mut tuning = Tuning::try_new(&config, &split).unwrap();
    tuning.run(&mut evaluator, &AtomicBool::new(false), &mut |_| Ok(())).unwrap().parameters
}

/// Asserts that θ is the optimum up to the single precision of scores.
fn assert_optimal(positions: &[Position], squares: &[(f64, [f64; SIZE])], prior: &[f64], theta: &[f64]) {
    let best = newton(positions, squares, prior);
    let excess = loss(positions, squares, prior, theta) - loss(positions, squares, prior, &best);
    assert!((-1e-13..1e-9).contains(&excess), "{excess:e}");
    let far = best.iter().zip(theta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(far < 0.05, "{far} cp: {theta:?}, not {best:?}");
}

#[test]
fn penalties_of_a_schema_are_sums_over_its_neighbors() {
    let (_, text) = positions();
    let folder = tempfile::tempdir().unwrap();
    let (_, data) = imported(folder.path(), &text, SCHEMA);
    let set = &data.metadata().feature_set;
    let all = parse_penalties(set, PENALTIES).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
    let zero = [0.0; SIZE];
    for _ in 0..10 {
        let delta: Vec<f64> = (0..SIZE).map(|_| rng.random_range(-100.0..100.0)).collect();
        let forms = all.iter().map(|penalty| penalty.weight * penalty.matrix(SIZE).form(&delta, &delta));
        let found: f64 = forms.sum();
        let wanted = loss(&[], &squares(WEIGHTS), &zero, &delta);
        assert!((found - wanted).abs() < 1e-12 * wanted, "{found} {wanted}");
    }
}

#[test]
fn penalized_runs_end_where_newtons_method_does() {
    let (positions, text) = positions();
    let folder = tempfile::tempdir().unwrap();
    let (_, data) = imported(folder.path(), &text, SCHEMA);
    let set = &data.metadata().feature_set;
    let plain = RunConfig::new(&data, &Prior::default_for(set), K).unwrap();
    let prior = plain.prior_theta.clone();
    let penalties = parse_penalties(set, PENALTIES).unwrap();
    let theta = tuned(&data, RunConfig { penalties, ..plain.clone() });
    assert_optimal(&positions, &squares(WEIGHTS), &prior, &theta);
    // Every penalty matters: without it, the optimum is elsewhere.
    for left_out in PENALTIES.split(',') {
        let rest: Vec<&str> = PENALTIES.split(',').filter(|entry| *entry != left_out).collect();
        let penalties = parse_penalties(set, &rest.join(",")).unwrap();
        let other = tuned(&data, RunConfig { penalties, ..plain.clone() });
        let far = other.iter().zip(&theta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far > 1.0, "{left_out}: {far}");
    }
    // Together with an L2 term that is not listed as a penalty and adds to the ridge.
    let penalties = parse_penalties(set, PENALTIES).unwrap();
    let theta = tuned(&data, RunConfig { l2: vec![0.01], penalties, ..plain });
    let weights = Weights { ridge: WEIGHTS.ridge + 0.01, ..WEIGHTS };
    assert_optimal(&positions, &squares(weights), &prior, &theta);
}
