use super::*;
use serde_json::json;

/// Returns a box of whole numbers from −100 to 100, the start at `start`.
fn space(start: &[f64]) -> Space {
    let n = start.len();
    Space { start: start.to_vec(), lower: vec![-100.0; n], upper: vec![100.0; n], integer: vec![true; n] }
}

fn settings(variant: SwarmVariant, swarms: usize, particles: usize) -> ParticleSwarmSettings {
    ParticleSwarmSettings { swarms, particles, ..ParticleSwarmSettings::of(variant) }
}

fn swarm(start: &[f64], settings: ParticleSwarmSettings) -> ParticleSwarm {
    ParticleSwarm::try_new(&space(start), settings).unwrap()
}

fn answer(losses: Vec<f64>) -> Evaluations {
    Evaluations { losses, positions: 1, ..Evaluations::default() }
}

fn sphere(proposal: &Proposal) -> Evaluations {
    let dimension = proposal.parameters.len() / proposal.members.len();
    answer(proposal.parameters.chunks(dimension).map(|x| x.iter().map(|v| (v - 7.0).powi(2)).sum()).collect())
}

const BOTH: [SwarmVariant; 2] = [SwarmVariant::Of2018, SwarmVariant::Of2025];

#[test]
fn particles_begin_all_over_the_box() {
    let s = swarm(&[3.0; 5], settings(SwarmVariant::Of2025, 20, 50));
    assert_eq!(s.positions[..5], [3.0; 5]);
    assert!(s.positions.iter().all(|x| x.fract() == 0.0 && x.abs() <= 100.0));
    assert!(s.positions.contains(&100.0) && s.positions.contains(&-100.0));
    let mean = s.positions.iter().sum::<f64>() / 5000.0;
    assert!(mean.abs() < 4.0, "{mean}"); // 5 standard errors of 0.82
    // At most a tenth of the interval of 200, and close to that.
    let fastest = s.velocities.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    assert!(fastest <= 20.0 && fastest > 19.9, "{fastest}");
    assert!(s.best_errors.iter().all(|&error| error == UNKNOWN));
    // Only the first particle is at the start.
    assert!(s.positions[5..].chunks(5).all(|x| x != [3.0; 5]));
}

#[test]
fn moves_are_truncated_toward_zero_and_stop_at_bounds() {
    let mut space = space(&[0.0; 6]);
    space.integer[5] = false;
    let mut s = ParticleSwarm::try_new(&space, settings(SwarmVariant::Of2025, 1, 1)).unwrap();
    s.positions = vec![10.0, 10.0, 10.0, 98.0, -99.0, 1.0];
    s.velocities = vec![2.9, -2.9, 0.99, 5.5, -1.5, -0.25];
    s.step(0);
    assert_eq!(s.positions, [12.0, 8.0, 10.0, 100.0, -100.0, 0.75]);
    // Reaching a bound is not leaving the box.
    assert_eq!(s.velocities, [2.9, -2.9, 0.99, 0.0, -1.5, -0.25]);
}

#[test]
fn velocities_turn_by_the_formula_after_the_move() {
    let mut s = swarm(&[0.0; 2], settings(SwarmVariant::Of2025, 2, 2));
    s.positions = vec![0.0, 0.0, 50.0, -20.0, 1.0, 1.0, 9.0, 9.0];
    s.velocities = vec![3.5, -1.5, 0.0, 0.5, -7.0, 2.0, 0.0, 0.0];
    // Each particle is the best of its swarm when its turn comes, so no random number decides about its
    // death.
    let (before, mut rng) = (s.clone(), s.rng.clone());
    s.tell(&answer(vec![5.0, 1.0, 4.0, 3.0])).unwrap();
    for (particle, leader) in [(0, 1), (1, 1), (2, 3), (3, 3)] {
        for i in 0..2 {
            let (was, v) = (before.positions[2 * particle + i], before.velocities[2 * particle + i]);
            let x = was + v.trunc();
            assert_eq!(s.positions[2 * particle + i], x);
            let [own, swarm, global] = [1.5, 1.5, 0.375].map(|influence| influence * rng.random::<f64>());
            let expected = 0.75 * v
                + own * (was - x)
                + swarm * (before.positions[2 * leader + i] - x)
                + global * (before.positions[2 + i] - x);
            let found = s.velocities[2 * particle + i];
            assert!((found - expected).abs() < 1e-12, "{particle} {i}: {found} {expected}");
        }
    }
    assert_eq!((s.best().loss, s.best().member, s.best().parameters), (1.0, 1, vec![50.0, -20.0]));
    assert_eq!(s.original, 5.0);
}

#[test]
fn the_best_of_2025_is_up_to_date_and_that_of_2018_is_not() {
    let certain = |variant| ParticleSwarmSettings { death: 1.0, ..settings(variant, 2, 3) };
    // Falling errors: in 2025 each particle is the best when its turn comes.
    let errors = vec![3.0, 2.0, 1.0, 6.0, 7.0, 5.0];
    let mut s = swarm(&[0.0; 2], certain(SwarmVariant::Of2025));
    s.tell(&answer(errors.clone())).unwrap();
    assert_eq!(s.best_errors, [3.0, 2.0, 1.0, 6.0, UNKNOWN, 5.0]);
    assert_eq!((s.deaths, s.errors[4]), (1, UNKNOWN));
    // It was created, has moved, and is pulled back to where it was created.
    let born = s.best_positions[8..10].to_vec();
    assert!(s.positions[8..10].iter().zip(&born).all(|(x, b)| (x - b).abs() <= 20.0));

    let mut s = swarm(&[0.0; 2], certain(SwarmVariant::Of2018));
    let start = s.ask();
    assert_eq!((start.parameters, start.members.len()), (vec![0.0; 2], 1));
    s.tell(&answer(vec![2.5])).unwrap();
    assert!(!s.epoch_done() && s.original == 2.5);
    // Before the first evaluation only the start is known: all particles of each swarm but the first die.
    assert_eq!((s.deaths, s.best_errors[0]), (4, 2.5));
    assert_eq!(s.ask().members.len(), 6);
    s.tell(&answer(errors)).unwrap();
    assert!(s.epoch_done());
    assert_eq!(s.best_errors, [UNKNOWN, UNKNOWN, 1.0, UNKNOWN, UNKNOWN, 5.0]);
    assert_eq!((s.deaths, s.best().loss), (8, 1.0));
}

#[test]
fn in_2018_particles_move_before_they_are_evaluated() {
    let mut s = swarm(&[40.0; 3], settings(SwarmVariant::Of2018, 1, 1));
    s.velocities = vec![4.7, -4.7, 0.3];
    s.tell(&answer(vec![9.0])).unwrap();
    assert_eq!(s.ask().parameters, [44.0, 36.0, 40.0]);
    assert_eq!((s.best().parameters, s.best().loss), (vec![40.0; 3], 9.0));
    let mut s = swarm(&[40.0; 3], settings(SwarmVariant::Of2025, 1, 1));
    assert_eq!(s.ask().parameters, [40.0; 3]);
}

#[test]
fn without_progress_2018_starts_anew_and_2025_does_not() {
    for variant in BOTH {
        let never = ParticleSwarmSettings { death: 0.0, ..settings(variant, 2, 3) };
        let mut s = swarm(&[0.0; 4], never);
        if variant == SwarmVariant::Of2018 {
            s.tell(&answer(vec![1.0])).unwrap();
        }
        s.tell(&answer(vec![0.9, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
        assert_eq!(s.stalled, 0);
        for round in 1..=9 {
            s.tell(&answer(vec![2.0; 6])).unwrap();
            assert_eq!((s.stalled, s.restarts), (round, 0));
        }
        let before = s.clone();
        s.tell(&answer(vec![2.0; 6])).unwrap();
        if variant == SwarmVariant::Of2025 {
            assert_eq!((s.stalled, s.restarts), (10, 0));
            continue;
        }
        assert_eq!((s.stalled, s.restarts), (0, 1));
        // Best errors are forgotten, except those of each swarm's first particle and of all swarms.
        assert_eq!(s.best_errors, [0.9, UNKNOWN, UNKNOWN, 2.0, UNKNOWN, UNKNOWN]);
        assert_eq!(s.best(), before.best());
        // The first particles are not steered; the others have the velocities of new particles.
        for (at, velocity) in s.velocities.iter().enumerate() {
            let particle = at / 4;
            match particle % 3 {
                0 => assert!(*velocity == before.velocities[at] || *velocity == 0.0),
                _ => assert!(velocity.abs() <= 20.0),
            }
        }
        // After ten more iterations without progress, again.
        (0..10).for_each(|_| s.tell(&answer(vec![2.0; 6])).unwrap());
        assert_eq!(s.restarts, 2);
    }
}

#[test]
fn progress_is_judged_by_the_error_now_of_the_best_particle() {
    let never = ParticleSwarmSettings { death: 0.0, ..settings(SwarmVariant::Of2018, 1, 2) };
    let mut s = swarm(&[0.0; 2], never);
    s.tell(&answer(vec![1.0])).unwrap();
    // The second particle beats the first, but not the best ever, so this is no progress.
    s.best_errors = vec![5.0, 5.0];
    s.tell(&answer(vec![5.0, 2.0])).unwrap();
    assert_eq!((s.stalled, s.best().loss), (1, 1.0));
    // Its best error is below the best ever, but its current one is not.
    (s.best_errors, s.global_error) = (vec![0.8, 9.0], 0.9);
    s.tell(&answer(vec![5.0, 6.0])).unwrap();
    assert_eq!((s.stalled, s.best().loss), (2, 0.8));
    s.tell(&answer(vec![5.0, 0.5])).unwrap();
    assert_eq!((s.stalled, s.best().loss), (0, 0.5));
}

#[test]
fn the_minimum_of_a_bowl_is_found() {
    for variant in BOTH {
        let mut s = swarm(&[-90.0; 4], settings(variant, 4, 8));
        for _ in 0..300 {
            let proposal = s.ask();
            assert_eq!(proposal, s.ask(), "asking twice gives the same");
            assert!(proposal.parameters.iter().all(|x| x.fract() == 0.0 && x.abs() <= 100.0));
            let evaluations = sphere(&proposal);
            s.tell(&evaluations).unwrap();
        }
        assert_eq!((s.best().loss, s.best().parameters), (0.0, vec![7.0; 4]), "{variant}");
        assert_eq!(s.original, 4.0 * 97.0 * 97.0);
    }
}

#[test]
fn real_coordinates_move_by_their_whole_velocity() {
    let mut space = space(&[0.0; 3]);
    (space.integer, space.lower[0]) = (vec![false; 3], -0.5);
    let mut s = ParticleSwarm::try_new(&space, settings(SwarmVariant::Of2025, 4, 8)).unwrap();
    (0..300).for_each(|_| {
        let evaluations = sphere(&s.ask());
        s.tell(&evaluations).unwrap();
    });
    assert!(s.best().loss < 1e-6, "{:?}", s.best());
    assert!(s.positions.iter().any(|x| x.fract() != 0.0));
}

#[test]
fn a_restored_run_goes_on_alike() {
    for variant in BOTH {
        let settings =
            ParticleSwarmSettings { death: 0.2, restart_after: Some(3), ..settings(variant, 3, 5) };
        let mut one = swarm(&[50.0; 3], settings);
        let mut again = swarm(&[50.0; 3], settings);
        for _ in 0..40 {
            let mut other = swarm(&[0.0; 3], ParticleSwarmSettings { seed: 99, ..settings });
            let json = one.save().scalars.to_string();
            let state = OptimizerState { scalars: serde_json::from_str(&json).unwrap(), ..one.save() };
            other.restore(state).unwrap();
            assert_eq!((one.ask(), one.save()), (other.ask(), other.save()));
            let evaluations = sphere(&one.ask());
            one.tell(&evaluations).unwrap();
            other.tell(&evaluations).unwrap();
            again.tell(&evaluations).unwrap();
            assert_eq!(one.save(), other.save());
            assert_eq!((one.best(), one.details()), (other.best(), other.details()));
        }
        assert_eq!(one.save(), again.save());
        assert!(one.deaths > 0 && one.restarts > 0, "{:?}", one.details());
        let other_seed = swarm(&[50.0; 3], ParticleSwarmSettings { seed: 2, ..settings });
        assert_ne!(other_seed.positions, swarm(&[50.0; 3], settings).positions);
    }
}

#[test]
fn states_that_are_broken_are_refused() {
    let mut s = swarm(&[50.0; 3], settings(SwarmVariant::Of2025, 3, 5));
    let evaluations = sphere(&s.ask());
    s.tell(&evaluations).unwrap();
    let good = s.save();
    let mut refuse = |change: &dyn Fn(&mut OptimizerState)| {
        let mut state = good.clone();
        change(&mut state);
        s.restore(state).unwrap_err().to_string()
    };
    for name in good.vectors.keys() {
        assert!(
            refuse(&|state| *state.vectors.get_mut(name).unwrap().last_mut().unwrap() = f64::NAN)
                .contains("finite")
        );
        assert!(refuse(&|state| state.vectors.get_mut(name).unwrap().truncate(1)).contains(name.as_str()));
    }
    for (name, bad) in [("positions", 1000.0), ("best_positions", 0.5), ("global", -101.0)] {
        assert!(refuse(&|state| state.vectors.get_mut(name).unwrap()[0] = bad).contains("outside the space"));
    }
    for (name, _) in good.scalars.as_object().unwrap() {
        refuse(&|state| state.scalars[name] = json!("?"));
        refuse(&|state| state.scalars[name] = serde_json::Value::Null);
    }
    assert!(refuse(&|state| state.scalars["global_member"] = json!(15)).contains("global_member"));
    s.restore(good.clone()).unwrap();
    assert_eq!(s.save(), good);
}

#[test]
fn errors_that_are_no_numbers_never_lead() {
    let never = ParticleSwarmSettings { death: 0.0, ..settings(SwarmVariant::Of2025, 1, 3) };
    let mut s = swarm(&[0.0; 2], never);
    s.tell(&answer(vec![f64::NAN, 3.0, f64::NEG_INFINITY])).unwrap();
    assert_eq!((s.best().loss, s.best().member), (3.0, 1));
    assert!(s.save().vectors.values().flatten().all(|v| v.is_finite()));
    assert!(s.tell(&answer(vec![f64::NAN, f64::INFINITY, f64::NAN])).is_err());
}

#[test]
fn settings_and_spaces_are_checked() {
    let good = settings(SwarmVariant::Of2025, 2, 3);
    let refuse = |settings| ParticleSwarm::try_new(&space(&[0.0; 2]), settings).unwrap_err().to_string();
    for bad in [
        ParticleSwarmSettings { swarms: 0, ..good },
        ParticleSwarmSettings { particles: 0, ..good },
        ParticleSwarmSettings { swarms: usize::MAX, ..good },
        ParticleSwarmSettings { inertia: f64::NAN, ..good },
        ParticleSwarmSettings { own: -1.0, ..good },
        ParticleSwarmSettings { swarm: f64::INFINITY, ..good },
        ParticleSwarmSettings { global: 1e9, ..good },
        ParticleSwarmSettings { initial_velocity: -0.1, ..good },
        ParticleSwarmSettings { death: 1.5, ..good },
        ParticleSwarmSettings { restart_after: Some(0), ..good },
    ] {
        refuse(bad);
    }
    let mut open = space(&[0.0; 2]);
    open.upper[1] = f64::INFINITY;
    assert!(ParticleSwarm::try_new(&open, good).unwrap_err().to_string().contains("parameter 1 has none"));
    assert_eq!("2018".parse::<SwarmVariant>().unwrap().to_string(), "2018");
    assert!("2020".parse::<SwarmVariant>().is_err());
    let old = ParticleSwarmSettings::of(SwarmVariant::Of2018);
    assert_eq!((old.death, old.restart_after), (0.05, Some(10)));
    assert_eq!(serde_json::to_value(old).unwrap()["variant"], "2018");
}
