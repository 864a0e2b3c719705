//! Coverage of standard errors: intervals contain the truth at their nominal rate.

use crate::common::games::{K, games, minimize};
use crate::common::prelude::*;
use gputexel::tuning::sandwich;

/// Returns the shares of 95 % intervals that cover the truth, over many samples of results for the same positions:
/// clustered by game, and by single position. Expected scores are correct; within a game the random draw is shared if
/// `shared`.
fn coverage(shared: bool, loss: LossKind) -> (f64, f64, usize) {
    const REPLICATIONS: usize = 500;
    let data = games(&scratch(), FeatureKind::Material, 800, 6, 1, 31);
    let mut layout = Layout::whole(&data).unwrap();
    let truth = [18.0, 55.0, 62.0, 96.0, 190.0, 0.0, 30.0, 62.0, 58.0, 110.0, 170.0, 0.0];
    let objective = Objective { k: K, loss };
    let basis = Parameterization::identity(&truth);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2024);
    let expected: Vec<f64> = layout
        .rows()
        .iter()
        .map(|&n| objective::expected_score(K, objective::score(&data, &truth, n as usize)))
        .collect();
    let (mut by_game, mut by_position, mut checks) = (0, 0, 0);
    let own_games = layout.games().to_vec();
    for replication in 0..REPLICATIONS {
        let draws: Vec<f64> = (0..800).map(|_| rng.random_range(0.0..1.0)).collect();
        let mut targets = vec![0.0; layout.positions()];
        for (n, &p) in expected.iter().enumerate() {
            let draw = if shared { draws[own_games[n] as usize] } else { rng.random_range(0.0..1.0) };
            // Half of the samples include draws: ½ with twice the smaller probability, so that the mean stays p.
            let drawn = if replication % 2 == 0 { 0.0 } else { 0.6 * p.min(1.0 - p) };
            let win = p - drawn / 2.0;
            targets[n] = if draw < win {
                1.0
            } else if draw < win + drawn {
                0.5
            } else {
                0.0
            };
        }
        layout = layout.with_targets(targets).unwrap().with_games(own_games.clone()).unwrap();
        let z = minimize(&layout, &basis, &truth, 0.0, objective);
        let count = |layout: &Layout, covered: &mut usize| {
            let fit = fit_of(layout, &basis, &z, (&truth, 0.0), objective);
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
        layout = layout.with_games(Vec::new()).unwrap();
        count(&layout, &mut by_position);
    }
    (by_game as f64 / checks as f64, by_position as f64 / checks as f64, checks)
}

#[test]
#[ignore = "full"]
fn intervals_have_nominal_coverage() {
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
        // Errors that treat a game's positions as independent are too small.
        assert!(by_position < 0.85, "{loss}: {by_position}");
    }
}
