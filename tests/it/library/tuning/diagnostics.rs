//! Calibration and residuals against a direct computation, position by position.

use crate::common::prelude::*;
use gputexel::objective::{loss, score};
use gputexel::tuning::{diagnose, paired_difference};

fn data(positions: usize) -> (Dataset, Vec<f64>, Vec<f64>) {
    let data = weighted_dataset(&scratch(), positions, 5);
    let prior = Prior::default().theta(&data.metadata().feature_set).unwrap();
    let theta: Vec<f64> = prior.iter().enumerate().map(|(i, v)| v * 0.8 + (i % 13) as f64).collect();
    (data, prior, theta)
}

const OBJECTIVE: Objective = Objective { k: 0.9, loss: LossKind::Squared };

/// Returns the weighted mean of values, and its error with each game as one cluster.
fn by_hand(data: &Dataset, which: &[usize], value: impl Fn(usize) -> f64) -> (f64, f64) {
    let weight = |n: usize| f64::from(data.row(n).weight);
    let total: f64 = which.iter().map(|&n| weight(n)).sum();
    let mean = which.iter().map(|&n| weight(n) * value(n)).sum::<f64>() / total;
    let mut games: HashMap<u32, f64> = HashMap::new();
    for &n in which {
        *games.entry(data.game(n)).or_default() += weight(n) * (value(n) - mean);
    }
    (mean, games.values().map(|sum| sum * sum).sum::<f64>().sqrt() / total)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * (1.0 + a.abs())
}

#[test]
fn every_number_matches_its_definition() {
    let (data, prior, theta) = data(3000);
    let split = Split::try_new(&data, 0.3, 1, 1).unwrap();
    let diagnostics = diagnose(&data, &split, OBJECTIVE, &RunScores::new(&data, &prior, &theta));
    let p = |n: usize| expected_score(OBJECTIVE.k, score(&data, &theta, n));
    let y = |n: usize| f64::from(data.row(n).result);
    let sets: [Vec<usize>; 2] = [split.training().collect(), split.held_out().collect()];
    assert_eq!(diagnostics.sets.len(), 2);
    for (set, which) in diagnostics.sets.iter().zip(&sets) {
        assert_eq!(set.positions, which.len() as u64);
        assert!(near(set.loss, loss(&data, OBJECTIVE, &theta, which.iter().copied())));
        assert!(near(set.prior_loss, loss(&data, OBJECTIVE, &prior, which.iter().copied())));
        assert_eq!(
            set.calibration.iter().map(|c| c.phases).collect::<Vec<_>>(),
            [(0, 24), (17, 24), (9, 16), (0, 8)]
        );
        for calibration in &set.calibration {
            let (low, high) = calibration.phases;
            let mut inside: Vec<usize> =
                which.iter().copied().filter(|&n| (low..=high).contains(&data.row(n).phase)).collect();
            inside.sort_by(|&a, &b| p(a).total_cmp(&p(b)));
            assert_eq!(calibration.bins.iter().map(|bin| bin.positions).sum::<u64>(), inside.len() as u64);
            assert_eq!(calibration.bins.len(), (inside.len() / 20).clamp(1, 10));
            let mut rest = &inside[..];
            for bin in &calibration.bins {
                assert!(bin.positions.abs_diff(inside.len() as u64 / calibration.bins.len() as u64) <= 1);
                let (of_bin, others) = rest.split_at(bin.positions as usize);
                rest = others;
                assert!(
                    near(bin.predicted, by_hand(&data, of_bin, p).0)
                        && near(bin.actual, by_hand(&data, of_bin, y).0)
                );
                assert!(near(bin.error, by_hand(&data, of_bin, |n| y(n) - p(n)).1), "{bin:?}");
            }
        }
        let turned = |n: usize| if p(n) > 0.5 { y(n) - p(n) } else { p(n) - y(n) };
        let pieces = |n: usize| data.row(n).entry_count() as u32;
        let phase = |n: usize| u32::from(data.row(n).phase);
        for (residuals, key) in [(&set.by_phase, &phase as &dyn Fn(usize) -> u32), (&set.by_pieces, &pieces)]
        {
            assert!(residuals.is_sorted_by(|a, b| a.key < b.key));
            assert_eq!(residuals.iter().map(|r| r.positions).sum::<u64>(), which.len() as u64);
            for residual in residuals {
                let inside: Vec<usize> = which.iter().copied().filter(|&n| key(n) == residual.key).collect();
                let (mean, error) = by_hand(&data, &inside, |n| y(n) - p(n));
                let (boldness, boldness_error) = by_hand(&data, &inside, turned);
                assert!(near(residual.mean, mean) && near(residual.error, error), "{residual:?}");
                assert!(near(residual.boldness, boldness) && near(residual.boldness_error, boldness_error));
                assert!(near(residual.loss, loss(&data, OBJECTIVE, &theta, inside.iter().copied())));
                assert!(near(residual.prior_loss, loss(&data, OBJECTIVE, &prior, inside.iter().copied())));
            }
        }
    }
}

#[test]
fn handles_few_positions() {
    for positions in [1, 19, 41] {
        let (data, prior, theta) = data(positions);
        let split = Split::try_new(&data, 0.0, 1, 1).unwrap();
        let diagnostics = diagnose(&data, &split, OBJECTIVE, &RunScores::new(&data, &prior, &theta));
        let bins = &diagnostics.sets[0].calibration[0].bins;
        assert_eq!((diagnostics.sets.len(), bins.len()), (1, (positions / 20).max(1)));
        assert!(bins.iter().all(|bin| bin.error.is_finite()));
    }
}

#[test]
fn differences_of_losses_are_paired() {
    let (data, prior, theta) = data(1000);
    let other = Objective { k: 1.1, ..OBJECTIVE };
    let (mean, error) = paired_difference(&data, (OBJECTIVE, &prior), (other, &theta));
    let of = |objective: Objective, theta: &[f64], n: usize| loss(&data, objective, theta, [n]);
    let all: Vec<usize> = (0..data.len()).collect();
    let (expected, spread) = by_hand(&data, &all, |n| of(other, &theta, n) - of(OBJECTIVE, &prior, n));
    assert!(near(mean, expected) && near(error, spread), "{mean} {expected} {error} {spread}");
    assert_eq!(paired_difference(&data, (OBJECTIVE, &theta), (OBJECTIVE, &theta)), (0.0, 0.0));
}
